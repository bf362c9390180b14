//! A format and a filter come in, and other filters later; what the process logs goes to standard error.

use std::io::{self, IsTerminal};

use thiserror::Error;
use tracing::Dispatch;
use tracing_subscriber::{EnvFilter, fmt::MakeWriter, reload};

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

/// The process's log, once it has begun.
pub struct Log {
    filter: String,
    change: Change,
}

/// Puts another filter in the place of the one in use.
type Change = Box<dyn Fn(EnvFilter) -> Result<(), reload::Error>>;

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("filter", &self.filter).finish_non_exhaustive()
    }
}

impl Log {
    /// Logs what this filter lets through from now on.
    ///
    /// # Errors
    ///
    /// If the filter cannot be read. Then the former one stays.
    pub fn filter(&mut self, filter: &str) -> Result<(), LogError> {
        if self.filter == filter {
            return Ok(());
        }
        let bad = |reason: String| LogError::Filter { filter: filter.to_owned(), reason };
        (self.change)(read_filter(filter)?).map_err(|error| bad(error.to_string()))?;
        filter.clone_into(&mut self.filter);
        Ok(())
    }
}

/// Begins to log. `filter` is a level (`info`) or a list of `target=level` (`info,run=off`).
///
/// # Errors
///
/// If the filter cannot be read, or when called twice.
pub fn init(format: LogFormat, filter: &str) -> Result<Log, LogError> {
    let colours = io::stderr().is_terminal();
    let (dispatch, log) = subscriber(format, filter, colours, io::stderr)?;
    tracing::dispatcher::set_global_default(dispatch).map_err(|_| LogError::Begun)?;
    Ok(log)
}

fn subscriber<W>(format: LogFormat, filter: &str, colours: bool, writer: W) -> Result<(Dispatch, Log), LogError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt()
        .with_env_filter(read_filter(filter)?)
        .with_writer(writer)
        // What cannot be written is lost: telling that on standard error too panics when that is what broke.
        .log_internal_errors(false);
    let (dispatch, change): (_, Change) = match format {
        LogFormat::Json => {
            let builder = builder.json().flatten_event(true).with_current_span(false).with_span_list(false);
            let builder = builder.with_filter_reloading();
            let handle = builder.reload_handle();
            (Dispatch::new(builder.finish()), Box::new(move |filter| handle.reload(filter)))
        }
        LogFormat::Pretty => {
            let builder = builder.with_ansi(colours).with_filter_reloading();
            let handle = builder.reload_handle();
            (Dispatch::new(builder.finish()), Box::new(move |filter| handle.reload(filter)))
        }
    };
    Ok((dispatch, Log { filter: filter.to_owned(), change }))
}

fn read_filter(filter: &str) -> Result<EnvFilter, LogError> {
    let bad = |reason: String| LogError::Filter { filter: filter.to_owned(), reason };
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
        let (dispatch, _) = subscriber(format, filter, false, move || writer.clone()).unwrap();
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
        for (filter, wrong) in [("info,run=loud", "run=loud"), ("a=b=c", "a=b=c")] {
            let error = subscriber(LogFormat::Json, filter, false, io::sink).map(|_| ()).unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with("log.level") && text.contains(wrong), "{text}");
        }
    }

    #[test]
    fn another_filter_is_in_use_at_once_and_a_bad_one_changes_nothing() {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let (dispatch, mut log) = subscriber(LogFormat::Pretty, "warn", false, move || writer.clone()).unwrap();
        tracing::dispatcher::with_default(&dispatch, || {
            for filter in ["warn", "debug", "a=b=c", "info,run=off"] {
                assert_eq!(log.filter(filter).is_err(), filter == "a=b=c");
                tracing::debug!("debug after {filter}");
                tracing::info!(target: "run", "info after {filter}");
            }
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        let said: Vec<_> = text.lines().filter_map(|line| Some(line.split_once(": ")?.1)).collect();
        assert_eq!(said, ["debug after debug", "info after debug", "debug after a=b=c", "info after a=b=c"]);
    }

    /// Set in the process that the test below starts.
    const CHILD: &str = "OBSERVE_LOG_TO_A_BROKEN_PIPE";

    #[test]
    fn a_broken_standard_error_does_not_end_the_process() {
        if std::env::var_os(CHILD).is_some() {
            let _log = init(LogFormat::Json, "info").unwrap();
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
