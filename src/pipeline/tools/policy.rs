//! What a route allows comes in as written; whether a name, finished arguments or a result are denied goes out. It reads
//! no events and remembers nothing.

use std::fmt;

use regex::Regex;

use super::{glob::Glob, values};

/// What becomes of a call that is denied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDenied {
    /// It is nowhere.
    #[default]
    Drop,
    /// It is shown with its name and its identifier; its arguments read `{}`, its result is empty.
    Mask,
    /// The run ends before anything of it.
    Error,
}

/// What becomes of `RAW` events and `rawEvent` members, which may repeat in any form what is denied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Raw {
    /// They are left out.
    #[default]
    Drop,
    /// They pass, unread.
    Pass,
}

/// Denies the calls of a tool in whose arguments something is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentRule {
    /// A tool's name, or a pattern.
    pub tool: String,
    /// Where to look: a JSON pointer.
    pub path: String,
    /// What to look for: a regular expression.
    pub matches: String,
}

/// Denies the results of a tool in which something is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultRule {
    /// A tool's name, or a pattern.
    pub tool: String,
    /// What to look for: a regular expression.
    pub matches: String,
}

/// Why a policy cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// `arguments` or `results`.
    pub list: &'static str,
    /// Which entry of it, counted from zero.
    pub entry: usize,
    /// Which member of the entry.
    pub member: &'static str,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { list, entry, member, why } = self;
        write!(f, "{list}[{entry}].{member}: {why}")
    }
}

impl std::error::Error for PolicyError {}

/// What a name decides about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByName {
    Allowed,
    Denied,
    /// Its arguments decide.
    Open,
}

/// Which tools may be called, with what, and with which results.
#[derive(Debug)]
pub struct Policy {
    allow: Option<Vec<Glob>>,
    deny: Vec<Glob>,
    on_denied: OnDenied,
    raw: Raw,
    arguments: Vec<(Glob, Vec<String>, Regex)>,
    results: Vec<(Glob, Regex)>,
    globs: Vec<Glob>,
    labels: Vec<String>,
}

impl Policy {
    /// The policy of these lists. Without an `allow` list every tool may be called, with one only those on it, so with an
    /// empty one none; `deny` wins. A tool may have several rules: one that matches is enough.
    pub fn new(
        allow: Option<&[String]>,
        deny: &[String],
        on_denied: OnDenied,
        raw: Raw,
        arguments: &[ArgumentRule],
        results: &[ResultRule],
    ) -> Result<Self, PolicyError> {
        let mut labels: Vec<String> = Vec::new();
        let names = deny.iter().chain(allow.unwrap_or_default()).chain(arguments.iter().map(|rule| &rule.tool));
        for name in names.chain(results.iter().map(|rule| &rule.tool)) {
            if !labels.contains(name) {
                labels.push(name.clone());
            }
        }
        let globs = |names: &[String]| names.iter().map(|name| Glob::new(name)).collect::<Vec<_>>();
        let arguments = arguments.iter().enumerate().map(|(entry, rule)| {
            let fails = |member, why| PolicyError { list: "arguments", entry, member, why };
            let path = values::pointer(&rule.path)
                .ok_or_else(|| fails("path", format!("`{}` is not a JSON pointer", rule.path)))?;
            let regex = Regex::new(&rule.matches).map_err(|error| fails("matches", error.to_string()))?;
            Ok((Glob::new(&rule.tool), path, regex))
        });
        let results = results.iter().enumerate().map(|(entry, rule)| {
            let fails = |why| PolicyError { list: "results", entry, member: "matches", why };
            let regex = Regex::new(&rule.matches).map_err(|error| fails(error.to_string()))?;
            Ok((Glob::new(&rule.tool), regex))
        });
        Ok(Self {
            allow: allow.map(globs),
            deny: globs(deny),
            on_denied,
            raw,
            arguments: arguments.collect::<Result<_, _>>()?,
            results: results.collect::<Result<_, _>>()?,
            globs: globs(&labels),
            labels,
        })
    }

    /// The names and patterns that it was written with, each once.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The place in [`Policy::labels`] of the one that means this tool: its very name, else the first pattern that
    /// matches, of the denied ones first.
    pub fn label(&self, name: &str) -> Option<usize> {
        let exact = self.globs.iter().position(|glob| glob.is_exact() && glob.as_str() == name);
        exact.or_else(|| self.globs.iter().position(|glob| glob.matches(name)))
    }

    pub(super) fn on_denied(&self) -> OnDenied {
        self.on_denied
    }

    pub(super) fn drops_raw(&self) -> bool {
        self.raw == Raw::Drop
    }

