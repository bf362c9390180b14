//! The text of an event comes in, its frame goes out, as the reference encoder writes it; and what the wire could not
//! take, by name. The text is never made a tree of: members are found where they lie and written in their order.

mod any;

use std::borrow::Cow;

use super::frame::Frame;
use super::loss::{Losses, Shape};
use super::number::{self, Number};

use super::schema::{self, Arm, BASE, BASE_EVENT, Carriers, Field, Kind, MAX_FIELDS, Message, Payload};
use super::text::{Cursor, Members, Quoted, unescape};
use super::write::{Scalar, Writer};
use crate::agui::json;
use crate::agui::{EventKind, Version};

/// An event on the wire.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// Its frame.
    pub frame: Frame,
    /// What of the JSON is not in it, or is not in it as it was.
    pub losses: Losses,
}

/// An event that the wire cannot carry at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not carried by protobuf: {}", .shape.as_str())]
pub struct NotCarried {
    /// Why.
    pub shape: Shape,
}

impl From<Shape> for NotCarried {
    fn from(shape: Shape) -> Self {
        Self { shape }
    }
}

/// The frame of the event in `text`, for a peer of this version.
///
/// Byte for byte what the reference encoder writes for a valid event; the entries of an open object stand in the order
/// of the text. What is not valid is carried as far as a reader can take it, and named. As with a reader of JSON, the
/// last of several members of one name counts.
///
/// # Errors
///
/// [`NotCarried`] if there is no frame for it: no JSON, nested too deeply, or a type that the peer does not know.
pub fn from_json(text: &[u8], peer: Version) -> Result<Encoded, NotCarried> {
    let mut encoder = Encoder { writer: Writer::new(text.len()), losses: Losses::NONE, peer, written: Vec::new() };
    encoder.event(text)?;
    Ok(Encoded { frame: Frame::of(encoder.writer.finish()), losses: encoder.losses })
}

/// The values of a message's members, each at the place of its field.
type Slots<'a> = [Option<&'a [u8]>; MAX_FIELDS];

const NULL: &[u8] = b"null";

/// What a value that is written ahead has room for at first, in bytes.
const FIRST_ROOM: usize = 1024;

/// Stands for a value that has been written ahead.
const WRITTEN: &[u8] = b"{}";

struct Encoder {
    writer: Writer,
    losses: Losses,
    peer: Version,
    /// Fields of the event that have been written ahead, each once.
    written: Vec<(&'static Field, Writer)>,
}

impl Encoder {
    fn event(&mut self, text: &[u8]) -> Result<(), NotCarried> {
        let (kind, kind_text) = kind_of(text)?;
        let (number, arm) = schema::arm_of(kind).ok_or(Shape::UnknownType)?;
        if arm.since > self.peer {
            return Err(Shape::NewerType.into());
        }
        let mut base = Slots::default();
        let mut slots = Slots::default();
        // From here on, what a value's text holds is known to be JSON, also where nobody looks into it.
        let mut members = Members::of(text);
        while let Some(name) = members.name()? {
            let (field, slot) = if let Some(place) = place(arm.message, name) {
                (&arm.message.fields[place], &mut slots[place])
            } else if let Some(place) = place(&BASE_EVENT, name) {
                (&BASE_EVENT.fields[place], &mut base[place])
            } else if !name.is("type") {
                members.cursor.value()?;
                self.losses.insert(Shape::UnknownMember);
                continue;
            } else if members.cursor.value()? == kind_text {
                continue;
            } else {
                // What was judged as one type must not arrive as another.
                return Err(Shape::NoType.into());
            };
            let value = if self.write_ahead(field, &mut members.cursor)? { WRITTEN } else { members.cursor.value()? };
            if slot.replace(value).is_some() {
                self.losses.insert(Shape::DuplicateMember);
            }
        }
        let event = self.writer.open(number);
        let open = self.writer.open(BASE);
        if arm.number != 0 {
            self.writer.varint(1, arm.number);
        }
        self.fields(&BASE_EVENT, &mut base)?;
        self.writer.close(open);
        self.fields(arm.message, &mut slots)?;
        self.writer.close(event);
        Ok(())
    }

    /// Writes any JSON at once, to be put in its place later: what may be long is walked once instead of twice. Not
    /// done where the value is short or of the wrong type.
    fn write_ahead(&mut self, field: &'static Field, cursor: &mut Cursor<'_>) -> Result<bool, NotCarried> {
        self.written.retain(|(earlier, _)| !std::ptr::eq(*earlier, field));
        let fits = match (&field.kind, cursor.peek()) {
            (Kind::Any | Kind::Nullable, Some(b'{' | b'[')) | (Kind::Object, Some(b'{')) => field.since <= self.peer,
            _ => false,
        };
        if fits {
            let writer = std::mem::replace(&mut self.writer, Writer::new(FIRST_ROOM));
            self.open_json(field, cursor)?;
            self.written.push((field, std::mem::replace(&mut self.writer, writer)));
        }
        Ok(fits)
    }

