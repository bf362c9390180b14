//! What a scrape shows, against the list of what Tidegate measures.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    collections::BTreeMap,
    io::Write,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use http::StatusCode;

use super::{
    Attempt, ClientVersion, Connect, Decision, Direction, EndpointMetrics, Metrics, Outcome, Refusal, Reload,
    RouteMetrics, StatePatch, TokenKind, families,
    strict::{self, Family},
};
use crate::agui::{Encoding, EventKind};

/// The contract, one family a line: name, type, labels. Dashboards and alerts are written against it.
const CONTRACT: &str = "
    tidegate_runs_total counter route agent outcome client_version client_encoding
    tidegate_runs_active gauge route agent
    tidegate_run_duration_seconds histogram route outcome
    tidegate_time_to_first_event_seconds histogram route agent
    tidegate_time_to_first_content_seconds histogram route agent
    tidegate_max_event_gap_seconds histogram route agent
    tidegate_event_delay_seconds histogram route
    tidegate_events_total counter route direction type
    tidegate_event_bytes_total counter route direction encoding
    tidegate_events_merged_total counter route type
    tidegate_merged_bytes_saved_total counter route
    tidegate_event_held_seconds histogram route
    tidegate_events_dropped_total counter route stage reason
    tidegate_events_repaired_total counter route rule
    tidegate_violations_total counter agent rule
    tidegate_conversions_total counter route from to loss
    tidegate_tool_calls_total counter route tool decision
    tidegate_tool_call_duration_seconds histogram route
    tidegate_tokens_total counter route agent kind
    tidegate_state_patches_total counter route result
    tidegate_requests_total counter route status
    tidegate_requests_refused_total counter reason
    tidegate_keepalives_total counter route
    tidegate_client_stall_seconds_total counter route
    tidegate_held_bytes gauge
    tidegate_agent_connect_seconds histogram agent endpoint result
    tidegate_agent_attempts_total counter agent endpoint result
    tidegate_agent_healthy gauge agent endpoint
    tidegate_agent_ejections_total counter agent endpoint
    tidegate_config_reloads_total counter result
    tidegate_config_last_reload_success_timestamp_seconds gauge
    tidegate_config_info gauge hash
    tidegate_draining gauge
    tidegate_build_info gauge version revision
    process_cpu_seconds_total counter
    process_open_fds gauge
    process_max_fds gauge
    process_virtual_memory_bytes gauge
    process_virtual_memory_max_bytes gauge
    process_resident_memory_bytes gauge
    process_start_time_seconds gauge
    process_threads gauge
";

/// Calls everything that measures, with every member of every closed set.
fn exercise(metrics: &Metrics, name: &str) -> (Arc<RouteMetrics>, Arc<EndpointMetrics>) {
    let route = metrics.route(name, "helpdesk", &["search_*".to_owned()]);
    let time = Duration::from_millis(150);
    for outcome in Outcome::ALL {
        for encoding in Encoding::ALL {
            route.run_over(*outcome, ClientVersion::from_declared("0.0.47"), *encoding, time);
        }
    }
    route.run_over(Outcome::Finished, ClientVersion::UNDECLARED, Encoding::Sse, time);
    route.first_event(time);
    route.first_content(time);
    route.max_gap(time);
    route.event_delay(Duration::from_micros(30), 7);
    for direction in Direction::ALL {
        for kind in EventKind::ALL {
            route.events(*direction, *kind, 2);
        }
        for encoding in Encoding::ALL {
            route.event_bytes(*direction, *encoding, 100);
        }
    }
    route.merged(EventKind::TextMessageContent, 3);
    route.saved(90);
    route.event_held(Duration::from_millis(33));
    route.dropped("select", "configured", 1);
    route.repaired("close_message", 1);
    route.violation("message_not_open", 1);
    route.converted(ClientVersion::from_declared("1.0"), ClientVersion::from_declared("0.0.47"), "none", 1);
    Decision::ALL.iter().for_each(|decision| route.tool_call(None, *decision, 1));
    route.tool_call(Some(0), Decision::Allowed, 1);
    route.tool_call_duration(time);
    TokenKind::ALL.iter().for_each(|kind| route.tokens(*kind, 12));
    StatePatch::ALL.iter().for_each(|result| route.state_patch(*result));
    for status in [101, 200, 204, 304, 404, 502, 999] {
        let status = StatusCode::from_u16(status).unwrap();
        route.request(status);
        metrics.request(status);
    }
    route.keepalives(1);
    route.client_stall(time);
    let endpoint = metrics.endpoint("helpdesk", "http://127.0.0.1:8000/agui");
    Connect::ALL.iter().for_each(|result| endpoint.connect(time, *result));
    Attempt::ALL.iter().for_each(|result| endpoint.attempts(*result));
    endpoint.healthy(true);
    endpoint.ejected();
    Refusal::ALL.iter().for_each(|reason| metrics.refused(*reason));
    metrics.draining(false);
    metrics.config_loaded("c0ffee");
    Reload::ALL.iter().for_each(|result| metrics.config_reload(*result));
    metrics.held_bytes().add(4096);
    metrics.held_bytes().sub(96);
    (route, endpoint)
}

