//! What stands between the quotes of a JSON string comes in, how many characters it says and whether it ends within one
//! goes out. Nothing is decoded.

/// What there is to know of a string that is joined to others as it is spelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Measure {
    /// Unicode scalar values as a reader counts them. Half of a surrogate pair that nothing completes counts for one at
    /// the most.
    pub(super) chars: usize,
    /// Whether it ends in the first half of a surrogate pair.
    pub(super) half: bool,
}

/// Measures a string; `None` if a reader of JSON would refuse it.
pub(super) fn measure(body: &[u8]) -> Option<Measure> {
    let text = std::str::from_utf8(body).ok()?;
    if body.iter().any(|byte| *byte < b' ') {
        return None;
    }
    let mut chars = text.chars().count();
    if memchr::memchr(b'\\', body).is_none() {
        return Some(Measure { chars, half: false });
    }
    let (mut at, mut half) = (0, false);
    while let Some(found) = body.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found + 1;
        half = false;
        match body.get(at)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                chars -= 1;
                at += 1;
            }
            b'u' => {
                let unit = unit(body.get(at + 1..at + 5)?)?;
                // Counted with the first half, whether that stands here or came before.
                let second = (0xDC00..0xE000).contains(&unit);
                chars -= if second { 6 } else { 5 };
                at += 5;
                half = (0xD800..0xDC00).contains(&unit) && at == body.len();
            }
            _ => return None,
        }
    }
    Some(Measure { chars, half })
}

fn unit(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(body: &str) -> Option<(usize, bool)> {
        measure(body.as_bytes()).map(|measure| (measure.chars, measure.half))
    }

    #[test]
    fn an_escape_is_one_character_and_so_is_a_pair() {
        let cases = [
            ("", 0),
            ("abc", 3),
            ("北京🌍", 3),
            (r"\n\\\/", 3),
            (r"\u00e9x", 2),
            (r"\ud83d\ude00", 1),
            (r"a\uD83D\uDE00b", 3),
        ];
        for (body, chars) in cases {
            assert_eq!(of(body), Some((chars, false)), "{body}");
        }
    }

    #[test]
    fn half_a_pair_at_the_end_is_seen_and_nowhere_else() {
        for (body, half) in [
            (r"x\ud83d", true),
            (r"\uDBFF", true),
            (r"\ude00", false),
            (r"\ud83dx", false),
            (r"\\ud83d", false),
            (r"\\\ud83d", true),
        ] {
            assert_eq!(of(body).unwrap().1, half, "{body}");
        }
    }

    #[test]
    fn what_is_no_string_is_not_measured() {
        for body in [r"\", r"\q", r"\u12", r"\u12g4", "a\nb", "\u{1}", r"\u+123"] {
            assert_eq!(of(body), None, "{body}");
        }
        assert_eq!(measure(b"\xff"), None);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_reader_of_json(text in any::<String>(), ascii in any::<bool>()) {
            let plain = serde_json::to_string(&text).unwrap();
            let escaped: String = plain.encode_utf16().map(|unit| match u8::try_from(unit) {
                Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
                _ => format!("\\u{unit:04x}"),
            }).collect();
            let spelled = if ascii { escaped } else { plain };
            let body = &spelled.as_bytes()[1..spelled.len() - 1];
            prop_assert_eq!(measure(body), Some(Measure { chars: text.chars().count(), half: false }));
        }

        #[test]
        fn what_it_measures_can_be_read(body in r#"[a\\"u0dDeE9 é\n]{0,12}"#) {
            let quoted = format!("\"{body}\"");
            let is_string = crate::agui::json::is_whole(quoted.as_bytes());
            let read = serde_json::from_str::<serde::de::IgnoredAny>(&quoted).is_ok();
            prop_assert_eq!(is_string && measure(body.as_bytes()).is_some(), read);
        }
    }
}