    /// A field that is any JSON, or any object.
    fn open_json(&mut self, field: &Field, cursor: &mut Cursor<'_>) -> Result<(), NotCarried> {
        if !matches!(field.kind, Kind::Object) {
            return self.any(field.number, cursor, 1);
        }
        let open = self.writer.open(field.number);
        self.entries(cursor, 1)?;
        self.writer.close(open);
        Ok(())
    }

    /// The fields of a message whose JSON is this object.
    fn message(&mut self, message: &'static Message, object: &[u8]) -> Result<(), NotCarried> {
        let mut slots = Slots::default();
        for member in Members::of(object) {
            let (name, value) = member?;
            if let Some(place) = place(message, name) {
                if slots[place].replace(value).is_some() {
                    self.losses.insert(Shape::DuplicateMember);
                }
            } else if !(message.typed && name.is("type")) {
                self.losses.insert(message.unknown);
            }
        }
        self.fields(message, &mut slots)
    }

    fn fields(&mut self, message: &'static Message, slots: &mut Slots<'_>) -> Result<(), NotCarried> {
        for (place, field) in message.fields.iter().enumerate() {
            match &field.kind {
                Kind::Content(carriers) => self.content(place, carriers, slots),
                Kind::Outcome(payloads) => self.outcome(place, payloads, slots),
                _ => {}
            }
            // A null is absent, but for what has to be there, any JSON that may be null, and a patch, which the reference
            // encoder does not look through for nulls.
            let is_value = field.required || matches!(field.kind, Kind::Nullable) || message.is_patch_operation();
            let Some(value) = slots[place].filter(|value| is_value || *value != NULL) else {
                if field.required {
                    self.losses.insert(Shape::MissingMember);
                }
                continue;
            };
            if field.since <= self.peer {
                self.field(field, value)?;
            } else {
                self.losses.insert(Shape::NewerMember);
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &'static Field, value: &[u8]) -> Result<(), NotCarried> {
        let number = field.number;
        match &field.kind {
            Kind::Text | Kind::Content(_) | Kind::Outcome(_) => self.text(field, value),
            Kind::Texts => self.elements(value, |encoder, text| encoder.plain_text(number, text)),
            Kind::Integer => self.integer(number, value),
            Kind::Flag => {
                match value {
                    b"true" => self.writer.varint(number, 1),
                    b"false" => self.writer.varint(number, 0),
                    _ => self.losses.insert(Shape::WrongType),
                }
                Ok(())
            }
            Kind::Operation => self.operation(number, value),
            Kind::Any | Kind::Nullable | Kind::Object => {
                if let Some(place) = self.written.iter().position(|(written, _)| std::ptr::eq(*written, field)) {
                    let (_, piece) = self.written.swap_remove(place);
                    self.writer.append(piece);
                } else if matches!(field.kind, Kind::Object) && !is_object(value) {
                    self.losses.insert(Shape::WrongType);
                } else {
                    self.open_json(field, &mut Cursor::of(value))?;
                }
                Ok(())
            }
            Kind::Message(message) => self.nested(number, message, value),
            Kind::List(message) => self.elements(value, |encoder, item| {
                if message.is_patch_operation() && !encoder.is_operation(item) {
                    return Ok(());
                }
                encoder.nested(number, message, item)
            }),
            Kind::Parts => self.elements(value, |encoder, part| encoder.part(number, part)),
            // A part without a place for its source has been left out as a whole.
            Kind::Source => self.oneof(number, &schema::SOURCES, value).map(|_| ()),
        }
    }

    fn nested(&mut self, number: u32, message: &'static Message, value: &[u8]) -> Result<(), NotCarried> {
        if !is_object(value) {
            self.losses.insert(Shape::WrongType);
            return Ok(());
        }
        let open = self.writer.open(number);
        self.message(message, value)?;
        self.writer.close(open);
        Ok(())
    }

    /// The elements of an array, or nothing if it is none.
    fn elements(
        &mut self,
        value: &[u8],
        mut each: impl FnMut(&mut Self, &[u8]) -> Result<(), NotCarried>,
    ) -> Result<(), NotCarried> {
        if !value.starts_with(b"[") {
            self.losses.insert(Shape::WrongType);
            return Ok(());
        }
        json::elements(value).try_for_each(|element| each(self, element))
    }

    /// A text, which is not written if it is empty and absent would mean the same.
    fn text(&mut self, field: &'static Field, value: &[u8]) -> Result<(), NotCarried> {
        if !field.has_presence() && value == b"\"\"" {
            return Ok(());
        }
        if value == NULL && !field.required {
            self.losses.insert(Shape::WrongType);
            self.writer.text(field.number, value);
            return Ok(());
        }
        self.plain_text(field.number, value)
    }

    /// A string. A number or a word is spelled, as the reference encoder does it, and named; anything else is left out.
    fn plain_text(&mut self, number: u32, value: &[u8]) -> Result<(), NotCarried> {
        let mut cursor = Cursor::of(value);
        if let Some(b'"') = cursor.peek() {
            let text = self.text_of(&mut cursor)?;
            self.writer.text(number, &text);
            return Ok(());
        }
        self.losses.insert(Shape::WrongType);
        if let b"true" | b"false" = value {
            self.writer.text(number, value);
        } else if let Some(Number { value, .. }) = number::parse(value) {
            let mut spelled = Vec::new();
            number::write(value, &mut spelled);
            self.writer.text(number, &spelled);
        }
        Ok(())
    }

    /// The text of the string that comes next.
    fn text_of<'a>(&mut self, cursor: &mut Cursor<'a>) -> Result<Cow<'a, [u8]>, NotCarried> {
        let string = cursor.string().ok_or(Shape::NoJson)?;
        self.unescape(string)
    }

