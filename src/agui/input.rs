//! The bytes of a request body come in as they pass, cut anywhere; a few facts about its run input go out. The body
//! is neither held back nor judged, and what is kept of it does not grow with it.

mod capture;
#[cfg(test)]
mod tests;

use memchr::memchr2;

use capture::Capture;

/// How much of a member's value is kept, in bytes of UTF-8.
const KEPT: usize = 256;
/// Longer than the name of any member that counts, in bytes.
const LONGEST_NAME: usize = 32;
/// The byte order mark that a body may begin with.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The value of a member that is a string, unescaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// At most the first 256 bytes of it.
    pub value: String,
    /// Whether it is longer than that.
    pub cut: bool,
}

/// What is known of a run input. Of a member given twice, in either spelling, the last one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputFacts {
    /// `threadId` or `thread_id`, if it is a string.
    pub thread_id: Option<Text>,
    /// `runId` or `run_id`, if it is a string.
    pub run_id: Option<Text>,
    /// `parentRunId` or `parent_run_id`, if it is a string.
    pub parent_run_id: Option<Text>,
    /// `protocolVersion`, if it is a string.
    pub protocol_version: Option<Text>,
    /// Whether `messages` is an array.
    pub messages: bool,
    /// Whether the body is one JSON object, closed and with nothing after it.
    pub complete: bool,
}

impl InputFacts {
    /// Whether this is the input of a run: one whole object with both ids, or with one of them and a list of messages.
    ///
    /// Before the whole body was read it is not.
    pub fn is_run_input(&self) -> bool {
        let (thread, run) = (self.thread_id.is_some(), self.run_id.is_some());
        self.complete && ((thread && run) || (self.messages && (thread || run)))
    }
}

/// A member that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    ThreadId,
    RunId,
    ParentRunId,
    ProtocolVersion,
    Messages,
    Other,
}

impl Member {
    fn from_name(name: &str) -> Self {
        match name {
            "threadId" | "thread_id" => Self::ThreadId,
            "runId" | "run_id" => Self::RunId,
            "parentRunId" | "parent_run_id" => Self::ParentRunId,
            "protocolVersion" => Self::ProtocolVersion,
            "messages" => Self::Messages,
            _ => Self::Other,
        }
    }
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// After so many bytes of a byte order mark.
    Bom(usize),
    /// Before the object.
    Before,
    /// Before the first name, or the end of an empty object.
    FirstName,
    /// Before a name, after a comma.
    NextName,
    /// Within a name.
    Name,
    Colon,
    Value,
    /// Within a string that is kept.
    Text,
    /// Within a string that is not; `escaped` when the last byte was a backslash.
    String {
        escaped: bool,
    },
    /// Within a number or a word.
    Scalar,
    /// Within arrays and objects, so many deep.
    Nested {
        depth: usize,
    },
    /// Within a string in them.
    NestedString {
        depth: usize,
        escaped: bool,
    },
    /// Before a comma or the end of the object.
    AfterValue,
    /// After the object.
    After,
    /// This is no JSON object.
    Broken,
}

/// Reads the top-level members of a JSON object while it passes.
///
/// Memory is constant and every byte is looked at once. What is nested is skipped by counting brackets, without a
/// check that they match or that numbers and words are well-formed: the agent is the judge of that.
#[derive(Debug)]
pub struct InputScan {
    state: State,
    member: Member,
    text: Capture,
    facts: InputFacts,
}

impl Default for InputScan {
    fn default() -> Self {
        Self::new()
    }
}

impl InputScan {
    /// A scan at the beginning of a body.
    pub fn new() -> Self {
        Self { state: State::Bom(0), member: Member::Other, text: Capture::default(), facts: InputFacts::default() }
    }

