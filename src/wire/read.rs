//! Chunks of an agent's body come in, its events go out, whichever encoding it is in. What an event is worth to
//! a run is not asked here.
//!
//! A server-sent event without a payload, or with white space for one, is what some servers send to keep a connection
//! open, and clients break on it. It is no event here, just as a comment is none, unless it is named `error`.

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
            Wire::Sse(decoder) => first_event(|| decoder.next()),
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
            Wire::Sse(decoder) => first_event(|| decoder.finish()),
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

/// The event of the first of these frames that has one.
fn first_event(
    mut frames: impl FnMut() -> Result<Option<sse::Frame>, sse::FrameTooLarge>,
) -> Result<Option<Item>, Unreadable> {
    while let Some(frame) = frames().map_err(|_| Unreadable::TooLarge)? {
        if let Some(item) = of_sse(frame) {
            return Ok(Some(item));
        }
    }
    Ok(None)
}

/// The event of a frame; `None` if it has none.
fn of_sse(frame: sse::Frame) -> Option<Item> {
    let is_blank = frame.data.trim_ascii_start().is_empty();
    let event = match (is_blank, frame.named_error) {
        (true, false) => return None,
        (true, true) => Event::new(Bytes::new(), None).named_error(),
        (false, named_error) => {
            let event = Event::new(frame.data, frame.canonical.map(|bytes| (Encoding::Sse, bytes)));
            if named_error { event.named_error() } else { event }
        }
    };
    Some(Item::Event { event, losses: Losses::NONE })
}

fn of_protobuf(frame: proto::Frame, texts: Kinds, to_json: bool) -> Result<Item, Unreadable> {
    let kind = match proto::arm(&frame.message) {
        Arm::Known(kind) => kind,
        Arm::Malformed => return Err(Unreadable::Malformed),
        // Clients break on it, and it says nothing.
        Arm::Empty => return Ok(Item::Left("empty_frame")),
        Arm::Unknown if to_json => return Ok(Item::Left("unknown_arm")),
        Arm::Unknown => {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const RAW: &str = r#"{"type":"RAW","event":1}"#;

    fn read(reader: &mut Reader, body: &[u8]) -> Vec<Item> {
        reader.feed(Bytes::copy_from_slice(body));
        let mut items: Vec<_> = std::iter::from_fn(|| reader.next().unwrap()).collect();
        items.extend(std::iter::from_fn(|| reader.finish().unwrap()));
        items
    }

    /// The payloads of a body of server-sent events, and which of them are named `error`.
    fn payloads(body: &str) -> Vec<(String, bool)> {
        let items = read(&mut Reader::sse(1 << 10), body.as_bytes());
        let event = |item| match item {
            Item::Event { event, .. } => event,
            Item::Left(reason) => panic!("{reason}"),
        };
        let payload = |event: Event| (String::from_utf8(event.text().to_vec()).unwrap(), event.is_named_error());
        items.into_iter().map(event).map(payload).collect()
    }

    #[test]
    fn an_event_without_a_payload_is_no_event_however_it_is_spelled() {
        for blank in [
            "data\n\n",
            "data:\n\n",
            "data: \n\n",
            "data:   \n\n",
            "data: \t\n\n",
            "data\ndata:\ndata: \n\n",
            "event: ping\ndata:\n\n",
            "event: ping\n\n",
            "id: 7\nretry: 100\ndata:\n\n",
            "data:\r\n\r\n",
            "data:\r\r",
            ": comment\ndata:\n\n",
            "data:\n\ndata:\n\ndata\n\n",
        ] {
            let event = format!("data: {RAW}\n\n");
            let raw = || (RAW.to_owned(), false);
            assert_eq!(payloads(&format!("{event}{blank}{event}")), [raw(), raw()], "{blank:?} between two events");
            assert_eq!(payloads(&format!("{blank}{event}")), [raw()], "{blank:?} before an event");
            assert_eq!(payloads(&format!("{event}{blank}")), [raw()], "{blank:?} after an event");
            let cut = blank.trim_end_matches(['\r', '\n']);
            assert_eq!(payloads(&format!("{event}{cut}")), [raw()], "{cut:?} at the end of the body");
        }
    }

    #[test]
    fn empty_lines_of_data_beside_others_belong_to_the_payload() {
        assert_eq!(payloads(&format!("data:\ndata: {RAW}\ndata\n\n")), [(format!("\n{RAW}\n"), false)]);
    }

    #[test]
    fn an_event_named_error_is_one_without_a_payload_too() {
        let failure = (String::new(), true);
        for spelled in [
            "event: error\n\n",
            "event: error\nid: 1\n\n",
            "event:ERROR\n\n",
            "event: Error\ndata:\n\n",
            "event: error\ndata:  \ndata\n\n",
            "event: error\n",
            "event: error",
        ] {
            assert_eq!(payloads(spelled), std::slice::from_ref(&failure), "{spelled:?}");
        }
        for other in
            ["event: errors\n\n", "event: erro\n\n", "EVENT: error\n\n", "event: error\nevent: x\n\n", "event: erro"]
        {
            assert_eq!(payloads(other), [], "{other:?}");
        }
        let named = (RAW.to_owned(), true);
        assert_eq!(payloads(&format!("event: ERROR\ndata: {RAW}\n\n")), [named]);
        assert_eq!(payloads(&format!("event: error\n\ndata: {RAW}\n\n")), [failure, (RAW.to_owned(), false)]);
    }

    #[test]
    fn an_empty_frame_of_protobuf_is_left_out_for_every_client() {
        for to_json in [false, true] {
            let items = read(&mut Reader::protobuf(1 << 10, Kinds::default(), to_json), &[0; 8]);
            assert!(items.iter().all(|item| matches!(item, Item::Left("empty_frame"))));
            assert_eq!(items.len(), 2);
        }
    }
}