    fn unescape<'a>(&mut self, quoted: Quoted<'a>) -> Result<Cow<'a, [u8]>, NotCarried> {
        let string = unescape(quoted).ok_or(Shape::NoJson)?;
        if string.replaced {
            self.losses.insert(Shape::Text);
        }
        Ok(string.text)
    }

    fn integer(&mut self, number: u32, value: &[u8]) -> Result<(), NotCarried> {
        match number::parse(value) {
            Some(Number { value, .. }) if value.abs() > number::MAX_SAFE => self.losses.insert(Shape::LargeNumber),
            Some(Number { value, .. }) if value.fract() != 0.0 => self.losses.insert(Shape::Fraction),
            Some(Number { value, .. }) => self.writer.varint(number, (value as i64).cast_unsigned()),
            None => self.losses.insert(Shape::WrongType),
        }
        Ok(())
    }

    fn operation(&mut self, number: u32, value: &[u8]) -> Result<(), NotCarried> {
        let name = json::string(value).unwrap_or_default();
        let code = schema::OPERATIONS.iter().position(|operation| *operation == name).unwrap_or_default();
        if code != 0 {
            self.writer.varint(number, code as u64);
        }
        Ok(())
    }

    /// Whether an element of a patch is an operation of a known kind; what is none is named.
    fn is_operation(&mut self, item: &[u8]) -> bool {
        let name = last(item, "op").and_then(json::string);
        let known = name.is_some_and(|name| schema::OPERATIONS.contains(&&*name));
        if !known {
            self.losses.insert(Shape::PatchOperation);
        }
        known
    }

    /// A content part. One that cannot be carried whole is left out: half of it would be worse.
    fn part(&mut self, number: u32, part: &[u8]) -> Result<(), NotCarried> {
        if let Some(source) = last(part, "source")
            && self.arm(&schema::SOURCES, source).is_none()
        {
            self.losses.insert(Shape::ContentSource);
            return Ok(());
        }
        if type_of(part).as_deref() == Some("binary") {
            return self.binary_part(number, part);
        }
        if !self.oneof(number, &schema::PARTS, part)? {
            self.losses.insert(Shape::ContentPart);
        }
        Ok(())
    }

    /// The retired part `binary`, which travels as a document that says so.
    fn binary_part(&mut self, number: u32, part: &[u8]) -> Result<(), NotCarried> {
        const DOCUMENT: u32 = 5;
        let text = |name: &str| last(part, name).filter(|value| value.len() > 2 && value.starts_with(b"\""));
        let source = text("data").map(|data| (1, data)).or(text("url").or(text("id")).map(|url| (2, url)));
        let Some((arm, value)) = source.filter(|_| schema::PARTS[4].since <= self.peer) else {
            self.losses.insert(Shape::ContentPart);
            return Ok(());
        };
        self.losses.insert(Shape::BinaryPart);
        let content = self.writer.open(number);
        let document = self.writer.open(DOCUMENT);
        let source = self.writer.open(1);
        let inner = self.writer.open(arm);
        self.plain_text(1, value)?;
        if let Some(mime_type) = text("mimeType") {
            self.plain_text(2, mime_type)?;
        }
        self.writer.close(inner);
        self.writer.close(source);
        let metadata = self.writer.open(2);
        let object = self.writer.open(5);
        self.writer.entry(b"legacyBinary", &Scalar::Flag(true));
        for name in ["filename", "id"] {
            if let Some(value) = last(part, name) {
                self.entry(name.as_bytes(), &mut Cursor::of(value), 3)?;
            }
        }
        self.writer.close(object);
        self.writer.close(metadata);
        self.writer.close(document);
        self.writer.close(content);
        Ok(())
    }

    /// A message that is a oneof; nothing is written, and `false` returned, if the object's `type` is that of no arm.
    fn oneof(&mut self, number: u32, arms: &'static [Arm], value: &[u8]) -> Result<bool, NotCarried> {
        let Some((arm, message)) = self.arm(arms, value) else {
            return Ok(false);
        };
        let open = self.writer.open(number);
        self.nested(arm, message, value)?;
        self.writer.close(open);
        Ok(true)
    }

    /// The arm that the object's `type` chooses, if the peer knows it.
    fn arm(&self, arms: &'static [Arm], value: &[u8]) -> Option<(u32, &'static Message)> {
        let name = type_of(value)?;
        let (arm, number) = arms.iter().zip(1..).find(|(arm, _)| arm.name == name)?;
        (arm.since <= self.peer).then_some((number, arm.message))
    }

    /// Moves a content that is no string to the field that has it.
    fn content<'a>(&mut self, place: usize, carriers: &Carriers, slots: &mut Slots<'a>) {
        let content = slots[place].filter(|value| *value != NULL);
        let form = carriers
            .by_role
            .map_or(Form::TextOrParts, |(role, _)| Form::of(&slots[role].and_then(json::string).unwrap_or_default()));
        if content.is_none() && form != Form::TextOrNone {
            self.losses.insert(Shape::MissingMember);
        }
        let target = match (form, content) {
            (Form::Object, Some([b'{', ..])) => carriers.by_role.map(|(_, object)| object),
            (Form::TextOrParts, Some([b'[', ..])) => Some(carriers.parts),
            (Form::Object, Some(_)) | (_, Some([b'[' | b'{', ..])) => {
                self.losses.insert(Shape::ContentForm);
                None
            }
            (_, _) => Some(place),
        };
        slots[place] = None;
        if let Some(target) = target {
            slots[target] = content;
        }
        if let (Form::Object, Some((_, object))) = (form, carriers.by_role) {
            // The reference encoder writes an empty object where there is none.
            slots[object].get_or_insert(b"{}");
        }
    }

    /// Takes an outcome apart: its type stays, its list goes to the field that has it.
    fn outcome<'a>(&mut self, place: usize, payloads: &[Payload], slots: &mut Slots<'a>) {
        let Some(value) = slots[place].take().filter(|value| *value != NULL) else {
            return;
        };
        if !is_object(value) {
            self.losses.insert(Shape::WrongType);
            return;
        }
        let kind = type_of(value).unwrap_or_default();
        for member in json::Members::of(value) {
            if member.is("type") {
                slots[place] = Some(member.value).filter(|value| value.starts_with(b"\""));
                if slots[place].is_none() {
                    self.losses.insert(Shape::WrongType);
                }
            } else if let Some(payload) = payloads.iter().find(|p| p.of == kind && member.is(p.name)) {
                slots[payload.field] = Some(member.value);
            } else {
                self.losses.insert(Shape::UnknownMember);
            }
        }
        // A reader takes it for an interrupt all the same, of nothing.
        let list = payloads.iter().find(|payload| payload.of == kind && kind == "interrupt");
        if list.is_some_and(|payload| slots[payload.field].is_none_or(|value| value == NULL)) {
            self.losses.insert(Shape::MissingMember);
        }
    }
}

