//! An event that a client has no shape for comes in, a `CUSTOM` event that carries it goes out.

use crate::agui::{Event, edit};

/// The event, of a type of this name, as the value of a `CUSTOM` event named `ag-ui.unknown.TYPE`.
pub fn wrapped(event: &Event, type_name: &str) -> Event {
    let name = edit::quoted(&format!("ag-ui.unknown.{type_name}"));
    custom(&name, event.text())
}

/// A `CUSTOM` event of this name and value, both JSON.
pub fn custom(name: &[u8], value: &[u8]) -> Event {
    Event::made([&br#"{"type":"CUSTOM","name":"#[..], name, br#","value":"#, value, b"}"].concat())
}
