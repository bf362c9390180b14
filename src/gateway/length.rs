//! The headers of a message come in; what they say of its length goes out, once and as a plain number, so that nobody behind
//! reads another one. The body is not looked at.

use http::{HeaderMap, HeaderValue, header};

/// Leaves one length, if there is any; none beside a transfer coding, which counts more (RFC 9112, 6.3). Whether there
/// is one way to read it.
pub fn settle(headers: &mut HeaderMap) -> bool {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        headers.remove(header::CONTENT_LENGTH);
        return true;
    }
    let lines = headers.get_all(header::CONTENT_LENGTH).iter();
    let mut lengths = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).map(number);
    let Some(first) = lengths.next() else { return true };
    let Some(length) = first.filter(|_| lengths.all(|other| other == first)) else { return false };
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    true
}

/// The number that these digits are, and nothing but digits.
fn number(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text.trim_ascii()).ok()?;
    // A sign would be taken for a part of it.
    digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of these lengths; `None`: they are not one.
    fn settled(lengths: &[&'static str], coded: bool) -> Option<Vec<String>> {
        let mut headers = HeaderMap::new();
        for length in lengths {
            headers.append(header::CONTENT_LENGTH, HeaderValue::from_static(length));
        }
        if coded {
            headers.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        let left = |headers: &HeaderMap| {
            let lengths = headers.get_all(header::CONTENT_LENGTH).iter();
            lengths.map(|length| String::from_utf8_lossy(length.as_bytes()).into_owned()).collect()
        };
        settle(&mut headers).then(|| left(&headers))
    }

    #[test]
    fn one_number_is_left_of_those_that_are_the_same() {
        assert_eq!(settled(&[], false), Some(vec![]));
        for lengths in [&["4"][..], &["4", "4"], &["4, 4"], &["4,04 ", "0004"], &["00000000000000000000000000004"]] {
            assert_eq!(settled(lengths, false), Some(vec!["4".into()]), "{lengths:?}");
        }
    }

    #[test]
    fn a_transfer_coding_counts_more() {
        assert_eq!(settled(&["4", "5"], true), Some(vec![]));
    }

    #[test]
    fn what_is_no_number_or_several_is_none() {
        for lengths in [
            &[""][..],
            &["4", "5"],
            &["4, 5"],
            &["4,"],
            &["+4"],
            &["-4"],
            &["0x4"],
            &["4 4"],
            &["18446744073709551616"],
        ] {
            assert_eq!(settled(lengths, false), None, "{lengths:?}");
        }
    }
}
