//! Chunks of an agent's body come in, its events go out, whichever encoding it is in. What an event is worth to
//! a run is not asked here.

use bytes::Bytes;

use super::{
    Encoding,
    proto::{self, Arm, Losses},
    sse,
};
use crate::agui::{Event, EventKind, Kinds};

/// One thing that was read.
#[derive(Clone, Debug)]
pub enum Item {
    /// An event, and what of it could not be put into JSON.
    Event {
        /// The event.
        event: Event,
        /// What got lost on the way to JSON.
        losses: Losses,
    },
    /// A frame that has no JSON and is left out, with the reason.
    Left(&'static str),
}

/// A body that cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// A frame is larger than its limit.
    TooLarge,
    /// Bytes that are no frame.
    Malformed,
}

/// Reads the events of one body.
#[derive(Debug)]
pub struct Reader {
    wire: Wire,
}

#[derive(Debug)]
enum Wire {
    Sse(sse::Decoder),
    Protobuf {
        frames: proto::Decoder,
        /// The events of which someone will want the JSON.
        texts: Kinds,
        /// Whether all of them become JSON, so that what has none cannot go on.
        to_json: bool,
    },
}

impl Reader {
    /// A reader of server-sent events of at most `limit` bytes.
    pub fn sse(limit: usize) -> Self {
        Self { wire: Wire::Sse(sse::Decoder::new(limit)) }
    }

    /// A reader of protobuf frames of at most `limit` bytes.
    ///
    /// `texts`: of these events the JSON is wanted, for a stage; `to_json`: of every event, for a client of SSE. Else only
    /// events that the gateway reads itself are decoded; the others are known by their kind and their frame.
    pub fn protobuf(limit: usize, texts: Kinds, to_json: bool) -> Self {
        Self { wire: Wire::Protobuf { frames: proto::Decoder::new(limit), texts, to_json } }
    }

    /// Takes the next bytes; those before should have been read to their end.
    pub fn feed(&mut self, chunk: Bytes) {
        match &mut self.wire {
            Wire::Sse(decoder) => decoder.feed(chunk),
            Wire::Protobuf { frames, .. } => frames.feed(chunk),
        }
    }

    /// What can be read of the bytes so far; `None`: more are needed.
    ///
    /// # Errors
    ///
    /// [`Unreadable`]; nothing more can be read of this body.
    #[allow(clippy::should_implement_trait, reason = "`None` means that more bytes are needed, not the end")]
    pub fn next(&mut self) -> Result<Option<Item>, Unreadable> {
        match &mut self.wire {
            Wire::Sse(decoder) => decoder.next().map(|frame| frame.map(of_sse)).map_err(|_| Unreadable::TooLarge),
            Wire::Protobuf { frames, texts, to_json } => {
                let Some(frame) = frames.next().map_err(|_| Unreadable::TooLarge)? else { return Ok(None) };
                of_protobuf(frame, *texts, *to_json).map(Some)
            }
        }
    }

    /// What is left at a clean end of the body, once [`Reader::next`] gives nothing more.
    ///
    /// # Errors
    ///
    /// [`Unreadable`], as [`Reader::next`].
    pub fn finish(&mut self) -> Result<Option<Item>, Unreadable> {
        match &mut self.wire {
            Wire::Sse(decoder) => decoder.finish().map(|frame| frame.map(of_sse)).map_err(|_| Unreadable::TooLarge),
            // A frame cut short is none.
            Wire::Protobuf { .. } => Ok(None),
        }
    }

    /// Bytes held now.
    pub fn held(&self) -> usize {
        match &self.wire {
            Wire::Sse(decoder) => decoder.held(),
            Wire::Protobuf { frames, .. } => frames.held(),
        }
    }
}

fn of_sse(frame: sse::Frame) -> Item {
    let wired = frame.canonical.map(|bytes| (Encoding::Sse, bytes));
    let event = Event::new(frame.data, wired);
    let event = if frame.named_error { event.named_error() } else { event };
    Item::Event { event, losses: Losses::NONE }
}

fn of_protobuf(frame: proto::Frame, texts: Kinds, to_json: bool) -> Result<Item, Unreadable> {
    let kind = match proto::arm(&frame.message) {
        Arm::Known(kind) => kind,
        Arm::Malformed => return Err(Unreadable::Malformed),
        Arm::Empty if to_json => return Ok(Item::Left("empty_frame")),
        Arm::Unknown if to_json => return Ok(Item::Left("unknown_arm")),
        Arm::Empty | Arm::Unknown => {
            return Ok(Item::Event {
                event: Event::unread(EventKind::Other, Some((Encoding::Protobuf, frame.whole))),
                losses: Losses::NONE,
            });
        }
    };
    let wired = Some((Encoding::Protobuf, frame.whole));
    let texts = to_json || texts.contains(kind);
    if !texts && !is_read_by_the_gateway(kind) {
        return Ok(Item::Event { event: Event::unread(kind, wired), losses: Losses::NONE });
    }
    let decoded = proto::to_json(&frame.message).map_err(|_| Unreadable::Malformed)?;
    // Nothing is lost while the frame itself goes on.
    let losses = if texts { decoded.losses } else { Losses::NONE };
    Ok(Item::Event { event: Event::new(decoded.text, wired), losses })
}

/// Whether the gateway reads members of such an event for itself: identifiers, outcomes, usage, tool calls.
const fn is_read_by_the_gateway(kind: EventKind) -> bool {
    kind.is_terminal()
        || matches!(
            kind,
            EventKind::RunStarted | EventKind::ToolCallStart | EventKind::ToolCallChunk | EventKind::ToolCallResult
        )
}
