//! The name of a tool comes in, whether a pattern means it goes out. Only whole names are compared, exactly: case, white
//! space and the form of a letter count.

/// A name, or a pattern of names: `*` stands for any characters, also none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    text: Box<str>,
    is_exact: bool,
}

impl Glob {
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), is_exact: !text.contains('*') }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is one name and no pattern.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    pub fn matches(&self, name: &str) -> bool {
        if self.is_exact { *self.text == *name } else { matches(&self.text, name) }
    }
}

/// On a mismatch the last star takes one character more; the stars before it need not be tried again. So the work is at
/// most the product of both lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    let mut retry = None;
    loop {
        let before = name.clone();
        match (pattern.next(), name.next()) {
            (Some('*'), _) => {
                retry = Some((pattern.clone(), before.clone()));
                name = before;
                continue;
            }
            (Some(wanted), Some(found)) if wanted == found => continue,
            (None, None) => return true,
            _ => {}
        }
        let Some((rest, mut from)) = retry.take() else { return false };
        if from.next().is_none() {
            return false;
        }
        (pattern, name) = (rest.clone(), from.clone());
        retry = Some((rest, from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_wildcards_is_only_itself() {
        let glob = Glob::new("rm");
        assert!(glob.is_exact() && glob.matches("rm"));
        assert!(Glob::new("r?").is_exact() && Glob::new("r?").matches("r?") && !Glob::new("r?").matches("rm"));
        for other in ["", "RM", "rm ", " rm", "rmdir", "r", "r\u{200b}m"] {
            assert!(!glob.matches(other), "{other}");
        }
    }

    #[test]
    fn a_star_is_any_characters_and_nothing_else_is() {
        for (pattern, yes, no) in [
            ("*", &["", "a", "délete\n"][..], &[][..]),
            ("delete_*", &["delete_", "delete_all"], &["delete", "undelete_x", "Delete_x"]),
            ("*_all", &["_all", "delete_all", "a_all_all"], &["delete_all_", "all"]),
            ("a*b*c", &["abc", "aXbYc", "abbcbc", "abcc"], &["ab", "acb", "abcd"]),
            ("a?*", &["a?", "a?b"], &["a", "ab", "abc"]),
            ("*[a]", &["[a]", "x[a]"], &["a", "xa"]),
            ("**x", &["x", "xx"], &["xy"]),
        ] {
            let glob = Glob::new(pattern);
            assert!(!glob.is_exact());
            yes.iter().for_each(|name| assert!(glob.matches(name), "{pattern} {name}"));
            no.iter().for_each(|name| assert!(!glob.matches(name), "{pattern} {name}"));
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let glob = Glob::new(&"*a".repeat(200));
        assert!(!glob.matches(&"a".repeat(199)));
        assert!(!glob.matches(&format!("{}b", "a".repeat(5000))));
    }
}