    /// What its name decides about a call.
    pub(super) fn by_name(&self, name: &str) -> ByName {
        let is_in = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(name));
        if is_in(&self.deny) || self.allow.as_deref().is_some_and(|allow| !is_in(allow)) {
            return ByName::Denied;
        }
        let open = self.arguments.iter().any(|(tool, ..)| tool.matches(name));
        if open { ByName::Open } else { ByName::Allowed }
    }

    /// Whether a call is denied for its finished arguments; `None` for those that cannot be read as text. What is no JSON
    /// is denied if a rule has to look into it. No arguments at all are as good as an empty object.
    pub(super) fn denies_arguments(&self, name: &str, arguments: Option<&str>) -> bool {
        let mut rules = self.arguments.iter().filter(|(tool, ..)| tool.matches(name)).peekable();
        if rules.peek().is_none() {
            return false;
        }
        let Some(arguments) = arguments else { return true };
        if arguments.trim_ascii().is_empty() {
            return false;
        }
        if serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_err() {
            return true;
        }
        rules.any(|(_, path, regex)| {
            values::at(arguments.as_bytes(), path).into_iter().any(|value| values::is_match(value, regex))
        })
    }

    /// Whether a result of this tool, JSON, is denied for what it says. If the tool's name is not known, the rules of all
    /// tools count.
    pub(super) fn denies_result(&self, name: Option<&str>, result: &[u8]) -> bool {
        let mut rules = self.results.iter().filter(|(tool, _)| name.is_none_or(|name| tool.matches(name)));
        rules.any(|(_, regex)| values::is_match(result, regex))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn rule(tool: &str, path: &str, matches: &str) -> ArgumentRule {
        ArgumentRule { tool: tool.into(), path: path.into(), matches: matches.into() }
    }

    fn policy(allow: Option<&[&str]>, deny: &[&str], arguments: &[ArgumentRule], results: &[ResultRule]) -> Policy {
        let allow = allow.map(list);
        Policy::new(allow.as_deref(), &list(deny), OnDenied::Drop, Raw::Drop, arguments, results).unwrap()
    }

    #[test]
    fn deny_wins_over_allow_and_an_allow_list_denies_what_is_not_on_it() {
        let both = policy(Some(&["search_*", "rm"]), &["search_secret", "rm"], &[], &[]);
        for (name, verdict) in [
            ("search_docs", ByName::Allowed),
            ("search_secret", ByName::Denied),
            ("rm", ByName::Denied),
            ("other", ByName::Denied),
            ("Search_docs", ByName::Denied),
        ] {
            assert_eq!(both.by_name(name), verdict, "{name}");
        }
        assert_eq!(policy(None, &["rm"], &[], &[]).by_name("other"), ByName::Allowed);
        assert_eq!(policy(Some(&[]), &[], &[], &[]).by_name("other"), ByName::Denied, "an empty list allows nothing");
    }

    #[test]
    fn a_label_is_the_name_or_the_pattern_as_it_was_written() {
        let result = ResultRule { tool: "read_*".into(), matches: "x".into() };
        let policy = policy(Some(&["f*", "fetch"]), &["rm", "del*"], &[rule("fetch", "/u", "x")], &[result]);
        assert_eq!(policy.labels(), ["rm", "del*", "f*", "fetch", "read_*"]);
        let label = |name| policy.label(name).map(|at| &*policy.labels()[at]);
        assert_eq!(label("fetch"), Some("fetch"), "the very name before a pattern");
        assert_eq!(label("find"), Some("f*"));
        assert_eq!(label("delete"), Some("del*"));
        assert_eq!(label("del*"), Some("del*"));
        assert_eq!(label("read_file"), Some("read_*"));
        assert_eq!(label("other"), None);
    }

    #[test]
    fn arguments_are_judged_where_the_pointer_points() {
        let policy =
            policy(None, &[], &[rule("fetch", "/url", r"^https?://169\.254\."), rule("f*", "/n/0", "^7$")], &[]);
        let denies = |text: &str| policy.denies_arguments("fetch", Some(text));
        for bad in [
            r#"{"url":"http://169.254.169.254/"}"#,
            r#"{"url":"http:\/\/169.254.1.1"}"#,
            r#"{"\u0075rl":"http://1\u00369.254.1.1","a":1}"#,
            r#"{"url":"https://a","url":"http://169.254.1.1"}"#,
            r#"{"url":"http://169.254.1.1","url":"https://a"}"#,
            r#"{"n":[7]}"#,
            r#"{"n":["7"]}"#,
            r#"{"url":"http://16"#,
            "not json",
            r#"{} {}"#,
        ] {
            assert!(denies(bad), "{bad}");
        }
        for good in
            ["", " ", "{}", r#"{"url":"https://a"}"#, r#"{"x":"http://169.254.1.1"}"#, r#"{"n":[17]}"#, "[]", "1"]
        {
            assert!(!denies(good), "{good}");
        }
        assert!(policy.denies_arguments("fetch", None), "what is no text cannot be judged");
        assert!(!policy.denies_arguments("other", None) && !policy.denies_arguments("other", Some("{")));
    }

    #[test]
    fn results_are_judged_by_what_they_say() {
        let rule = ResultRule { tool: "read_*".into(), matches: "BEGIN [A-Z ]*PRIVATE KEY".into() };
        let policy = policy(None, &[], &[], &[rule]);
        let secret = br#""x\n-----BEGIN RSA PRIVATE K\u0045Y-----""#;
        assert!(policy.denies_result(Some("read_file"), secret));
        assert!(policy.denies_result(None, secret), "whose result it is, is not known");
        assert!(!policy.denies_result(Some("other"), secret));
        assert!(!policy.denies_result(Some("read_file"), br#""fine""#));
        let parts = br#"[{"type":"text","text":"BEGIN PRI"},{"type":"text","text":"VATE KEY"}]"#;
        assert!(policy.denies_result(Some("read_file"), parts), "also over parts");
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_said_by_its_place() {
        let none = |arguments: &[ArgumentRule], results: &[ResultRule]| {
            Policy::new(None, &[], OnDenied::Drop, Raw::Drop, arguments, results).unwrap_err().to_string()
        };
        assert_eq!(
            none(&[rule("a", "", "x"), rule("a", "url", "x")], &[]),
            "arguments[1].path: `url` is not a JSON pointer"
        );
        assert!(none(&[rule("a", "/u", "(")], &[]).starts_with("arguments[0].matches: "));
        let result = ResultRule { tool: "a".into(), matches: "(".into() };
        assert!(none(&[], &[result]).starts_with("results[0].matches: "));
    }
}
