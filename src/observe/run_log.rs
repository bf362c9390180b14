//! The facts of a run that is over come in, one log line with target `run` goes out.
//!
//! What must not be a metric label (I10) is told here: identifiers, addresses, versions as declared.

use std::{net::IpAddr, sync::Arc, time::Duration};

use super::{
    delay::DelayStats,
    labels::{Outcome, TokenKind},
    trace::TraceParent,
};

use crate::agui::Encoding;

/// How much of a text from traffic is logged, in bytes.
const MAX_TEXT: usize = 256;

/// What one line of the run log tells. What is not known stays `None` or zero and is left out, or told as zero.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// The route's name.
    pub route: Arc<str>,
    /// The agent's name.
    pub agent: Arc<str>,
    /// The url that was asked, as configured and without any secret.
    pub endpoint: Option<Arc<str>>,
    /// `threadId` of the input.
    pub thread_id: Option<String>,
    /// `runId` of the input.
    pub run_id: Option<String>,
    /// `parentRunId` of the input.
    pub parent_run_id: Option<String>,
    /// Whom the run is for: the peer, or whom a trusted proxy names.
    pub client_address: Option<IpAddr>,
    /// The name of the key that the client showed, or whom its token names; never the key.
    pub key: Option<Arc<str>>,
    /// The version that the client declared or is configured with.
    pub client_version: Option<String>,
    /// The version that the agent declared or is configured with.
    pub agent_version: Option<String>,
    /// How the client is answered.
    pub client_encoding: Option<Encoding>,
    /// How the agent answered.
    pub agent_encoding: Option<Encoding>,
    /// How the run ended. [`Outcome::ClientGone`] until somebody says otherwise, because a run that is dropped
    /// halfway is one whose client left.
    pub outcome: Outcome,
    /// The `code` of the `RUN_ERROR` that ended it, the gateway's or the agent's.
    pub code: Option<String>,
    /// From the request being read to the first event.
    pub first_event: Option<Duration>,
    /// From the request being read to the first delta that a person sees.
    pub first_content: Option<Duration>,
    /// From the request being read to the last byte being written.
    pub lasted: Duration,
    /// The longest silence of the agent while the run went on, also the one before its end.
    pub max_gap: Option<Duration>,
    /// What the gateway added.
    pub delay: DelayStats,
    /// Events from the agent.
    pub events_in: u64,
    /// Events to the client.
    pub events_out: u64,
    /// Bytes of the agent's events: of SSE the JSON alone, of protobuf whole frames.
    pub bytes_in: u64,
    /// Bytes of the client's events, likewise.
    pub bytes_out: u64,
    /// Events merged into another.
    pub merged: u64,
    /// Events dropped on purpose.
    pub dropped: u64,
    /// Tool calls that the agent started.
    pub tool_calls: u64,
    /// Tokens that the agent reported, by [`TokenKind::index`].
    pub tokens: [u64; TokenKind::COUNT],
    /// The trace that the run belongs to.
    pub trace: Option<TraceParent>,
}

impl RunRecord {
    /// A run of this route at this agent, of which nothing more is known yet.
    pub fn new(route: Arc<str>, agent: Arc<str>) -> Self {
        Self {
            route,
            agent,
            endpoint: None,
            thread_id: None,
            run_id: None,
            parent_run_id: None,
            client_address: None,
            key: None,
            client_version: None,
            agent_version: None,
            client_encoding: None,
            agent_encoding: None,
            outcome: Outcome::ClientGone,
            code: None,
            first_event: None,
            first_content: None,
            lasted: Duration::ZERO,
            max_gap: None,
            delay: DelayStats::default(),
            events_in: 0,
            events_out: 0,
            bytes_in: 0,
            bytes_out: 0,
            merged: 0,
            dropped: 0,
            tool_calls: 0,
            tokens: [0; TokenKind::COUNT],
            trace: None,
        }
    }

    /// Writes the line. Called once, when the run is over.
    pub fn log(&self) {
        tracing::info!(
            target: "run",
            route = &*self.route,
            agent = &*self.agent,
            endpoint = self.endpoint.as_deref(),
            thread_id = self.thread_id.as_deref().map(cut),
            run_id = self.run_id.as_deref().map(cut),
            parent_run_id = self.parent_run_id.as_deref().map(cut),
            client_address = self.client_address.map(|address| address.to_string()),
            key = self.key.as_deref().map(cut),
            client_version = self.client_version.as_deref().map(cut),
            agent_version = self.agent_version.as_deref().map(cut),
            client_encoding = self.client_encoding.map(Encoding::as_str),
            agent_encoding = self.agent_encoding.map(Encoding::as_str),
            outcome = self.outcome.as_str(),
            code = self.code.as_deref().map(cut),
            first_event_ms = self.first_event.map(millis),
            first_content_ms = self.first_content.map(millis),
            duration_ms = millis(self.lasted),
            max_gap_ms = self.max_gap.map(millis),
            delay_p50_us = self.delay.p50().map(micros),
            delay_max_us = self.delay.max().map(micros),
            events_in = self.events_in,
            events_out = self.events_out,
            bytes_in = self.bytes_in,
            bytes_out = self.bytes_out,
            merged = self.merged,
            dropped = self.dropped,
            tool_calls = self.tool_calls,
            tokens_input = self.reported(TokenKind::Input),
            tokens_output = self.reported(TokenKind::Output),
            tokens_cached_input = self.reported(TokenKind::CachedInput),
            tokens_cache_write_input = self.reported(TokenKind::CacheWriteInput),
            tokens_reasoning = self.reported(TokenKind::Reasoning),
            trace_id = self.trace.map(|trace| trace.trace_id()),
            "run over"
        );
    }