fn scrape(metrics: &Metrics) -> BTreeMap<String, Family> {
    let text = metrics.render_openmetrics();
    strict::read(&text).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"))
}

/// The value of one series, given as it stands in the classic text.
fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')).map(|value| value.parse().unwrap())
}

#[test]
fn a_scrape_shows_the_contract_and_nothing_else() {
    let metrics = Metrics::new("0.1.0", "abc");
    let (route, _endpoint) = exercise(&metrics, "support");
    let _active = route.active();
    let mut shown = scrape(&metrics);
    for line in CONTRACT.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let (name, kind) = (words.next().unwrap(), words.next().unwrap());
        let expected: Vec<_> = words.collect();
        let family = shown.remove(name.trim_end_matches("_total")).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(family.kind, kind, "{name}");
        assert_eq!(name.ends_with("_total"), kind == "counter", "{name}");
        assert!(family.help.ends_with('.'), "{name}: {}", family.help);
        assert!(!family.samples.is_empty(), "{name}");
        for (_, labels, _) in &family.samples {
            let labels: Vec<_> =
                labels.iter().map(|(label, _)| label.as_str()).filter(|label| *label != "le").collect();
            assert_eq!(labels, expected, "{name}");
        }
    }
    assert!(shown.is_empty(), "not in the contract: {:?}", shown.keys());
}

#[test]
fn i10_values_come_from_the_configuration_or_the_code() {
    let metrics = Metrics::new("0.1.0", "abc");
    let (route, _endpoint) = exercise(&metrics, "support");
    for declared in ["1.99", "drop table", "\u{1b}[2J", "0.0.61"] {
        let version = ClientVersion::from_declared(declared);
        route.run_over(Outcome::Finished, version, Encoding::Sse, Duration::ZERO);
    }
    let shown = scrape(&metrics);
    let mut versions: Vec<_> = shown["tidegate_runs"]
        .samples
        .iter()
        .flat_map(|(_, labels, _)| labels.iter().filter(|(name, _)| name == "client_version"))
        .map(|(_, value)| value.as_str())
        .collect();
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions, ["0.0.47", "newer", "undeclared"]);
    let types = shown["tidegate_events"].samples.len();
    assert_eq!(types, 2 * EventKind::COUNT);
}

