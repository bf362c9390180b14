//! Events come in, the same with a timestamp in whole milliseconds, or with none, go out. It guesses no zone and no unit.

use std::time::Instant;

use super::{is_safe_integer, send};
use crate::{
    agui::{Event, EventKind, Word, edit::Change, json},
    pipeline::{Loss, Out, Stage},
};

static TIMESTAMP: Word = Word::new("\"timestamp\"");

/// Rounds timestamps, reads those that are written out with their zone, and takes out the others.
#[derive(Debug)]
pub(super) struct Timestamp;

impl Stage for Timestamp {
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if event.kind() == EventKind::Other || !TIMESTAMP.is_in(event.text()) {
            return out.send(event, at);
        }
        let mut loss = Loss::None;
        let changed = event.edited(|member| {
            if !member.is("timestamp") || is_safe_integer(member.value) {
                return Change::Keep;
            }
            match rounded(member.value).or_else(|| written(member.value)) {
                Some(ms) => Change::Value(ms.to_string().into_bytes()),
                None => {
                    loss = Loss::Part("timestamp");
                    Change::Drop
                }
            }
        });
        send(event, changed, loss, at, out);
    }
}

/// The nearest whole number that every reader can hold.
#[allow(clippy::cast_possible_truncation)]
fn rounded(value: &[u8]) -> Option<i64> {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    let number = std::str::from_utf8(value).ok()?.parse::<f64>().ok()?.round();
    (number.abs() <= SAFE).then_some(number as i64)
}

/// The milliseconds since 1970 of a JSON string such as `"2025-01-31T12:00:00.5+01:00"`.
fn written(value: &[u8]) -> Option<i64> {
    rfc3339(json::string(value)?.as_bytes())
}

fn rfc3339(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let (year, month, day) = match date {
        [year @ .., b'-', m1, m2, b'-', d1, d2] => (number(year)?, number(&[*m1, *m2])?, number(&[*d1, *d2])?),
        _ => return None,
    };
    let [b'T' | b't' | b' ', time @ ..] = rest else { return None };
    let (clock, rest) = time.split_at_checked(8)?;
    let [h1, h2, b':', m1, m2, b':', s1, s2] = clock else { return None };
    let (hour, minute, second) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?, number(&[*s1, *s2])?);
    let (milli, zone) = match rest {
        [b'.', rest @ ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (fraction, zone) = rest.split_at_checked(digits)?;
            let mut thousandths = [b'0'; 3];
            thousandths.iter_mut().zip(fraction).for_each(|(to, from)| *to = *from);
            (if digits == 0 { return None } else { number(&thousandths)? }, zone)
        }
        _ => (0, rest),
    };
    let ahead = match zone {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let minutes = number(&[*h1, *h2])? * 60 + number(&[*m1, *m2])?;
            if *sign == b'+' { minutes } else { -minutes }
        }
        _ => return None,
    };
    // 60 is a leap second.
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    let minutes = days(year, month, day) * 1440 + hour * 60 + minute - ahead;
    fits.then_some((minutes * 60 + second) * 1000 + milli)
}

fn number(digits: &[u8]) -> Option<i64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The days from 1970-01-01 to this date. Years count from March, so that the leap day is their last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let to_month = (153 * months + 2) / 5;
    // From the first of March of the year 0 to 1970-01-01 it is 719,468 days.
    year * 365 + leaps + to_month + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_with_a_zone_are_milliseconds() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00.5+01:00", Some(951_822_000_500)),
            ("2025-01-31t23:59:59.123456-05:30", Some(1_738_387_799_123)),
            ("1969-12-31 23:59:59.999z", Some(-1)),
            ("2025-01-31T23:59:59", None),
            ("2025-01-31", None),
            ("2025-13-31T23:59:59Z", None),
            ("2025-01-31T23:59:59.Z", None),
            ("2025-01-31T2x:59:59Z", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(rfc3339(text.as_bytes()), ms, "{text}");
        }
    }

    #[test]
    fn numbers_are_rounded_if_that_can_be() {
        for (text, ms) in
            [("1.5", Some(2)), ("1.7e12", Some(1_700_000_000_000)), ("-0.4", Some(0)), ("1e300", None), ("NaN", None)]
        {
            assert_eq!(rounded(text.as_bytes()), ms, "{text}");
        }
    }
}
