//! The value of a member comes in, whether the schema takes it goes out. Values are looked at where they lie, as deep as
//! the table goes and no deeper; what the table does not name is never judged.

use super::rule::Rule;
use crate::agui::json::{self, Elements, Members};

/// What a value has to be.
#[derive(Debug)]
pub enum Shape {
    /// Any JSON.
    Any,
    /// Any JSON but null.
    Present,
    /// A string.
    Text,
    /// `true` or `false`.
    Flag,
    /// An integer that a double holds exactly, from this on.
    Whole(f64),
    /// An object.
    Open,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A JSON Pointer.
    Pointer,
    /// An array of these, at least so many.
    List(&'static Shape, usize),
    /// An object with these members.
    Object(&'static [Field]),
    /// An object whose members depend on the string in the first of these.
    Tagged(&'static str, &'static [(&'static str, &'static [Field])]),
    /// A string, or an array of these.
    TextOr(&'static Shape),
}

/// A known member.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What its value has to be.
    pub shape: &'static Shape,
    /// How much the object needs it.
    pub need: Need,
}

/// How much an object needs a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It has to be there.
    Must,
    /// It may be absent.
    May,
    /// It may be absent, or null as older producers write it.
    Lax,
}

/// What is wrong with a value, and with which known member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub rule: Rule,
    /// The innermost member that is wrong.
    pub member: &'static str,
}

/// What a value is to its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It fits.
    Fits,
    /// It is of a kind that the table does not know: it is left out of the judgement.
    Unknown,
    /// It does not fit.
    Wrong(Fault),
}

/// The most members that a table names for one object.
pub const FIELDS_MAX: usize = 16;

impl Shape {
    /// What the value is to this shape. `member` is whose value it is.
    pub fn fit(&self, value: &[u8], member: &'static str) -> Fit {
        let wrong = Fit::Wrong(Fault { rule: Rule::WrongType, member });
        let first = value.first().copied().unwrap_or_default();
        let fits = match self {
            Self::Any => is_json_start(first) && !is_not_a_number(value),
            Self::Present => is_json_start(first) && !is_not_a_number(value) && value != b"null",
            Self::Text => first == b'"',
            Self::Flag => value == b"true" || value == b"false",
            Self::Whole(least) => is_whole(value, *least),
            Self::Open => first == b'{',
            Self::OneOf(choices) => json::string(value).is_some_and(|text| choices.contains(&&*text)),
            Self::Pointer => json::string(value).is_some_and(|text| is_pointer(&text)),
            Self::List(of, least) => return Self::list(of, *least, value, member),
            Self::Object(fields) => return object(fields, value, member, &mut [None; FIELDS_MAX]),
            Self::Tagged(by, arms) => {
                if first != b'{' {
                    return wrong;
                }
                let tag = Members::of(value).filter(|m| m.is(by)).last();
                let Some(tag) = tag.and_then(|m| json::string(m.value)) else { return Fit::Unknown };
                let arm = arms.iter().find(|(name, _)| *name == tag);
                return arm.map_or(Fit::Unknown, |(_, fields)| object(fields, value, member, &mut [None; FIELDS_MAX]));
            }
            Self::TextOr(of) => match first {
                b'"' => true,
                _ => return Self::list(of, 0, value, member),
            },
        };
        if fits { Fit::Fits } else { wrong }
    }

    fn list(of: &Self, least: usize, value: &[u8], member: &'static str) -> Fit {
        let mut elements = Elements::of(value);
        let mut count = 0;
        for place in elements.by_ref() {
            match of.fit(&value[place], member) {
                Fit::Fits => count += 1,
                Fit::Unknown => {}
                wrong @ Fit::Wrong(_) => return wrong,
            }
        }
        match elements.is_complete() && count >= least {
            true => Fit::Fits,
            false => Fit::Wrong(Fault { rule: Rule::WrongType, member }),
        }
    }
}

