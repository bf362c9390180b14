//! The exporter's text comes in, sorted families go out in one of two formats: the exporter itself writes only
//! the classic one, in an order that changes from scrape to scrape.

use std::fmt::Write;

use super::{
    families::{Family, Kind},
    tallies::DelaysSnapshot,
};

/// Families with their samples, ready to be written.
#[derive(Debug, Default)]
pub(super) struct Exposition(Vec<Block>);

/// One family as it is written.
#[derive(Debug)]
struct Block {
    name: String,
    kind: String,
    help: String,
    samples: Vec<Sample>,
}

/// One line of a family.
#[derive(Debug)]
pub(super) struct Sample {
    name: String,
    /// What stands between the braces, escaped; without `le`.
    labels: String,
    /// The upper bound of a bucket.
    le: Option<String>,
    value: String,
}

impl Exposition {
    /// Reads the classic text that the exporter wrote.
    pub(super) fn read(text: &str) -> Self {
        let mut blocks: Vec<Block> = Vec::new();
        let mut help = "";
        for line in text.lines() {
            if let Some((_, text)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
                help = text;
            } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
                let help = std::mem::take(&mut help).to_owned();
                blocks.push(Block { name: name.to_owned(), kind: kind.to_owned(), help, samples: Vec::new() });
            } else if let (Some(sample), Some(block)) = (Sample::read(line), blocks.last_mut()) {
                block.samples.push(sample);
            }
        }
        Self(blocks)
    }

    /// Adds a family that the exporter does not hold; without samples there is nothing to add.
    pub(super) fn push(&mut self, family: &Family, samples: Vec<Sample>) {
        if samples.is_empty() {
            return;
        }
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        };
        self.0.push(Block {
            name: family.name.to_owned(),
            kind: kind.to_owned(),
            help: family.help.to_owned(),
            samples,
        });
    }

    /// The classic format, version 0.0.4.
    pub(super) fn classic(self) -> String {
        let mut out = String::new();
        for block in self.sorted() {
            let _ = writeln!(out, "# HELP {} {}\n# TYPE {} {}", block.name, block.help, block.name, block.kind);
            for sample in &block.samples {
                sample.write(&mut out, sample.le.as_deref());
            }
        }
        out
    }

    /// OpenMetrics 1.0: a counter's family is named without `_total`, bounds are written as floats, units are
    /// named, and the end is marked.
    pub(super) fn openmetrics(self) -> String {
        let mut out = String::new();
        for block in self.sorted() {
            let name = match block.kind.as_str() {
                "counter" => block.name.trim_end_matches("_total"),
                _ => &block.name,
            };
            let _ = writeln!(out, "# TYPE {name} {}", block.kind);
            if let Some(unit) = ["seconds", "bytes"].into_iter().find(|unit| name.ends_with(unit)) {
                let _ = writeln!(out, "# UNIT {name} {unit}");
            }
            let _ = writeln!(out, "# HELP {name} {}", block.help);
            for sample in &block.samples {
                let le = sample.le.as_deref().map(float);
                sample.write(&mut out, le.as_deref());
            }
        }
        out.push_str("# EOF\n");
        out
    }

    /// By name, then by labels; the lines of one histogram stay in their order.
    fn sorted(mut self) -> Vec<Block> {
        self.0.sort_by(|a, b| a.name.cmp(&b.name));
        for block in &mut self.0 {
            block.samples.sort_by(|a, b| a.labels.cmp(&b.labels));
        }
        self.0
    }
}

impl Sample {
    /// Reads `name value` or `name{labels} value`; anything else is no sample.
    fn read(line: &str) -> Option<Self> {
        let (series, value) = line.rsplit_once(' ')?;
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}')?),
            None => (series, ""),
        };
        // The exporter writes the bound last, and no quote in a value is without a backslash before it.
        let bucket = name.ends_with("_bucket");
        let (labels, le) = match labels.rsplit_once("le=\"").filter(|_| bucket) {
            Some((before, bound)) => (before.trim_end_matches(','), bound.strip_suffix('"').map(str::to_owned)),
            None => (labels, None),
        };
        Some(Self { name: name.to_owned(), labels: labels.to_owned(), le, value: value.to_owned() })
    }

    fn write(&self, out: &mut String, le: Option<&str>) {
        out.push_str(&self.name);
        if !self.labels.is_empty() || le.is_some() {
            out.push('{');
            out.push_str(&self.labels);
            if let Some(le) = le {
                let comma = if self.labels.is_empty() { "" } else { "," };
                let _ = write!(out, "{comma}le=\"{le}\"");
            }
            out.push('}');
        }
        out.push(' ');
        out.push_str(&self.value);
        out.push('\n');
    }
}

/// The one sample of a counter or gauge with these label values.
pub(super) fn plain<const N: usize>(family: &Family, values: [&str; N], value: f64) -> Sample {
    Sample { name: family.name.to_owned(), labels: labels(family, values), le: None, value: value.to_string() }
}

/// The samples of one histogram of delays.
pub(super) fn delays<const N: usize>(family: &Family, values: [&str; N], delays: &DelaysSnapshot) -> Vec<Sample> {
    let labels = labels(family, values);
    let sample = |suffix: &str, le: Option<String>, value: String| Sample {
        name: format!("{}_{suffix}", family.name),
        labels: labels.clone(),
        le,
        value,
    };
    let mut samples: Vec<_> = delays
        .cumulative
        .iter()
        .map(|(bound, count)| sample("bucket", Some(bound.to_string()), count.to_string()))
        .collect();
    samples.push(sample("bucket", Some("+Inf".to_owned()), delays.count.to_string()));
    samples.push(sample("sum", None, delays.sum.to_string()));
    samples.push(sample("count", None, delays.count.to_string()));
    samples
}

fn labels<const N: usize>(family: &Family, values: [&str; N]) -> String {
    let mut out = String::new();
    for (name, value) in family.labels.iter().zip(values) {
        let comma = if out.is_empty() { "" } else { "," };
        let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(out, "{comma}{name}=\"{value}\"");
    }
    out
}

/// A bound as OpenMetrics writes floats: never without a point or an exponent, small ones with an exponent.
fn float(bound: &str) -> String {
    match bound.parse::<f64>() {
        Ok(value) if value.is_finite() && value != 0.0 && value < 1e-4 => {
            let text = format!("{value:e}");
            match text.split_once("e-") {
                Some((digits, exponent)) => format!("{digits}e-{exponent:0>2}"),
                None => text,
            }
        }
        Ok(value) if value.is_finite() && !bound.contains(['.', 'e']) => format!("{bound}.0"),
        _ => bound.to_owned(),
    }
}
