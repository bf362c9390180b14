//! Numbers of JSON come in and doubles go out, and the other way round, both as JavaScript does it.

use std::io::Write;

/// The largest integer that JavaScript tells from its neighbours; the wire's integers go no further.
pub(super) const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// What the text of a number says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    /// The nearest double, which may be infinite.
    pub(super) value: f64,
    /// Whether it was an integer that the double spells with other digits, or too large for any double.
    pub(super) changed: bool,
}

/// Reads the text of a number; `None` if it is none by the grammar of JSON.
pub(super) fn parse(text: &[u8]) -> Option<Number> {
    read(text).filter(|(_, length)| *length == text.len()).map(|(number, _)| number)
}

/// Reads the number at the beginning of a text, and says how long it is.
#[inline]
pub(super) fn read(text: &[u8]) -> Option<(Number, usize)> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let whole = &text[sign..];
    let mut integer = 0_u64;
    let mut digits = 0;
    while let Some(digit @ b'0'..=b'9') = whole.get(digits) {
        integer = integer.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        digits += 1;
    }
    let (whole, rest) = whole.split_at(digits);
    if digits == 0 || (digits > 1 && whole[0] == b'0') {
        return None;
    }
    let tail = tail(rest)?;
    let length = sign + digits + tail;
    if tail == 0 && digits <= 15 {
        let value = if sign == 1 { -(integer as f64) } else { integer as f64 };
        return Some((Number { value, changed: false }, length));
    }
    let value: f64 = std::str::from_utf8(&text[..length]).ok()?.parse().ok()?;
    let changed = value.is_infinite() || tail == 0 && format!("{:.0}", value.abs()).as_bytes() != whole;
    Some((Number { value, changed }, length))
}

/// The length of a fraction, an exponent, both or neither; `None` if one of them lacks its digits.
fn tail(text: &[u8]) -> Option<usize> {
    let mut length = 0;
    if text.first() == Some(&b'.') {
        length = 1 + leading_digits(&text[1..])?;
    }
    if let Some(b'e' | b'E') = text.get(length) {
        let sign = usize::from(matches!(text.get(length + 1), Some(b'+' | b'-')));
        length += 1 + sign + leading_digits(&text[length + 1 + sign..])?;
    }
    Some(length)
}

/// How many digits come first, if there are any.
fn leading_digits(text: &[u8]) -> Option<usize> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (length > 0).then_some(length)
}

/// Writes a double as `JSON.stringify` does: integers without a fraction, what is not finite as null. Only -0 keeps its
/// sign, which `JSON.parse` understands: it is the value that the wire carried.
pub(super) fn write(value: f64, out: &mut Vec<u8>) {
    if value.abs() <= MAX_SAFE && value.fract() == 0.0 {
        if value == 0.0 && value.is_sign_negative() {
            out.push(b'-');
        }
        out.extend_from_slice(itoa::Buffer::new().format(value as i64).as_bytes());
        return;
    }
    if !value.is_finite() {
        out.extend_from_slice(b"null");
        return;
    }
    let written = if (1e-6..1e21).contains(&value.abs()) {
        write!(out, "{value}")
    } else {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        write!(out, "{digits}e{}{exponent}", if exponent.starts_with('-') { "" } else { "+" })
    };
    debug_assert!(written.is_ok(), "a vector takes whatever is written");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spelled(value: f64) -> String {
        let mut out = Vec::new();
        write(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_spelled_as_javascript_spells_them() {
        for (value, text) in [
            (1.0, "1"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (-1.5e-6, "-0.0000015"),
            (1e-7, "1e-7"),
            (1.25e-7, "1.25e-7"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (1.234_567_890_123_456_8e20, "123456789012345680000"),
            (1e21, "1e+21"),
            (-1.5e300, "-1.5e+300"),
            (5e-324, "5e-324"),
            (f64::NAN, "null"),
            (f64::NEG_INFINITY, "null"),
        ] {
            assert_eq!(spelled(value), text);
        }
    }

    #[test]
    fn what_the_grammar_refuses_is_no_number() {
        for text in ["", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1.e3", "NaN", "Infinity", "0x1", "1_0", "1 "]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn only_an_integer_whose_digits_change_and_what_no_double_reaches_is_a_loss() {
        for (text, value, changed) in [
            ("9007199254740992", 9_007_199_254_740_992.0, false),
            ("9007199254740993", 9_007_199_254_740_992.0, true),
            ("-9007199254740993", -9_007_199_254_740_992.0, true),
            ("1364226163160287233", 1_364_226_163_160_287_200.0, true),
            ("1000000000000000000000", 1e21, false),
            ("1e400", f64::INFINITY, true),
            ("-12345.6e400", f64::NEG_INFINITY, true),
            ("1.7976931348623157e308", f64::MAX, false),
            ("5e-400", 0.0, false),
            ("0.12345678901234567890", 0.123_456_789_012_345_68, false),
            ("-0", -0.0, false),
            ("1.0E+2", 100.0, false),
        ] {
            let number = parse(text.as_bytes()).unwrap();
            assert_eq!((number.value.to_bits(), number.changed), (f64::to_bits(value), changed), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_double_comes_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(parse(spelled(value).as_bytes()).unwrap().value.to_bits(), value.to_bits());
        }

        #[test]
        fn numbers_are_those_of_a_json_parser(text in "-?[0-9]{0,3}(\\.[0-9]{0,3})?([eE][+-]?[0-9]{0,2})?") {
            // Its own doubles may be off by the last bit, those of the standard library are not.
            let is_number = serde_json::from_str::<f64>(&text).is_ok();
            let expected = is_number.then(|| text.parse::<f64>().unwrap());
            prop_assert_eq!(parse(text.as_bytes()).map(|number| number.value), expected);
        }
    }
}