/// What an object is to these fields; their values go to `values`, in the order of the fields, the last one of a name.
pub fn object<'a>(
    fields: &'static [Field],
    text: &'a [u8],
    member: &'static str,
    values: &mut [Option<&'a [u8]>; FIELDS_MAX],
) -> Fit {
    let mut members = Members::of(text);
    let mut wrong = None;
    for found in members.by_ref() {
        let Some(at) = fields.iter().position(|field| found.is(field.name)) else { continue };
        let (Some(field), Some(slot)) = (fields.get(at), values.get_mut(at)) else { continue };
        *slot = Some(found.value);
        if let Err(fault) = field.judge(found.value) {
            match fault {
                Some(fault) => drop(wrong.get_or_insert(fault)),
                None => return Fit::Unknown,
            }
        }
    }
    if !members.is_complete() {
        return Fit::Wrong(Fault { rule: Rule::WrongType, member });
    }
    let missing = || {
        let absent = |(field, value): &(&Field, &Option<&[u8]>)| field.need == Need::Must && value.is_none();
        fields.iter().zip(values.iter()).find(absent).map(|(field, _)| field.name)
    };
    let missing = missing().map(|member| Fault { rule: Rule::MissingMember, member });
    wrong.or(missing).map_or(Fit::Fits, Fit::Wrong)
}

impl Field {
    /// Whether this value can stand here. The fault; no fault if the object is of an unknown kind for it.
    fn judge(&self, value: &[u8]) -> Result<(), Option<Fault>> {
        let fault = |rule| Err(Some(Fault { rule, member: self.name }));
        if value == b"null" && !matches!(self.shape, Shape::Any) {
            return match self.need {
                Need::Must => fault(Rule::MissingMember),
                Need::May => fault(Rule::NullMember),
                Need::Lax => Ok(()),
            };
        }
        match self.shape.fit(value, self.name) {
            Fit::Fits => Ok(()),
            Fit::Unknown if self.need == Need::Must => Err(None),
            Fit::Unknown => Ok(()),
            Fit::Wrong(fault) => Err(Some(fault)),
        }
    }
}

fn is_json_start(byte: u8) -> bool {
    matches!(byte, b'"' | b'{' | b'[' | b't' | b'f' | b'n' | b'-' | b'0'..=b'9')
}

fn is_not_a_number(value: &[u8]) -> bool {
    value == b"-Infinity"
}

fn is_whole(value: &[u8], least: f64) -> bool {
    const MAX: f64 = 9_007_199_254_740_991.0;
    if !matches!(value.first(), Some(b'-' | b'0'..=b'9')) {
        return false;
    }
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
    number.is_some_and(|number| number.fract() == 0.0 && number >= least.max(-MAX) && number <= MAX)
}

fn is_pointer(text: &str) -> bool {
    let escapes = || text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    text.is_empty() || (text.starts_with('/') && escapes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(shape: &Shape, value: &str) -> bool {
        shape.fit(value.as_bytes(), "m") == Fit::Fits
    }

    #[test]
    fn integers_are_what_a_double_holds_exactly() {
        for good in ["0", "-1", "1700000000000", "1.0", "1e3", "9007199254740991", "-0"] {
            assert!(fits(&Shape::Whole(f64::NEG_INFINITY), good), "{good}");
        }
        for bad in ["1.5", "9007199254740993", "1e300", "\"1\"", "null", "NaN", "Infinity", "true", ""] {
            assert!(!fits(&Shape::Whole(f64::NEG_INFINITY), bad), "{bad}");
        }
        assert!(!fits(&Shape::Whole(0.0), "-1"));
    }

    #[test]
    fn pointers_begin_with_a_slash_and_escape_tildes() {
        for good in ["\"\"", "\"/\"", "\"/a/b\"", "\"/~0/~1x\""] {
            assert!(fits(&Shape::Pointer, good), "{good}");
        }
        for bad in ["\"a\"", "\"/~\"", "\"/~2\"", "1", "null"] {
            assert!(!fits(&Shape::Pointer, bad), "{bad}");
        }
    }

    #[test]
    fn an_unknown_arm_is_left_out_and_a_wrong_one_is_named() {
        const FIELDS: &[Field] = &[Field { name: "x", shape: &Shape::Text, need: Need::Must }];
        const LIST: Shape = Shape::List(&Shape::Tagged("type", &[("a", FIELDS)]), 1);
        assert!(fits(&LIST, r#"[{"type":"a","x":""},{"type":"b"},{}]"#));
        assert!(!fits(&LIST, r#"[{"type":"b"}]"#), "what is left out does not count");
        let fit = LIST.fit(br#"[{"type":"a","x":1}]"#, "list");
        assert_eq!(fit, Fit::Wrong(Fault { rule: Rule::WrongType, member: "x" }));
        let fit = LIST.fit(br#"[{"type":"a"}]"#, "list");
        assert_eq!(fit, Fit::Wrong(Fault { rule: Rule::MissingMember, member: "x" }));
        assert!(!fits(&LIST, "[1]") && !fits(&LIST, "{}") && !fits(&LIST, "["));
    }
}
