//! What the gateway says about itself: the text of `/metrics` comes in, a few lines for a person and the
//! number of runs by outcome go out.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use super::view::{Look, Style};

/// The series of one scrape.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    series: Vec<Series>,
}

#[derive(Clone, Debug)]
struct Series {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Measured {
    /// Reads the Prometheus text format; lines that are none of it are passed over.
    pub fn read(text: &str) -> Self {
        Self { series: text.lines().filter(|line| !line.starts_with('#')).filter_map(series).collect() }
    }

    /// Finished streams by their `outcome`.
    pub fn runs(&self) -> BTreeMap<String, u64> {
        self.by("tidegate_runs_total", "outcome")
    }

    /// Writes what is worth a look after a few runs.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn show(&self, out: &mut impl Write, look: Look) -> io::Result<()> {
        let mut line = |what: &str, says: String, name: &str| {
            let name = look.paint(Style::Faint, name);
            writeln!(out, "  {what:<15}{says:<48}{name}")
        };
        let runs: Vec<_> = self.runs().iter().map(|(outcome, n)| format!("{n} {outcome}")).collect();
        line("runs", runs.join(", "), "tidegate_runs_total")?;
        let events = self.by("tidegate_events_total", "direction");
        let events = |direction: &str| events.get(direction).copied().unwrap_or_default();
        let both = format!("{} from the agent, {} to the client", events("in"), events("out"));
        line("events", both, "tidegate_events_total")?;
        for (what, name) in [
            ("first event", "tidegate_time_to_first_event_seconds"),
            ("first content", "tidegate_time_to_first_content_seconds"),
            ("added delay", "tidegate_event_delay_seconds"),
        ] {
            line(what, self.within(name), name)?;
        }
        let tokens: Vec<_> =
            self.by("tidegate_tokens_total", "kind").iter().map(|(kind, n)| format!("{n} {kind}")).collect();
        if !tokens.is_empty() {
            line("tokens", tokens.join(", "), "tidegate_tokens_total")?;
        }
        Ok(())
    }

    /// The sums of a counter by one label, without those that are zero.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn by(&self, name: &str, label: &str) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for series in self.series.iter().filter(|series| series.name == name && series.value >= 1.0) {
            let key = series.labels.get(label).cloned().unwrap_or_default();
            *sums.entry(key).or_default() += series.value as u64;
        }
        sums
    }

    /// The bounds of a histogram's buckets below which half, and 99 of 100, of its observations lie.
    fn within(&self, name: &str) -> String {
        let bucket = format!("{name}_bucket");
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        for series in self.series.iter().filter(|series| series.name == bucket) {
            let Some(bound) = series.labels.get("le").and_then(|le| le.parse().ok()) else {
                continue;
            };
            match buckets.iter_mut().find(|(known, _)| *known == bound) {
                Some((_, count)) => *count += series.value,
                None => buckets.push((bound, series.value)),
            }
        }
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = buckets.last().map_or(0.0, |(_, count)| *count);
        if all < 1.0 {
            return "not measured".to_owned();
        }
        let below = |share: f64| {
            let bound =
                buckets.iter().find(|(_, count)| *count >= share * all).map_or(f64::INFINITY, |(bound, _)| *bound);
            seconds(bound)
        };
        format!("half within {}, 99 % within {}", below(0.5), below(0.99))
    }
}

/// One line of the text format: a name, labels in braces if any, a value.
fn series(line: &str) -> Option<Series> {
    let (name, rest) = line.split_at(line.find(['{', ' '])?);
    let mut labels = BTreeMap::new();
    let mut rest = rest.trim_start();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while let Some((label, after)) = rest.split_once("=\"") {
            let (value, after) = quoted(after)?;
            labels.insert(label.trim().to_owned(), value);
            match after.strip_prefix(',') {
                Some(more) => rest = more,
                None => {
                    rest = after;
                    break;
                }
            }
        }
        rest = rest.strip_prefix('}')?;
    }
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Series { name: name.to_owned(), labels, value })
}

/// A label's value up to its closing quote, and what follows the quote.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

/// A time in the unit that a person would choose.
fn seconds(seconds: f64) -> String {
    if seconds.is_infinite() {
        return "no bound".to_owned();
    }
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    // Bucket bounds are short decimals; the multiplication is not to show.
    format!("{} {unit}", (value * 100.0).round() / 100.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const TEXT: &str = concat!(
        "# HELP tidegate_runs_total runs\n# TYPE tidegate_runs_total counter\n",
        "tidegate_runs_total{route=\"/\",agent=\"a\",outcome=\"finished\",client_version=\"1.1\"} 2\n",
        "tidegate_runs_total{route=\"/\",agent=\"a\",outcome=\"finished\",client_version=\"1.0\"} 1\n",
        "tidegate_runs_total{route=\"a,\\\"} \\\\b\",outcome=\"truncated\"} 1\n",
        "tidegate_runs_total{outcome=\"drained\"} 0\n",
        "tidegate_events_total{direction=\"in\",type=\"RAW\"} 7\n\n",
        "tidegate_event_delay_seconds_bucket{route=\"/\",le=\"0.000016\"} 3\n",
        "tidegate_event_delay_seconds_bucket{route=\"/\",le=\"0.00025\"} 3\n",
        "tidegate_event_delay_seconds_bucket{route=\"/\",le=\"+Inf\"} 4\n",
        "tidegate_time_to_first_event_seconds_bucket{route=\"x\",le=\"0.01\"} 1\n",
        "tidegate_time_to_first_event_seconds_bucket{route=\"x\",le=\"2.56\"} 2\n",
        "tidegate_time_to_first_event_seconds_bucket{route=\"y\",le=\"0.01\"} 0\n",
        "tidegate_time_to_first_event_seconds_bucket{route=\"y\",le=\"2.56\"} 9\n",
        "up 1 1700000000\n",
    );

    #[test]
    fn runs_are_summed_by_outcome_over_all_other_labels() {
        let runs: Vec<_> = Measured::read(TEXT).runs().into_iter().collect();
        assert_eq!(runs, [("finished".to_owned(), 3), ("truncated".to_owned(), 1)]);
    }

    #[test]
    fn escapes_in_a_label_do_not_end_it() {
        let found = series(r#"x{route="a,\"} \\b",le="+Inf"} 4 17"#).unwrap();
        assert_eq!(found.labels["route"], r#"a,"} \b"#);
        assert_eq!(found.value, 4.0);
        assert!(series("x{route=\"open").is_none());
    }

    #[test]
    fn the_summary_names_each_series_and_reads_histograms_over_routes() {
        let mut out = Vec::new();
        Measured::read(TEXT).show(&mut out, Look::default()).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "runs 3 finished, 1 truncated tidegate_runs_total",
                "events 7 from the agent, 0 to the client tidegate_events_total",
                "first event half within 2.56 s, 99 % within 2.56 s tidegate_time_to_first_event_seconds",
                "first content not measured tidegate_time_to_first_content_seconds",
                "added delay half within 16 µs, 99 % within no bound tidegate_event_delay_seconds",
            ]
        );
    }
}
