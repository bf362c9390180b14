//! A frame's message comes in, what it is goes out: only the envelope is read, not the event in it.

use super::Malformed;
use super::schema::event_arm;
use super::walk::{Value, Walk};
use crate::agui::EventKind;

/// What a frame's message is, by its envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// An event of this kind. Whether the event itself can be read is not said.
    Known(EventKind),
    /// No byte at all, as early encoders wrote for an event that they did not know.
    Empty,
    /// An event of a later version: nothing but messages in fields that this build does not know.
    Unknown,
    /// No event: no protobuf, several events at once, or a field that is no message where one belongs.
    Malformed,
}

/// What this message is. Fields beside the event that this build does not know are no error.
pub fn arm(message: &[u8]) -> Arm {
    if message.is_empty() {
        return Arm::Empty;
    }
    match read(message) {
        Ok(Some((number, _))) => event_arm(number).map_or(Arm::Malformed, |arm| Arm::Known(arm.kind)),
        Ok(None) => Arm::Unknown,
        Err(_) => Arm::Malformed,
    }
}

/// The number of the only known arm and the first of its payloads; `None` if all arms are unknown and messages.
pub(super) fn read(message: &[u8]) -> Result<Option<(u32, &[u8])>, Malformed> {
    let mut known = None;
    let (mut unknown, mut broken) = (false, false);
    for field in Walk::of(message) {
        let field = field?;
        match (event_arm(field.number), field.value) {
            (Some(_), Value::Bytes(payload)) => match known {
                None => known = Some((field.number, payload)),
                Some((number, _)) if number == field.number => {}
                Some(_) => return Err(Malformed::new("several events in one frame")),
            },
            (Some(_), _) => return Err(Malformed::new("an event that is no message")),
            (None, Value::Bytes(payload)) if known.is_none() => {
                unknown = true;
                broken = broken || Walk::of(payload).any(|field| field.is_err());
            }
            (None, _) => {}
        }
    }
    if known.is_none() && (broken || !unknown) {
        return Err(Malformed::new("no event"));
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_says_what_a_message_is() {
        for (message, expected) in [
            (&b""[..], Arm::Empty),
            (b"\x12\x00", Arm::Known(EventKind::TextMessageContent)),
            (b"\xfa\x01\x02\xff\xff", Arm::Known(EventKind::ReasoningEncryptedValue)),
            // A field beside the event, before and after it.
            (b"\xa2\x06\x01x\x12\x00", Arm::Known(EventKind::TextMessageContent)),
            (b"\x12\x00\xa0\x06\x01", Arm::Known(EventKind::TextMessageContent)),
            // The same event twice is one, put together.
            (b"\x12\x00\x12\x00", Arm::Known(EventKind::TextMessageContent)),
            (b"\x12\x00\x1a\x00", Arm::Malformed),
            (b"\x10\x01", Arm::Malformed),
            (b"\x82\x02\x00", Arm::Unknown),
            (b"\x82\x02\x02\x08\x01", Arm::Unknown),
            (b"\x82\x02\x01x", Arm::Malformed),
            (b"\x82\x02\x00\x8a\x02\x01x", Arm::Malformed),
            (b"\x80\x02\x01", Arm::Malformed),
            (b"\x12\x05", Arm::Malformed),
            (b"{\"type\":\"RAW\"}", Arm::Malformed),
        ] {
            assert_eq!(arm(message), expected, "{message:x?}");
        }
    }
}
