//! A frame's message comes in, the JSON of its event goes out, as the reference decoder gives it; and what this build
//! did not know in it, by name. `type` stands first, so that readers need not search for it.

use std::borrow::Cow;

use bytes::Bytes;

use super::encode::Form;
use super::loss::{Losses, Shape};
use super::schema::{self, Arm, BASE, BASE_EVENT, Carriers, Field, Kind, MAX_FIELDS, Message, Payload};
use super::walk::{self, Walk};
use super::{MAX_DEPTH, Malformed, arm, number};

/// An event that came over the wire.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// Its JSON, on one line.
    pub text: Bytes,
    /// What of the message is not in it.
    pub losses: Losses,
}

/// The JSON of the event in `message`.
///
/// A message that stands in its field several times is put together, as protobuf has it; of other values the last one
/// counts.
///
/// # Errors
///
/// [`Malformed`] if it is no event that this build knows: also for an empty message and for an event of a later
/// version, which [`arm()`] tells apart.
pub fn to_json(message: &[u8]) -> Result<Decoded, Malformed> {
    // JSON has quotes and names where the wire has numbers; nothing but escapes makes it longer than that.
    let out = Vec::with_capacity(message.len() * 2 + 64);
    let mut decoder = Decoder { out, losses: Losses::NONE, merging: message.len() };
    decoder.event(message)?;
    Ok(Decoded { text: decoder.out.into(), losses: decoder.losses })
}

/// What a message holds for one field.
#[derive(Clone, Debug, Default)]
enum Slot<'a> {
    #[default]
    Absent,
    Number(u64),
    /// A string or a message; of a repeated field, the first element.
    Bytes(Cow<'a, [u8]>),
}

type Slots<'a> = [Slot<'a>; MAX_FIELDS];

/// The arm that a oneof holds, and its message.
type Chosen<'a> = (&'static Arm, Cow<'a, [u8]>);

