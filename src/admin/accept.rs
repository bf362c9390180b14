//! An `Accept` header comes in, the format of the metrics goes out.

use http::{HeaderMap, header::ACCEPT};

/// How metrics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Prometheus text, version 0.0.4.
    Classic,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

impl Format {
    /// The format that these headers ask for. OpenMetrics only for those who name it and do not like the classic
    /// text better; the classic one for everybody else, so that `curl` shows what people know.
    pub(super) fn accepted(headers: &HeaderMap) -> Self {
        let (mut classic, mut open) = (0.0, 0.0);
        for range in headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let (mut weight, mut version) = (1.0_f32, None);
            for (key, value) in parts.filter_map(|part| part.split_once('=')) {
                if key.eq_ignore_ascii_case("q") {
                    weight = value.parse().unwrap_or(0.0);
                } else if key.eq_ignore_ascii_case("version") {
                    version = Some(value.trim_matches('"'));
                }
            }
            if name.eq_ignore_ascii_case("application/openmetrics-text") && version.is_none_or(|v| v == "1.0.0") {
                open = weight.max(open);
            } else if name.eq_ignore_ascii_case("text/plain") && version.is_none_or(|v| v == "0.0.4") {
                classic = weight.max(classic);
            }
        }
        if open > 0.0 && open >= classic { Self::OpenMetrics } else { Self::Classic }
    }

    /// The content type of this format.
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Classic => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn accepted(lines: &[&str]) -> Format {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(ACCEPT, line.parse().unwrap());
        }
        Format::accepted(&headers)
    }

    #[test]
    fn whoever_names_openmetrics_gets_it() {
        for lines in [
            &["application/openmetrics-text"][..],
            &["Application/OpenMetrics-Text; Version=1.0.0"],
            &["application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,\
               text/plain;version=0.0.4;q=0.3,*/*;q=0.2"],
            &["application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,\
               application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;q=0.3"],
            &["text/html", "application/openmetrics-text;version=\"1.0.0\""],
        ] {
            assert_eq!(accepted(lines), Format::OpenMetrics, "{lines:?}");
        }
    }

    #[test]
    fn everybody_else_gets_the_classic_text() {
        for lines in [
            &[][..],
            &["*/*"],
            &["text/html,*/*;q=0.8"],
            &["text/plain"],
            &["text/plain, application/openmetrics-text;q=0.9"],
            &["application/openmetrics-text;q=0"],
            &["application/openmetrics-text;q=x"],
            &["application/openmetrics-text;version=2.0.0"],
            &[";;=,,q="],
        ] {
            assert_eq!(accepted(lines), Format::Classic, "{lines:?}");
        }
    }
}