#[test]
fn values_are_what_was_recorded() {
    let metrics = Metrics::new("0.1.0", "abc");
    let (route, _endpoint) = exercise(&metrics, "support");
    let text = metrics.render();
    for (series, expected) in [
        ("tidegate_events_total{route=\"support\",direction=\"in\",type=\"RAW\"}", 2.0),
        ("tidegate_events_total{route=\"support\",direction=\"out\",type=\"other\"}", 2.0),
        ("tidegate_event_bytes_total{route=\"support\",direction=\"out\",encoding=\"protobuf\"}", 100.0),
        ("tidegate_requests_total{route=\"support\",status=\"2xx\"}", 2.0),
        ("tidegate_requests_total{route=\"none\",status=\"5xx\"}", 2.0),
        ("tidegate_requests_refused_total{reason=\"body\"}", 1.0),
        ("tidegate_tool_calls_total{route=\"support\",tool=\"other\",decision=\"masked\"}", 1.0),
        ("tidegate_client_stall_seconds_total{route=\"support\"}", 0.15),
        ("tidegate_held_bytes", 4000.0),
        ("tidegate_draining", 0.0),
        ("tidegate_config_info{hash=\"c0ffee\"}", 1.0),
        ("tidegate_agent_healthy{agent=\"helpdesk\",endpoint=\"http://127.0.0.1:8000/agui\"}", 1.0),
        ("tidegate_event_delay_seconds_bucket{route=\"support\",le=\"0.00002\"}", 0.0),
        ("tidegate_event_delay_seconds_bucket{route=\"support\",le=\"0.00005\"}", 7.0),
        ("tidegate_event_delay_seconds_count{route=\"support\"}", 7.0),
        ("tidegate_run_duration_seconds_bucket{route=\"support\",outcome=\"budget\",le=\"0.1\"}", 0.0),
        ("tidegate_run_duration_seconds_bucket{route=\"support\",outcome=\"budget\",le=\"0.2\"}", 2.0),
        ("tidegate_run_duration_seconds_bucket{route=\"support\",outcome=\"budget\",le=\"409.6\"}", 2.0),
        ("tidegate_run_duration_seconds_count{route=\"support\",outcome=\"finished\"}", 3.0),
    ] {
        assert_eq!(value(&text, series), Some(expected), "{series}\n{text}");
    }
    metrics.config_loaded("decaf");
    let text = metrics.render();
    assert_eq!(value(&text, "tidegate_config_info{hash=\"c0ffee\"}"), None, "only the one in use is shown");
    assert_eq!(value(&text, "tidegate_config_info{hash=\"decaf\"}"), Some(1.0));
    route.events(Direction::In, EventKind::Raw, 1);
    let again = metrics.route("support", "helpdesk", &[]);
    again.events(Direction::In, EventKind::Raw, 1);
    again.event_delay(Duration::from_micros(30), 1);
    let text = metrics.render();
    let series = "tidegate_events_total{route=\"support\",direction=\"in\",type=\"RAW\"}";
    assert_eq!(value(&text, series), Some(4.0), "a route that is loaded again counts on");
    assert_eq!(value(&text, "tidegate_event_delay_seconds_count{route=\"support\"}"), Some(8.0));
}

#[test]
fn a_new_gateway_shows_what_can_be_known_as_zero() {
    let text = Metrics::new("0.1.0", "abc").render();
    for series in [
        "tidegate_draining",
        "tidegate_held_bytes",
        "tidegate_requests_refused_total{reason=\"draining\"}",
        "tidegate_config_reloads_total{result=\"failure\"}",
    ] {
        assert_eq!(value(&text, series), Some(0.0), "{series}\n{text}");
    }
    assert_eq!(value(&text, "tidegate_build_info{version=\"0.1.0\",revision=\"abc\"}"), Some(1.0));
    for limit in ["process_max_fds", "process_virtual_memory_max_bytes"] {
        assert!(value(&text, limit).unwrap() > 0.0, "no limit must not look like one: {limit}");
    }
}

#[test]
fn only_endpoints_in_use_show_whether_they_are_healthy() {
    let metrics = Metrics::new("0.1.0", "abc");
    let endpoint = || metrics.endpoint("helpdesk", "http://127.0.0.1:8000/agui");
    let shown = || {
        let text = metrics.render();
        assert!(text.matches("tidegate_agent_healthy{").count() <= 1, "{text}");
        value(&text, "tidegate_agent_healthy{agent=\"helpdesk\",endpoint=\"http://127.0.0.1:8000/agui\"}")
    };
    let first = endpoint();
    assert_eq!(shown(), Some(1.0));
    first.healthy(false);
    assert_eq!(shown(), Some(0.0));
    let second = endpoint();
    first.gone();
    assert_eq!(shown(), Some(1.0));
    second.gone();
    assert_eq!(shown(), None);
    let third = endpoint();
    assert_eq!(shown(), Some(1.0));
    drop(third);
    assert_eq!(shown(), None);
}

