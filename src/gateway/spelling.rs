//! A path comes in; the plainest spelling that an agent may take it for goes out, or that it climbs. What goes on to the
//! agent is the path as it is.

use std::borrow::Cow;

/// What is the end of a segment for some readers.
const SLASHES: [char; 2] = ['/', '\\'];

/// The path without empty and `.` segments and without parameters behind `;`, and with no character escaped that need not
/// be for some reader.
pub fn plain(path: &str) -> Cow<'_, str> {
    if !is_odd(path) {
        return Cow::Borrowed(path);
    }
    let mut plain = String::with_capacity(path.len());
    for segment in decoded(path).split(SLASHES).map(without_parameters).filter(|segment| !["", "."].contains(segment)) {
        plain.push('/');
        plain.push_str(segment);
    }
    if plain.is_empty() {
        plain.push('/');
    }
    Cow::Owned(plain)
}

/// Whether there may be a plainer spelling of this path.
pub fn is_odd(path: &str) -> bool {
    path.contains(['%', ';', '\\']) || path.contains("//") || path.contains("/.")
}

/// Whether a segment of the path is `..`, spelled in any way: the agent could read it as a way out of its route.
pub fn climbs(path: &str) -> bool {
    (path.contains("..") || path.contains('%'))
        && decoded(path).split(SLASHES).any(|segment| without_parameters(segment) == "..")
}

fn without_parameters(segment: &str) -> &str {
    segment.split_once(';').map_or(segment, |(name, _)| name)
}

/// The path with every ASCII character as itself, and all others escaped in capitals.
fn decoded(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let mut decoded = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        decoded.push_str(before);
        let digits = after.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if byte.is_ascii() => decoded.push(char::from(byte)),
            _ => {
                decoded.push('%');
                decoded.push_str(&digits.unwrap_or_default().to_ascii_uppercase());
            }
        }
        rest = digits.map_or(after, |digits| &after[digits.len()..]);
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_climb_out_of_its_route() {
        for path in [
            "/a/..",
            "/../b",
            "/a/%2e%2E/b",
            "/a/.%2e",
            "/a%2f..%2fb",
            "/a/..\\b",
            "/a%5c..%5cb",
            "/a/..;/b",
            "/a/..;x=y",
            "/a/%2e.%3Bx/b",
        ] {
            assert!(climbs(path), "{path}");
        }
        for path in ["/", "/a..b", "/...", "/a/b.c", "/%2e%2ea", "/a;..", "/a/;../b", "/%", "/a%2", "/..%"] {
            assert!(!climbs(path), "{path}");
        }
    }

    #[test]
    fn every_spelling_of_a_path_has_one_that_is_plain() {
        for path in [
            "//admin/a",
            "/./admin/a",
            "/admin/./a/",
            "/%61dmin/a",
            "/admin;x=y/a",
            "/admin%3bx/a;",
            "/admin%2Fa",
            "/admin\\a",
            "/%2e//admin/%61;/",
            "/.;x/admin/a",
        ] {
            assert_eq!(plain(path), "/admin/a", "{path}");
        }
        for path in ["/", "//", "/.", "/;", "/%2f"] {
            assert_eq!(plain(path), "/", "{path}");
        }
        for path in ["/admin/", "/a.b/c", "/%C3%A4", "/%", "/%2", "/%zz", "*", ""] {
            assert_eq!(plain(path), path);
        }
        assert_eq!(plain("/%c3%a4%20"), "/%C3%A4 ");
    }
}
