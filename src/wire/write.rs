//! Events come in, the bytes that a client reads go out, in its encoding.

use super::{
    Batch, Encoding,
    proto::{self, Losses, NotCarried},
    sse,
};
use crate::agui::{Event, Version};

/// Writes the events of one body. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    /// Server-sent events.
    Sse(sse::Encoder),
    /// Protobuf frames, for a peer of this version.
    Protobuf(Version),
}

impl Writer {
    /// The encoding it writes.
    pub const fn encoding(&self) -> Encoding {
        match self {
            Self::Sse(_) => Encoding::Sse,
            Self::Protobuf(_) => Encoding::Protobuf,
        }
    }

    /// Writes an event: as it came, if it came in this encoding and nothing changed it.
    ///
    /// What comes back is what the encoding could not carry of it.
    ///
    /// # Errors
    ///
    /// [`NotCarried`] if the encoding has no place for it at all. Nothing is written then.
    pub fn event(&self, event: &Event, out: &mut Batch) -> Result<Losses, NotCarried> {
        let frame = event.frame(self.encoding()).cloned();
        match (self, frame) {
            // An SSE event without a payload is none, and clients break on it.
            (Self::Sse(_), None) if event.text().is_empty() => {}
            (Self::Sse(encoder), frame) => encoder.event(event.text(), frame, out),
            // To an older peer an arm may be unknown, so what it gets is always written for it.
            (Self::Protobuf(peer), Some(frame)) if !peer.is_old() => out.push(frame),
            (Self::Protobuf(peer), _) => {
                let encoded = proto::from_json(event.text(), *peer)?;
                out.push(encoded.frame.whole);
                return Ok(encoded.losses);
            }
        }
        Ok(Losses::NONE)
    }

    /// Writes a comment for people who look at the stream, where the encoding has such a thing.
    pub fn comment(&self, text: &str, out: &mut Batch) {
        if let Self::Sse(encoder) = self {
            encoder.comment(text, out);
        }
    }

    /// Writes what keeps a quiet connection alive, and whether there is such a thing: an empty frame of protobuf
    /// would end the run at its client.
    pub fn keepalive(&self, out: &mut Batch) -> bool {
        match self {
            Self::Sse(encoder) => encoder.keepalive(out),
            Self::Protobuf(_) => return false,
        }
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::agui::EventKind;

    #[test]
    fn what_has_no_payload_is_nothing_to_a_reader_of_server_sent_events() {
        let mut out = Batch::new();
        let failure = Event::made("").named_error();
        assert_eq!(failure.kind(), EventKind::Other);
        Writer::Sse(sse::Encoder::default()).event(&failure, &mut out).unwrap();
        assert!(out.is_empty());
        assert!(Writer::Protobuf(Version::CURRENT).event(&failure, &mut out).is_err());
    }
}