#[test]
fn two_gateways_in_one_process_do_not_mix() {
    let (one, other) = (Metrics::new("0.1.0", "abc"), Metrics::new("0.1.0", "abc"));
    one.refused(Refusal::Body);
    let series = "tidegate_requests_refused_total{reason=\"body\"}";
    assert_eq!((value(&one.render(), series), value(&other.render(), series)), (Some(1.0), Some(0.0)));
}

#[test]
fn a_stream_in_flight_is_counted_until_its_guard_is_gone_however_it_goes() {
    let metrics = Metrics::new("0.1.0", "abc");
    let route = metrics.route("support", "helpdesk", &[]);
    let active = || value(&metrics.render(), "tidegate_runs_active{route=\"support\",agent=\"helpdesk\"}").unwrap();
    let (one, two) = (route.active(), route.active());
    assert!((active() - 2.0).abs() < f64::EPSILON);
    drop(one);
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _two = two;
        panic!("in the middle of a run");
    }));
    assert!(unwound.is_err());
    assert!(active().abs() < f64::EPSILON);
}

#[test]
fn nothing_is_lost_between_threads_and_scrapes() {
    let metrics = Metrics::new("0.1.0", "abc");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let route = metrics.route("support", "helpdesk", &[]);
                for _ in 0..1000 {
                    drop(route.active());
                    route.dropped("select", "configured", 1);
                    route.events(Direction::Out, EventKind::Custom, 1);
                    route.first_event(Duration::from_millis(1));
                    route.event_delay(Duration::from_micros(1), 3);
                    metrics.held_bytes().add(7);
                    metrics.held_bytes().sub(7);
                }
            });
        }
        for _ in 0..20 {
            metrics.upkeep();
            scrape(&metrics);
        }
    });
    let text = metrics.render();
    for (series, expected) in [
        ("tidegate_events_dropped_total{route=\"support\",stage=\"select\",reason=\"configured\"}", 4000.0),
        ("tidegate_events_total{route=\"support\",direction=\"out\",type=\"CUSTOM\"}", 4000.0),
        ("tidegate_time_to_first_event_seconds_count{route=\"support\",agent=\"helpdesk\"}", 4000.0),
        ("tidegate_event_delay_seconds_count{route=\"support\"}", 12000.0),
        ("tidegate_runs_active{route=\"support\",agent=\"helpdesk\"}", 0.0),
        ("tidegate_held_bytes", 0.0),
    ] {
        assert_eq!(value(&text, series), Some(expected), "{series}");
    }
}

#[test]
fn odd_names_in_the_configuration_keep_the_text_readable() {
    for name in ["/a b", "quo\"te", r"back\slash\", r"\n", r"\\", "le=\"1\"", "}, x", "日本", "line\nbreak", ""] {
        let metrics = Metrics::new("0.1.0", "abc");
        exercise(&metrics, name);
        let shown = scrape(&metrics);
        for family in ["tidegate_runs", "tidegate_event_delay_seconds", "tidegate_run_duration_seconds"] {
            for (_, labels, _) in &shown[family].samples {
                assert_eq!(labels[0], ("route".to_owned(), name.to_owned()), "{family}");
            }
        }
    }
}

#[test]
fn a_scrape_is_in_the_same_order_every_time() {
    let metrics = Metrics::new("0.1.0", "abc");
    exercise(&metrics, "support");
    let names = |text: String| text.lines().map(|l| l.rsplit_once(' ').unwrap().0.to_owned()).collect::<Vec<_>>();
    assert_eq!(names(metrics.render()), names(metrics.render()));
}

#[test]
fn every_histogram_has_bounds_that_grow() {
    for family in families::ALL {
        if let families::Kind::Histogram(bounds) = family.kind {
            assert!(!bounds.is_empty() && bounds.is_sorted_by(|a, b| a < b), "{}", family.name);
        }
    }
}

#[test]
fn promtool_finds_nothing_wrong() {
    let metrics = Metrics::new("0.1.0", "abc");
    exercise(&metrics, "support");
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else {
        eprintln!("skipped: promtool is not installed");
        return;
    };
    promtool.stdin.take().unwrap().write_all(metrics.render().as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.trim().is_empty(), "{told}");
}