/// The content that a message has by its role.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    TextOrNone,
    /// Also that of a role which this build does not know.
    TextOrParts,
    Object,
}

impl Form {
    pub(super) fn of(role: &str) -> Self {
        match role {
            "developer" | "system" | "reasoning" => Self::Text,
            "assistant" => Self::TextOrNone,
            "activity" => Self::Object,
            _ => Self::TextOrParts,
        }
    }
}

/// The place of the field that a member of this name is.
fn place(message: &'static Message, name: Quoted<'_>) -> Option<usize> {
    message.fields.iter().position(|field| field.name.is_some_and(|text| name.is(text)))
}

/// The event's kind, by its first `type`, and the text of that.
fn kind_of(text: &[u8]) -> Result<(EventKind, &[u8]), NotCarried> {
    let Some(member) = json::Members::of(text).find(|member| member.is("type")) else {
        let is_object = text.trim_ascii().starts_with(b"{");
        return Err(if is_object && json::is_whole(text) { Shape::NoType } else { Shape::NoJson }.into());
    };
    let name = member.string().ok_or(Shape::NoType)?;
    Ok((EventKind::from_name(name.as_bytes()), member.value))
}

fn type_of(object: &[u8]) -> Option<Cow<'_, str>> {
    json::string(last(object, "type")?)
}

/// The value of the last member of this name.
fn last<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    json::Members::of(object).filter(|member| member.is(name)).last().map(|member| member.value)
}

fn is_object(value: &[u8]) -> bool {
    value.starts_with(b"{")
}
