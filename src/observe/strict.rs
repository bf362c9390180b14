//! A strict reader of OpenMetrics 1.0, for tests: text comes in, families go out, or what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};

/// A sample's name, its labels in their order, and its value.
type Sample = (String, Vec<(String, String)>, f64);

/// One family as it was read.
#[derive(Debug, Default)]
pub(super) struct Family {
    pub(super) kind: String,
    pub(super) unit: Option<String>,
    pub(super) help: String,
    pub(super) samples: Vec<Sample>,
}

/// Reads a whole exposition.
pub(super) fn read(text: &str) -> Result<BTreeMap<String, Family>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("no # EOF at the end")?;
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    let mut series = BTreeSet::new();
    for line in body.lines() {
        let wrong = |what: &str| format!("{what}: {line:?}");
        if let Some(meta) = line.strip_prefix("# ") {
            let mut words = meta.splitn(3, ' ');
            let (Some(word), Some(name), Some(rest)) = (words.next(), words.next(), words.next()) else {
                return Err(wrong("not TYPE, UNIT or HELP"));
            };
            if name != current {
                if word != "TYPE" || families.contains_key(name) {
                    return Err(wrong("a family must begin with TYPE and be in one piece"));
                }
                name.clone_into(&mut current);
            }
            let family = families.entry(name.to_owned()).or_default();
            if !family.samples.is_empty() {
                return Err(wrong("metadata after samples"));
            }
            match word {
                "TYPE" if family.kind.is_empty() && ["counter", "gauge", "histogram"].contains(&rest) => {
                    rest.clone_into(&mut family.kind);
                }
                "UNIT" if family.unit.is_none() && name.ends_with(&format!("_{rest}")) => {
                    family.unit = Some(rest.to_owned());
                }
                "HELP" if family.help.is_empty() => family.help = unescape(rest).ok_or(wrong("escape"))?,
                _ => return Err(wrong("metadata")),
            }
        } else {
            let (name, labels, value) = sample(line).ok_or(wrong("no sample"))?;
            let family = families.get_mut(&current).ok_or(wrong("a sample before TYPE"))?;
            let suffix = name.strip_prefix(&current).ok_or(wrong("not of this family"))?;
            let fits = match family.kind.as_str() {
                "counter" => suffix == "_total",
                "histogram" => ["_bucket", "_sum", "_count"].contains(&suffix),
                _ => suffix.is_empty(),
            };
            if !fits || !series.insert((name.clone(), labels.clone())) {
                return Err(wrong("the wrong suffix, or said twice"));
            }
            family.samples.push((name, labels, value));
        }
    }
    for (name, family) in &families {
        if family.kind == "histogram" {
            histogram(family).map_err(|wrong| format!("{name}: {wrong}"))?;
        }
    }
    Ok(families)
}

/// Every series of buckets must grow, end with `+Inf`, and agree with its count.
fn histogram(family: &Family) -> Result<(), String> {
    let mut open: Option<(f64, f64)> = None;
    for (name, labels, value) in &family.samples {
        let le = labels.last().filter(|(name, _)| name == "le").map(|(_, bound)| bound.as_str());
        match le {
            Some(bound) if name.ends_with("_bucket") => {
                let float = if bound == "+Inf" { f64::INFINITY } else { canonical(bound)? };
                let (last, count) = open.unwrap_or((f64::NEG_INFINITY, 0.0));
                if float <= last || *value < count {
                    return Err(format!("bucket {bound} does not grow"));
                }
                open = Some((float, *value));
            }
            None if name.ends_with("_sum") => {
                if open.is_none_or(|(last, _)| last.is_finite()) {
                    return Err("no +Inf before the sum".to_owned());
                }
            }
            None if name.ends_with("_count") => {
                if open.take().is_none_or(|(_, count)| count != *value) {
                    return Err("the count is not the last bucket".to_owned());
                }
            }
            _ => return Err(format!("{name} {labels:?}")),
        }
    }
    open.map_or(Ok(()), |_| Err("no count".to_owned()))
}

/// A bound must be spelled as a float, the small ones with an exponent of two digits.
fn canonical(bound: &str) -> Result<f64, String> {
    let value: f64 = bound.parse().map_err(|_| format!("bound {bound}"))?;
    let spelled = if value < 1e-4 {
        bound.split_once("e-").is_some_and(|(digits, exponent)| !digits.ends_with(".0") && exponent.len() == 2)
    } else {
        bound.contains('.') && !bound.contains('e')
    };
    if spelled { Ok(value) } else { Err(format!("bound {bound} is not canonical")) }
}

fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let name = line.get(..end).filter(|name| is_name(name))?;
    let mut rest = line.get(end..)?;
    let mut labels: Vec<(String, String)> = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"")?;
            let close = after
                .char_indices()
                .scan(false, |escaped, (i, c)| {
                    let closes = c == '"' && !*escaped;
                    *escaped = c == '\\' && !*escaped;
                    Some((i, closes))
                })
                .find_map(|(i, closes)| closes.then_some(i))?;
            if !is_name(label) || labels.iter().any(|(known, _)| known == label) {
                return None;
            }
            labels.push((label.to_owned(), unescape(after.get(..close)?)?));
            rest = after.get(close + 1..)?;
            if let Some(done) = rest.strip_prefix('}') {
                rest = done;
                break;
            }
            rest = rest.strip_prefix(',')?;
        }
    }
    let value: f64 = rest.strip_prefix(' ')?.parse().ok()?;
    Some((name.to_owned(), labels, value)).filter(|_| value.is_finite())
}

fn is_name(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(legal)
}

fn unescape(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(match chars.next()? {
                'n' => '\n',
                c @ ('\\' | '"') => c,
                _ => return None,
            }),
            '"' => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

#[test]
fn the_strict_reader_is_strict() {
    let good = "# TYPE a counter\n# HELP a A.\na_total{x=\"\\\"\\\\\\n\"} 1\n# TYPE h histogram\n\
                h_bucket{le=\"1e-05\"} 1\nh_bucket{le=\"1.0\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3.5\nh_count 2\n# EOF\n";
    assert!(read(good).is_ok(), "{:?}", read(good));
    for (part, instead) in [
        ("# EOF\n", ""),
        ("# TYPE a counter", "# TYPE a_total counter"),
        ("a_total", "a"),
        ("\\\"", "\""),
        ("\\n", "\\t"),
        ("# TYPE h histogram\n", "\n# TYPE h histogram\n"),
        ("# TYPE h", "# TYPE a"),
        ("le=\"1.0\"", "le=\"1\""),
        ("1e-05", "0.00001"),
        ("1e-05", "1e-5"),
        ("h_bucket{le=\"+Inf\"} 2\n", ""),
        ("h_count 2", "h_count 3"),
        ("h_count 2\n", ""),
        ("h_sum 3.5", "h_sum NaN"),
        ("le=\"1.0\"} 1", "le=\"1.0\"} 0"),
    ] {
        let bad = good.replacen(part, instead, 1);
        assert_ne!(bad, good, "{part}");
        assert!(read(&bad).is_err(), "{bad}");
    }
}