    fn reported(&self, kind: TokenKind) -> Option<u64> {
        self.tokens.get(kind.index()).copied().filter(|n| *n > 0)
    }
}

/// The beginning of a text from traffic, so that nobody fills the log with one.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT)]
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::{config::LogFormat, observe::log::tests::logged};

    fn full() -> RunRecord {
        let mut delay = DelayStats::default();
        delay.add(Duration::from_micros(100), 3);
        RunRecord {
            endpoint: Some("http://127.0.0.1:8000/agui".into()),
            thread_id: Some("t-1".into()),
            run_id: Some("r-1".into()),
            parent_run_id: Some("r-0".into()),
            client_address: Some([127, 0, 0, 1].into()),
            key: Some("web".into()),
            client_version: Some("0.0.47".into()),
            agent_version: Some("1.1".into()),
            client_encoding: Some(Encoding::Sse),
            agent_encoding: Some(Encoding::Protobuf),
            outcome: Outcome::Truncated,
            code: Some("UPSTREAM_TRUNCATED".into()),
            first_event: Some(Duration::from_millis(12)),
            first_content: Some(Duration::from_millis(34)),
            lasted: Duration::from_millis(5678),
            max_gap: Some(Duration::from_millis(910)),
            delay,
            events_in: 11,
            events_out: 12,
            bytes_in: 13,
            bytes_out: 14,
            merged: 15,
            dropped: 16,
            tool_calls: 17,
            tokens: [21, 22, 23, 24, 25],
            trace: TraceParent::parse(b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            ..RunRecord::new("support".into(), "helpdesk".into())
        }
    }

    #[test]
    fn a_run_is_one_flat_json_object_with_everything_in_it() {
        let text = logged(LogFormat::Json, "info", || full().log());
        assert_eq!(text.lines().count(), 1, "{text}");
        let mut line: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert!(line.remove("timestamp").unwrap().as_str().unwrap().ends_with('Z'));
        let expected = serde_json::json!({
            "level": "INFO", "target": "run", "message": "run over",
            "route": "support", "agent": "helpdesk", "endpoint": "http://127.0.0.1:8000/agui",
            "thread_id": "t-1", "run_id": "r-1", "parent_run_id": "r-0",
            "client_address": "127.0.0.1", "key": "web",
            "client_version": "0.0.47", "agent_version": "1.1",
            "client_encoding": "sse", "agent_encoding": "protobuf",
            "outcome": "truncated", "code": "UPSTREAM_TRUNCATED",
            "first_event_ms": 12, "first_content_ms": 34, "duration_ms": 5678, "max_gap_ms": 910,
            "delay_p50_us": line["delay_p50_us"], "delay_max_us": 100,
            "events_in": 11, "events_out": 12, "bytes_in": 13, "bytes_out": 14,
            "merged": 15, "dropped": 16, "tool_calls": 17,
            "tokens_input": 21, "tokens_output": 22, "tokens_cached_input": 23,
            "tokens_cache_write_input": 24, "tokens_reasoning": 25,
            "trace_id": "0af7651916cd43dd8448eb211c80319c",
        });
        assert_eq!(serde_json::Value::Object(line), expected);
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let record = RunRecord::new("support".into(), "helpdesk".into());
        let text = logged(LogFormat::Json, "info", || record.log());
        let line: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(line["outcome"], "client_gone");
        for absent in ["thread_id", "code", "first_event_ms", "delay_p50_us", "tokens_input", "trace_id"] {
            assert!(!line.contains_key(absent), "{absent} in {text}");
        }
        assert!(!text.contains("null"), "{text}");
    }

    #[test]
    fn texts_from_traffic_are_cut_between_characters() {
        let long = "é".repeat(1000);
        assert_eq!(cut(&long), "é".repeat(128));
        assert_eq!(cut(&format!("a{long}")), format!("a{}", "é".repeat(127)));
        let record = RunRecord { run_id: Some(long), ..full() };
        assert!(logged(LogFormat::Json, "info", || record.log()).len() < 1800);
    }

    #[test]
    fn a_terminal_sees_no_control_characters_from_traffic() {
        let hostile = "\u{1b}[31mred\r\n2026 ERROR forged\u{7}\u{9b}\u{202e}";
        for format in [LogFormat::Pretty, LogFormat::Json] {
            let record = RunRecord { run_id: Some(hostile.into()), code: Some(hostile.into()), ..full() };
            let text = logged(format, "info", || record.log());
            assert_eq!(text.lines().count(), 1, "{text}");
            let controls: Vec<_> = text.trim_end().chars().filter(|c| c.is_control()).collect();
            if format == LogFormat::Pretty {
                assert!(controls.is_empty() && !text.contains('\u{202e}'), "{controls:?} in {text:?}");
            } else {
                assert!(!text.trim_end().contains(['\u{1b}', '\r', '\n', '\u{7}']), "{text:?}");
            }
        }
    }
}
