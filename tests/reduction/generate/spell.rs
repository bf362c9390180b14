//! A value comes in, one of the many JSON texts that say it goes out.

use serde_json::Value;

use crate::json::unit;

/// A little generator: 0 stays 0, and so stays plain.
struct Dice(u32);

impl Dice {
    fn roll(&mut self, sides: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % sides
    }

    /// Whether something odd happens here.
    fn odd(&mut self, one_in: u32) -> bool {
        self.0 != 0 && self.roll(one_in) == 0
    }
}

/// This value as JSON text. Halves of surrogate pairs are escapes.
pub fn spell(value: &Value, seed: u32) -> String {
    let mut out = String::new();
    let mut dice = Dice(seed);
    write(value, &mut dice, &mut out);
    out
}

fn space(dice: &mut Dice, out: &mut String) {
    if dice.odd(8) {
        out.push_str([" ", "\t", "\n", "  ", "\r\n"][dice.roll(5) as usize]);
    }
}

fn write(value: &Value, dice: &mut Dice, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            // `type` comes first in what agents send.
            members.sort_by_key(|(name, _)| *name != "type");
            if dice.odd(3) {
                let at = dice.roll(members.len().max(1) as u32) as usize;
                members.rotate_left(at);
            }
            sequence(['{', '}'], &members, dice, out, |(name, value), dice, out| {
                string(name, dice, out);
                space(dice, out);
                out.push(':');
                space(dice, out);
                write(value, dice, out);
            });
        }
        Value::Array(list) => sequence(['[', ']'], list, dice, out, write),
        Value::String(text) => string(text, dice, out),
        other => out.push_str(&other.to_string()),
    }
}

fn sequence<T>(
    [open, close]: [char; 2],
    list: &[T],
    dice: &mut Dice,
    out: &mut String,
    each: impl Fn(&T, &mut Dice, &mut String),
) {
    out.push(open);
    for (at, element) in list.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        space(dice, out);
        each(element, dice, out);
        space(dice, out);
    }
    out.push(close);
}

fn string(text: &str, dice: &mut Dice, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match unit(char) {
            Some(half) => escape(half, dice, out),
            None if dice.odd(9) => char.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escape(*unit, dice, out)),
            None => match char {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '/' if dice.odd(2) => out.push_str("\\/"),
                char if char < ' ' => escape(char as u16, dice, out),
                char => out.push(char),
            },
        }
    }
    out.push('"');
}

fn escape(unit: u16, dice: &mut Dice, out: &mut String) {
    out.push_str(&if dice.odd(2) { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") });
}

#[test]
fn every_spelling_says_the_same() {
    let value = serde_json::json!({"type": "é/\"\\\n😀", "b": [1, 2.5, null, {"c": "\u{1}"}], "a": {}});
    for seed in 0..500 {
        assert_eq!(crate::json::parse(&spell(&value, seed)), Some(value.clone()), "{}", spell(&value, seed));
    }
}
