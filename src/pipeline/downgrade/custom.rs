//! An event that a client's version has no type for comes in, a `CUSTOM` event that carries it whole goes out.
//! It reads nothing but the name of the type.

use crate::agui::{Event, edit, json};

/// What precedes the type in the name of the `CUSTOM` event.
const PREFIX: &str = "ag-ui.unknown.";

/// This event as the value of a `CUSTOM` one; `None` if it is no whole JSON value with a `type`.
pub fn wrapped(event: &Event) -> Option<Event> {
    let name = event.type_name()?;
    if !json::is_whole(event.text()) {
        return None;
    }
    let mut text = br#"{"type":"CUSTOM","name":"#.to_vec();
    text.extend_from_slice(&edit::quoted(&format!("{PREFIX}{name}")));
    text.extend_from_slice(br#","value":"#);
    text.extend_from_slice(event.text());
    text.push(b'}');
    Some(Event::made(text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_event_is_the_value_as_it_was_spelled() {
        let event = Event::made(r#"{ "type":"ACTIVITY_\u0044ELTA", "n":1.50 }"#);
        assert_eq!(
            wrapped(&event).unwrap().text(),
            r#"{"type":"CUSTOM","name":"ag-ui.unknown.ACTIVITY_DELTA","value":{ "type":"ACTIVITY_\u0044ELTA", "n":1.50 }}"#
        );
    }

    #[test]
    fn what_is_no_whole_event_is_not_wrapped() {
        for text in ["[DONE]", "{}", r#"{"type":1}"#, r#"{"type":"X""#, r#"{"type":"X"}{}"#] {
            assert!(wrapped(&Event::made(text)).is_none(), "{text}");
        }
    }
}