impl Slot<'_> {
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// What a `google.protobuf.Value` is.
enum Any<'a> {
    Null,
    Number(f64),
    Text(&'a [u8]),
    Flag(bool),
    Object(Cow<'a, [u8]>),
    Array(Cow<'a, [u8]>),
}

struct Decoder {
    out: Vec<u8>,
    losses: Losses,
    /// How many bytes may still be copied to put messages together. No encoder writes a message in pieces; without
    /// an end, pieces within pieces would multiply what arrived.
    merging: usize,
}

impl Decoder {
    fn event(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let Some((number, _)) = arm::read(message)? else {
            return Err(Malformed::new("an event of a later version"));
        };
        let arm = schema::event_arm(number).ok_or(Malformed::new("no event"))?;
        let mut event = Slot::Absent;
        for field in Walk::of(message) {
            let field = field?;
            match field.value {
                walk::Value::Bytes(payload) if field.number == number => self.merge(&mut event, payload)?,
                _ => self.losses.insert(Shape::UnknownField),
            }
        }
        let event = event.bytes().unwrap_or_default();
        let mut base = Slot::Absent;
        let slots = self.slots(arm.message, event, Some(&mut base))?;
        let base = base.bytes().ok_or(Malformed::new("no base event"))?;
        let (base_slots, kind) = self.base(base)?;
        if kind != arm.number {
            return Err(Malformed::new("the base event is of another type"));
        }
        self.out.extend_from_slice(b"{\"type\":\"");
        self.out.extend_from_slice(arm.kind.as_str().as_bytes());
        self.out.push(b'"');
        self.fields(arm.message, event, &slots)?;
        self.fields(&BASE_EVENT, base, &base_slots)?;
        self.out.push(b'}');
        Ok(())
    }

    /// The members of a base event and the number of its type.
    fn base<'a>(&mut self, base: &'a [u8]) -> Result<(Slots<'a>, u64), Malformed> {
        let mut kind = 0;
        let mut slots = Slots::default();
        for field in Walk::of(base) {
            match field? {
                walk::Field { number: 1, value: walk::Value::Varint(value) } => kind = value & u64::from(u32::MAX),
                field => self.fill(&BASE_EVENT, field, &mut slots)?,
            }
        }
        Ok((slots, kind))
    }

    /// What a message holds. `base`, if there is one, takes the base event.
    fn slots<'a>(
        &mut self,
        message: &'static Message,
        bytes: &'a [u8],
        mut base: Option<&mut Slot<'a>>,
    ) -> Result<Slots<'a>, Malformed> {
        let mut slots = Slots::default();
        for field in Walk::of(bytes) {
            let field = field?;
            if let (BASE, walk::Value::Bytes(payload), Some(base)) = (field.number, field.value, &mut base) {
                self.merge(base, payload)?;
            } else {
                self.fill(message, field, &mut slots)?;
            }
        }
        Ok(slots)
    }

    fn fill<'a>(
        &mut self,
        message: &'static Message,
        found: walk::Field<'a>,
        slots: &mut Slots<'a>,
    ) -> Result<(), Malformed> {
        let place = message.fields.iter().position(|field| field.number == found.number);
        let Some((field, slot)) = place.map(|place| (&message.fields[place], &mut slots[place])) else {
            self.losses.insert(Shape::UnknownField);
            return Ok(());
        };
        match (&field.kind, found.value) {
            (Kind::Integer | Kind::Flag | Kind::Operation, walk::Value::Varint(value)) => *slot = Slot::Number(value),
            (Kind::Text | Kind::Content(_) | Kind::Outcome(_), walk::Value::Bytes(text)) => {
                *slot = Slot::Bytes(Cow::Borrowed(text));
            }
            (Kind::List(_) | Kind::Parts | Kind::Texts, walk::Value::Bytes(first)) => {
                if let Slot::Absent = slot {
                    *slot = Slot::Bytes(Cow::Borrowed(first));
                }
            }
            (
                Kind::Any | Kind::Nullable | Kind::Object | Kind::Message(_) | Kind::Source,
                walk::Value::Bytes(payload),
            ) => {
                self.merge(slot, payload)?;
            }
            _ => self.losses.insert(Shape::UnknownField),
        }
        Ok(())
    }

    /// Adds a piece to a message. What protobuf means by it is what the pieces one after the other mean.
    fn merge<'a>(&mut self, slot: &mut Slot<'a>, payload: &'a [u8]) -> Result<(), Malformed> {
        match slot {
            Slot::Bytes(bytes) => self.join(bytes, payload)?,
            _ => *slot = Slot::Bytes(Cow::Borrowed(payload)),
        }
        Ok(())
    }

    fn join<'a>(&mut self, bytes: &mut Cow<'a, [u8]>, payload: &'a [u8]) -> Result<(), Malformed> {
        let copied = payload.len() + if let Cow::Borrowed(first) = bytes { first.len() } else { 0 };
        self.merging = self.merging.checked_sub(copied).ok_or(Malformed::new("too many pieces of messages"))?;
        bytes.to_mut().extend_from_slice(payload);
        Ok(())
    }

    /// The members of a message's object, without its braces. `bytes` is where the repeated fields are read from.
    fn fields(&mut self, message: &'static Message, bytes: &[u8], slots: &Slots<'_>) -> Result<(), Malformed> {
        for (field, slot) in message.fields.iter().zip(slots) {
            let Some(name) = field.name else { continue };
            match (&field.kind, slot) {
                (Kind::Content(carriers), _) => self.content(name, carriers, message, bytes, slots)?,
                (Kind::Outcome(payloads), _) => self.outcome(slot, payloads, message, bytes, slots)?,
                (Kind::List(_), Slot::Absent) if field.required || is_always_there(message) => {
                    self.name(name);
                    self.out.extend_from_slice(b"[]");
                }
                (Kind::Text, Slot::Absent) if !field.has_presence() => self.text_member(name, b"")?,
                (Kind::Operation, Slot::Absent) => self.operation(name, 0)?,
                (_, Slot::Absent) => {}
                (_, Slot::Number(value)) => self.number(field, name, *value)?,
                (_, Slot::Bytes(value)) => self.member(field, name, value, bytes)?,
            }
        }
        Ok(())
    }

    /// A member whose field is a varint.
    fn number(&mut self, field: &Field, name: &str, value: u64) -> Result<(), Malformed> {
        match field.kind {
            Kind::Integer => {
                let value = value.cast_signed();
                if value.unsigned_abs() > number::MAX_SAFE as u64 {
                    return Err(Malformed::new("an integer is out of range"));
                }
                self.name(name);
                self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
            }
            Kind::Operation => self.operation(name, value)?,
            _ => {
                self.name(name);
                self.word(value != 0);
            }
        }
        Ok(())
    }

    /// A patch operation's kind; one that has no name is handed on as its number, which a reader will not know either.
    fn operation(&mut self, name: &str, value: u64) -> Result<(), Malformed> {
        // The enumeration is of 32 bits, whatever the varint has room for.
        let value = value as u32 as i32;
        match usize::try_from(value).ok().and_then(|value| schema::OPERATIONS.get(value)) {
            Some(operation) => self.text_member(name, operation.as_bytes()),
            None => self.text_member(name, itoa::Buffer::new().format(value).as_bytes()),
        }
    }

    /// A member whose field is length-delimited.
    fn member(&mut self, field: &Field, name: &str, value: &[u8], bytes: &[u8]) -> Result<(), Malformed> {
        match &field.kind {
            Kind::Any | Kind::Nullable => {
                if let Some(any) = self.resolve(value)? {
                    self.name(name);
                    self.any(any, 1)?;
                }
                return Ok(());
            }
            Kind::Source => {
                let Some((arm, payload)) = self.oneof(&schema::SOURCES, value)? else {
                    return Ok(());
                };
                self.name(name);
                return self.typed(arm, &payload);
            }
            _ => self.name(name),
        }
        match &field.kind {
            Kind::Message(message) => {
                self.out.push(b'{');
                let slots = self.slots(message, value, None)?;
                self.fields(message, value, &slots)?;
                self.out.push(b'}');
                Ok(())
            }
            Kind::List(message) => self.list(field.number, bytes, |decoder, item| {
                decoder.comma();
                decoder.out.push(b'{');
                let slots = decoder.slots(message, item, None)?;
                decoder.fields(message, item, &slots)?;
                decoder.out.push(b'}');
                Ok(())
            }),
            Kind::Texts => self.list(field.number, bytes, |decoder, text| {
                decoder.comma();
                decoder.text(text)
            }),
            Kind::Parts => self.list(field.number, bytes, Self::part),
            Kind::Object => self.object(value, 1),
            _ => self.text(value),
        }
    }

    /// A repeated field: an array of what `each` writes.
    fn list(
        &mut self,
        number: u32,
        bytes: &[u8],
        mut each: impl FnMut(&mut Self, &[u8]) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.out.push(b'[');
        for field in Walk::of(bytes) {
            let field = field?;
            if let walk::Value::Bytes(item) = field.value
                && field.number == number
            {
                each(self, item)?;
            }
        }
        self.out.push(b']');
        Ok(())
    }

    /// A content part; one of a later version, or with a source of one, is left out.
    fn part(&mut self, part: &[u8]) -> Result<(), Malformed> {
        let Some((arm, payload)) = self.oneof(&schema::PARTS, part)? else {
            self.losses.insert(Shape::ContentPart);
            return Ok(());
        };
        let slots = self.slots(arm.message, &payload, None)?;
        let source = arm.message.fields.iter().position(|field| matches!(field.kind, Kind::Source));
        if let Some(source) = source.and_then(|place| slots[place].bytes())
            && self.oneof(&schema::SOURCES, source)?.is_none()
        {
            self.losses.insert(Shape::ContentSource);
            return Ok(());
        }
        self.comma();
        self.typed(arm, &payload)
    }

    /// The arm that a oneof holds; `None` if it is none that this build knows.
    fn oneof<'a>(&mut self, arms: &'static [Arm], bytes: &'a [u8]) -> Result<Option<Chosen<'a>>, Malformed> {
        let mut found: Option<(usize, Cow<'a, [u8]>)> = None;
        for field in Walk::of(bytes) {
            let field = field?;
            let number = field.number as usize;
            match (field.value, &mut found) {
                (walk::Value::Bytes(payload), None) if number <= arms.len() => {
                    found = Some((number, Cow::Borrowed(payload)));
                }
                (walk::Value::Bytes(payload), Some((known, bytes))) if number <= arms.len() => {
                    if *known != number {
                        return Err(Malformed::new("several arms at once"));
                    }
                    self.join(bytes, payload)?;
                }
                _ => self.losses.insert(Shape::UnknownField),
            }
        }
        Ok(found.map(|(number, payload)| (&arms[number - 1], payload)))
    }

    /// The object of an arm, with the `type` that chooses it.
    fn typed(&mut self, arm: &'static Arm, payload: &[u8]) -> Result<(), Malformed> {
        self.out.extend_from_slice(b"{\"type\":\"");
        self.out.extend_from_slice(arm.name.as_bytes());
        self.out.push(b'"');
        let slots = self.slots(arm.message, payload, None)?;
        self.fields(arm.message, payload, &slots)?;
        self.out.push(b'}');
        Ok(())
    }

    /// A content, from whichever field has it. Two at once are refused: each choice would lose the other.
    fn content(
        &mut self,
        name: &str,
        carriers: &Carriers,
        message: &'static Message,
        bytes: &[u8],
        slots: &Slots<'_>,
    ) -> Result<(), Malformed> {
        let text = message.fields.iter().zip(slots).find(|(field, _)| field.name == Some(name));
        let text = text.and_then(|(_, slot)| slot.bytes());
        let parts = slots[carriers.parts].bytes();
        let object = carriers.by_role.and_then(|(_, object)| Some((object, slots[object].bytes()?)));
        if [text.is_some(), parts.is_some(), object.is_some()].into_iter().filter(|there| *there).count() > 1 {
            return Err(Malformed::new("content of several forms"));
        }
        let role = carriers.by_role.map(|(role, _)| slots[role].bytes().unwrap_or_default());
        let form = role.map_or(Form::TextOrParts, |role| Form::of(&String::from_utf8_lossy(role)));
        // A role of a later version says nothing of its content: any form will do, and none is none.
        let is_known = role.is_none_or(|role| matches!(role, b"user" | b"tool") || form != Form::TextOrParts);
        let fits = match form {
            Form::TextOrParts => object.is_none() || !is_known,
            Form::Object => text.is_none() && parts.is_none(),
            Form::Text | Form::TextOrNone => parts.is_none() && object.is_none(),
        };
        if !fits {
            return Err(Malformed::new("content of a form that its role does not have"));
        }
        if let Some(text) = text {
            return self.text_member(name, text);
        }
        if let Some((place, object)) = object {
            return self.member(&message.fields[place], name, object, bytes);
        }
        if parts.is_some() || (form == Form::TextOrParts && is_known) {
            self.name(name);
            return self.list(message.fields[carriers.parts].number, bytes, Self::part);
        }
        Ok(())
    }

    /// An outcome, put together from its type and the lists that are there. Without a type they are members of the
    /// event, for a reader to judge.
    fn outcome(
        &mut self,
        slot: &Slot<'_>,
        payloads: &'static [Payload],
        message: &'static Message,
        bytes: &[u8],
        slots: &Slots<'_>,
    ) -> Result<(), Malformed> {
        let kind = slot.bytes().unwrap_or_default();
        if !kind.is_empty() {
            self.name("outcome");
            self.out.push(b'{');
            self.text_member("type", kind)?;
        }
        for payload in payloads {
            let field = &message.fields[payload.field];
            let is_there = slots[payload.field].bytes().is_some();
            if is_there || (payload.required && kind == payload.of.as_bytes()) {
                self.member(field, payload.name, &[], bytes)?;
            }
        }
        if !kind.is_empty() {
            self.out.push(b'}');
        }
        Ok(())
    }

    /// What a value is; `None` if it is nothing, or something of a later version.
    fn resolve<'a>(&mut self, value: &'a [u8]) -> Result<Option<Any<'a>>, Malformed> {
        let mut found: Option<Any<'a>> = None;
        for field in Walk::of(value) {
            let field = field?;
            match (field.number, field.value) {
                (1, walk::Value::Varint(_)) => found = Some(Any::Null),
                (2, walk::Value::Fixed(bits)) => found = Some(Any::Number(f64::from_bits(bits))),
                (3, walk::Value::Bytes(text)) => found = Some(Any::Text(text)),
                (4, walk::Value::Varint(flag)) => found = Some(Any::Flag(flag != 0)),
                (5, walk::Value::Bytes(piece)) => match &mut found {
                    Some(Any::Object(object)) => self.join(object, piece)?,
                    _ => found = Some(Any::Object(Cow::Borrowed(piece))),
                },
                (6, walk::Value::Bytes(piece)) => match &mut found {
                    Some(Any::Array(array)) => self.join(array, piece)?,
                    _ => found = Some(Any::Array(Cow::Borrowed(piece))),
                },
                _ => self.losses.insert(Shape::UnknownField),
            }
        }
        Ok(found)
    }

    fn any(&mut self, any: Any<'_>, depth: usize) -> Result<(), Malformed> {
        match any {
            Any::Null => self.out.extend_from_slice(b"null"),
            Any::Number(value) => {
                if !value.is_finite() {
                    self.losses.insert(Shape::NotFinite);
                }
                number::write(value, &mut self.out);
            }
            Any::Text(text) => self.text(text)?,
            Any::Flag(flag) => self.word(flag),
            Any::Object(object) => self.object(&object, depth)?,
            Any::Array(array) => self.array(&array, depth)?,
        }
        Ok(())
    }

    /// The entries of a `google.protobuf.Struct`. One without a value is none.
    fn object(&mut self, object: &[u8], depth: usize) -> Result<(), Malformed> {
        if depth > MAX_DEPTH {
            return Err(Malformed::DEPTH);
        }
        self.out.push(b'{');
        for field in Walk::of(object) {
            let walk::Field { number: 1, value: walk::Value::Bytes(entry) } = field? else {
                self.losses.insert(Shape::UnknownField);
                continue;
            };
            let mut key = &[][..];
            let mut value = Slot::Absent;
            for field in Walk::of(entry) {
                match field? {
                    walk::Field { number: 1, value: walk::Value::Bytes(text) } => key = text,
                    walk::Field { number: 2, value: walk::Value::Bytes(piece) } => self.merge(&mut value, piece)?,
                    _ => self.losses.insert(Shape::UnknownField),
                }
            }
            let any = match &value {
                Slot::Bytes(value) => self.resolve(value)?,
                _ => None,
            };
            if let Some(any) = any {
                self.comma();
                self.text(key)?;
                self.out.push(b':');
                self.any(any, depth + 1)?;
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    /// The values of a `google.protobuf.ListValue`. One that is nothing is null, so that the others keep their places.
    fn array(&mut self, array: &[u8], depth: usize) -> Result<(), Malformed> {
        if depth > MAX_DEPTH {
            return Err(Malformed::DEPTH);
        }
        self.out.push(b'[');
        for field in Walk::of(array) {
            let walk::Field { number: 1, value: walk::Value::Bytes(value) } = field? else {
                self.losses.insert(Shape::UnknownField);
                continue;
            };
            let any = self.resolve(value)?.unwrap_or(Any::Null);
            self.comma();
            self.any(any, depth + 1)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn text_member(&mut self, name: &str, text: &[u8]) -> Result<(), Malformed> {
        self.name(name);
        self.text(text)
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Malformed> {
        let text = String::from_utf8_lossy(text);
        if let Cow::Owned(_) = text {
            self.losses.insert(Shape::Text);
        }
        serde_json::to_writer(&mut self.out, &*text).map_err(|_| Malformed::new("a text cannot be written"))
    }

    fn word(&mut self, flag: bool) {
        self.out.extend_from_slice(if flag { b"true" } else { b"false" });
    }

    /// The name of a member that the protocol has, which needs no escapes.
    fn name(&mut self, name: &str) {
        self.comma();
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    /// A comma, unless what follows is the first in its array or object.
    fn comma(&mut self) {
        if !matches!(self.out.last(), Some(b'{' | b'[')) {
            self.out.push(b',');
        }
    }
}

/// Whether the lists of this message are there even when they are empty and optional.
fn is_always_there(message: &'static Message) -> bool {
    std::ptr::eq(message, &schema::RUN_AGENT_INPUT)
}