    /// Takes the next bytes of the body.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let [byte, ..] = *rest {
            let used = self.step(byte, rest);
            rest = &rest[used..];
        }
    }

    /// What is known by now. An id may stand anywhere in the body, so only what is there can be relied on.
    pub fn facts(&self) -> &InputFacts {
        &self.facts
    }

    /// Takes the end of the body.
    pub fn finish(self) -> InputFacts {
        self.facts
    }

    /// Takes some of `rest`, whose first byte is `byte`, and says how many bytes.
    fn step(&mut self, byte: u8, rest: &[u8]) -> usize {
        match self.state {
            State::Bom(seen) => return self.bom(seen, byte),
            State::Name | State::Text => return self.kept_string(rest),
            State::String { escaped } => return self.string(escaped, rest),
            State::NestedString { depth, escaped } => {
                return self.nested_string(depth, escaped, rest);
            }
            State::Nested { depth } => return self.nested(depth, rest),
            State::Broken => return rest.len(),
            State::Scalar => return self.scalar(rest),
            _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => {}
            State::Before if byte == b'{' => self.state = State::FirstName,
            State::FirstName | State::NextName if byte == b'"' => {
                self.text = Capture::up_to(LONGEST_NAME);
                self.state = State::Name;
            }
            State::FirstName | State::AfterValue if byte == b'}' => {
                self.state = State::After;
                self.facts.complete = true;
            }
            State::Colon if byte == b':' => self.state = State::Value,
            State::Value => self.value(byte),
            State::AfterValue if byte == b',' => self.state = State::NextName,
            _ => {
                self.state = State::Broken;
                self.facts.complete = false;
            }
        }
        1
    }

    fn bom(&mut self, seen: usize, byte: u8) -> usize {
        let matched = byte == BOM[seen];
        self.state = match seen + 1 {
            next if matched && next < BOM.len() => State::Bom(next),
            _ if matched || seen == 0 => State::Before,
            _ => State::Broken,
        };
        usize::from(matched)
    }

    /// The first byte of a member's value. Whatever the value is, it replaces an earlier one.
    fn value(&mut self, byte: u8) {
        let kept = match self.member {
            Member::ThreadId => Some(&mut self.facts.thread_id),
            Member::RunId => Some(&mut self.facts.run_id),
            Member::ParentRunId => Some(&mut self.facts.parent_run_id),
            Member::ProtocolVersion => Some(&mut self.facts.protocol_version),
            Member::Messages => {
                self.facts.messages = byte == b'[';
                None
            }
            Member::Other => None,
        };
        self.state = match byte {
            b'"' if kept.is_some() => {
                self.text = Capture::up_to(KEPT);
                State::Text
            }
            b'"' => State::String { escaped: false },
            b'[' | b'{' => State::Nested { depth: 1 },
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => State::Scalar,
            _ => State::Broken,
        };
        if let Some(kept) = kept {
            *kept = None;
        }
    }

    fn kept_string(&mut self, rest: &[u8]) -> usize {
        let (used, over) = self.text.feed(rest);
        if over {
            let text = std::mem::take(&mut self.text).finish();
            if self.state == State::Name {
                self.member = if text.cut { Member::Other } else { Member::from_name(&text.value) };
                self.state = State::Colon;
            } else {
                match self.member {
                    Member::ThreadId => self.facts.thread_id = Some(text),
                    Member::RunId => self.facts.run_id = Some(text),
                    Member::ParentRunId => self.facts.parent_run_id = Some(text),
                    Member::ProtocolVersion => self.facts.protocol_version = Some(text),
                    Member::Messages | Member::Other => {}
                }
                self.state = State::AfterValue;
            }
        }
        used
    }

    fn string(&mut self, escaped: bool, rest: &[u8]) -> usize {
        let (used, end) = skip_string(escaped, rest);
        self.state = match end {
            StringEnd::Quote => State::AfterValue,
            StringEnd::Open { escaped } => State::String { escaped },
        };
        used
    }

    fn nested_string(&mut self, depth: usize, escaped: bool, rest: &[u8]) -> usize {
        let (used, end) = skip_string(escaped, rest);
        self.state = match end {
            StringEnd::Quote => State::Nested { depth },
            StringEnd::Open { escaped } => State::NestedString { depth, escaped },
        };
        used
    }

    fn nested(&mut self, mut depth: usize, rest: &[u8]) -> usize {
        for (at, byte) in rest.iter().enumerate() {
            match byte {
                b'"' => {
                    self.state = State::NestedString { depth, escaped: false };
                    return at + 1;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        self.state = State::AfterValue;
                        return at + 1;
                    }
                }
                _ => {}
            }
        }
        self.state = State::Nested { depth };
        rest.len()
    }

    /// A number or a word, up to what ends it.
    fn scalar(&mut self, rest: &[u8]) -> usize {
        let more = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-');
        let length = rest.iter().take_while(|byte| more(byte)).count();
        if length < rest.len() {
            self.state = State::AfterValue;
        }
        length
    }
}

/// How a string goes on after the bytes at hand.
enum StringEnd {
    Quote,
    Open { escaped: bool },
}

/// Skips a string to its quote; `escaped` when the byte before was a backslash.
fn skip_string(mut escaped: bool, bytes: &[u8]) -> (usize, StringEnd) {
    let mut at = 0;
    while at < bytes.len() {
        if escaped {
            escaped = false;
            at += 1;
            continue;
        }
        let Some(length) = memchr2(b'"', b'\\', &bytes[at..]) else {
            break;
        };
        at += length + 1;
        if bytes[at - 1] == b'"' {
            return (at, StringEnd::Quote);
        }
        escaped = true;
    }
    (bytes.len(), StringEnd::Open { escaped })
}
