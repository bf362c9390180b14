//! A format and a filter come in; from then on what the process logs goes to standard error.

use std::io::{self, IsTerminal};

use thiserror::Error;
use tracing::{Dispatch, level_filters::LevelFilter};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::config::LogFormat;

/// Why logging could not begin.
#[derive(Debug, Error)]
pub enum LogError {
    /// The filter cannot be read; the text says what is wrong with it.
    #[error("log.level {filter:?}: {reason}")]
    Filter {
        /// As configured.
        filter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Somebody in this process has begun to log before.
    #[error("logging has already begun")]
    Begun,
}

/// Begins to log. `filter` is a level (`info`) or a list of `target=level` (`info,run=off`).
///
/// # Errors
///
/// If the filter cannot be read, or when called twice.
pub fn init(format: LogFormat, filter: &str) -> Result<(), LogError> {
    let colours = io::stderr().is_terminal();
    let dispatch = subscriber(format, filter, colours, io::stderr)?;
    tracing::dispatcher::set_global_default(dispatch).map_err(|_| LogError::Begun)
}

fn subscriber<W>(format: LogFormat, filter: &str, colours: bool, writer: W) -> Result<Dispatch, LogError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt()
        .with_env_filter(read_filter(filter)?)
        .with_writer(writer)
        // What cannot be written is lost: telling that on standard error too panics when that is what broke.
        .log_internal_errors(false);
    Ok(match format {
        LogFormat::Json => {
            Dispatch::new(builder.json().flatten_event(true).with_current_span(false).with_span_list(false).finish())
        }
        LogFormat::Pretty => Dispatch::new(builder.with_ansi(colours).finish()),
    })
}

fn read_filter(filter: &str) -> Result<EnvFilter, LogError> {
    let bad = |reason: String| LogError::Filter { filter: filter.to_owned(), reason };
    for part in filter.split(',').map(str::trim) {
        // The library takes a misspelled level for the name of a target, and would log nothing else.
        if part.is_empty() || !part.contains(['=', '[']) && part.parse::<LevelFilter>().is_err() {
            return Err(bad(format!("{part:?} is no level: off, error, warn, info, debug, trace, or target=level")));
        }
    }
    EnvFilter::try_new(filter).map_err(|error| bad(error.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
pub(super) mod tests {
    use std::{
        process::{Command, Stdio},
        sync::{Arc, Mutex},
    };

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is written to the log while `act` runs.
    pub(in crate::observe) fn logged(format: LogFormat, filter: &str, act: impl FnOnce()) -> String {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let dispatch = subscriber(format, filter, false, move || writer.clone()).unwrap();
        tracing::dispatcher::with_default(&dispatch, act);
        let bytes = buffer.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn json_is_one_object_a_line_with_the_fields_beside_the_message() {
        let text = logged(LogFormat::Json, "info", || {
            let _span = tracing::info_span!("outer", hidden = 1).entered();
            tracing::warn!(target: "config", path = "a\"b", "file changed");
            tracing::debug!("not this");
        });
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["level"], "WARN");
        assert_eq!(line["target"], "config");
        assert_eq!(line["message"], "file changed");
        assert_eq!(line["path"], "a\"b");
        assert_eq!(line.as_object().unwrap().len(), 5, "{text}");
    }

    #[test]
    fn pretty_is_one_line_for_people() {
        let text = logged(LogFormat::Pretty, "info", || tracing::info!(target: "run", route = "/x", "run over"));
        assert!(text.ends_with("INFO run: run over route=\"/x\"\n"), "{text:?}");
    }

    #[test]
    fn a_filter_silences_one_target_and_keeps_the_rest() {
        let text = logged(LogFormat::Pretty, "info,run=off", || {
            tracing::info!(target: "run", "silent");
            tracing::info!(target: "config", "heard");
        });
        assert!(text.contains("heard") && !text.contains("silent"), "{text}");
    }

    #[test]
    fn a_bad_filter_is_an_error_that_says_what_is_wrong() {
        for (filter, wrong) in [("inof", "inof"), ("", "\"\""), ("info,run=loud", "run=loud"), ("a=b=c", "a=b=c")] {
            let error = subscriber(LogFormat::Json, filter, false, io::sink).map(|_| ()).unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with("log.level") && text.contains(wrong), "{text}");
        }
    }

    /// Set in the process that the test below starts.
    const CHILD: &str = "OBSERVE_LOG_TO_A_BROKEN_PIPE";

    #[test]
    fn a_broken_standard_error_does_not_end_the_process() {
        if std::env::var_os(CHILD).is_some() {
            init(LogFormat::Json, "info").unwrap();
            for _ in 0..100 {
                tracing::info!("into nowhere");
            }
            return;
        }
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let test = "observe::log::tests::a_broken_standard_error_does_not_end_the_process";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", test])
            .env(CHILD, "1")
            .stdout(Stdio::piped())
            .stderr(writer)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && told.contains("1 passed"), "{}: {told}", output.status);
    }
}
