//! The order to read the configuration again comes in, by SIGHUP or as a change of its files; the configuration as it is
//! now goes out, or what is wrong with it. What becomes of it is decided elsewhere.

use std::{future::pending, io, sync::Arc, time::Duration};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::{JoinHandle, spawn_blocking},
    time::{Interval, MissedTickBehavior, interval},
};

use crate::config::{Config, Errors, Files, Place, Problem, Sources};

/// How often files are looked at.
const EVERY: Duration = Duration::from_secs(1);

/// Looks at what a configuration was made of.
#[derive(Debug)]
pub struct Watch {
    sources: Arc<Sources>,
    /// As they were when they were read last.
    read: Files,
    /// What they said since, at the last look: not read before they have stayed so, for files are written bit by bit.
    changing: Option<Files>,
    asked: bool,
    task: Option<Task>,
}

/// What is waited for. A file system may take its time, and nothing else waits for it.
#[derive(Debug)]
enum Task {
    Look(JoinHandle<Files>),
    Load(JoinHandle<(Result<Config, Errors>, Files)>, Cause),
}

/// Why the configuration was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Somebody asked for it.
    Asked,
    /// Something has changed.
    Changed,
}

/// When to look.
#[derive(Debug)]
pub struct Orders {
    hangup: Signal,
    ticks: Interval,
}

impl Orders {
    /// From now on SIGHUP does not end the process.
    ///
    /// # Errors
    ///
    /// A system that has no signals to spare.
    pub fn new() -> io::Result<Self> {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self { hangup: signal(SignalKind::hangup())?, ticks })
    }

    /// Waits until somebody asks.
    pub async fn asked(&mut self) {
        asked(&mut self.hangup).await;
    }
}

async fn asked(hangup: &mut Signal) {
    if hangup.recv().await.is_none() {
        pending::<()>().await;
    }
}

impl Watch {
    /// Looks at these sources, whose files said this.
    pub fn new(sources: Sources, read: Files) -> Self {
        Self { sources: Arc::new(sources), read, changing: None, asked: false, task: None }
    }

    /// Waits until the configuration was read again. Whoever stops waiting may wait again.
    pub async fn next(&mut self, orders: &mut Orders) -> (Cause, Result<Config, Errors>) {
        let Orders { hangup, ticks } = orders;
        loop {
            if self.task.is_none() && std::mem::take(&mut self.asked) {
                self.load(Cause::Asked);
            }
            tokio::select! {
                () = asked(hangup) => self.asked = true,
                _ = ticks.tick(), if self.task.is_none() => {
                    let read = self.read.clone();
                    self.task = Some(Task::Look(spawn_blocking(move || read.now())));
                }
                found = look(&mut self.task) => match found {
                    Found::Files(now) => self.looked(now),
                    Found::Config(loaded, cause) => {
                        let (loaded, read) = *loaded;
                        (self.read, self.changing) = (read, None);
                        return (cause, loaded);
                    }
                    Found::Nothing => {}
                }
            }
        }
    }

    fn looked(&mut self, now: Files) {
        self.changing = if now == self.read {
            None
        } else if self.changing.as_ref() == Some(&now) {
            self.load(Cause::Changed);
            None
        } else {
            Some(now)
        };
    }

    fn load(&mut self, cause: Cause) {
        let sources = self.sources.clone();
        self.task = Some(Task::Load(spawn_blocking(move || load(&sources)), cause));
    }
}

/// What a task came to.
enum Found {
    Files(Files),
    Config(Box<(Result<Config, Errors>, Files)>, Cause),
    Nothing,
}

/// Waits for the task, which is over then.
async fn look(task: &mut Option<Task>) -> Found {
    let found = match task {
        None => pending().await,
        Some(Task::Look(look)) => look.await.map_or(Found::Nothing, Found::Files),
        Some(Task::Load(load, cause)) => {
            let cause = *cause;
            load.await.map_or(Found::Nothing, |loaded| Found::Config(Box::new(loaded), cause))
        }
    };
    *task = None;
    found
}

/// Reads what can be read again.
fn load(sources: &Sources) -> (Result<Config, Errors>, Files) {
    let once = sources.file.as_deref().filter(|path| path.metadata().is_ok_and(|about| !about.is_file()));
    if let Some(path) = once {
        let place = Place::File(path.display().to_string());
        let what = "is no plain file, and cannot be read again; start anew to use another".into();
        return (Err(Problem { place, key: String::new(), what }.into()), Files::default());
    }
    Config::load_noting(sources)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    fn config(port: u16) -> String {
        format!("listen = \"127.0.0.1:{port}\"\nagent = \"http://127.0.0.1:1/\"\n")
    }

    struct Written {
        folder: tempfile::TempDir,
        watch: Watch,
        orders: Orders,
    }

    impl Written {
        fn new(text: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("c.toml"), text).unwrap();
            let sources = Sources { file: Some(folder.path().join("c.toml")), ..Sources::default() };
            let (_, files) = Config::load_noting(&sources);
            Self { folder, watch: Watch::new(sources, files), orders: Orders::new().unwrap() }
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.folder.path().join(name), text).unwrap();
        }

        /// What is read within some seconds.
        async fn next(&mut self) -> Option<(Cause, Result<Config, Errors>)> {
            tokio::time::timeout(EVERY * 4, self.watch.next(&mut self.orders)).await.ok()
        }
    }

    #[tokio::test]
    async fn a_changed_file_is_read_once_and_one_that_stays_is_not() {
        let mut written = Written::new(&config(1));
        assert!(written.next().await.is_none());
        written.write("c.toml", &config(2));
        let (cause, loaded) = written.next().await.unwrap();
        assert_eq!((cause, loaded.unwrap().listen[0].port()), (Cause::Changed, 2));
        written.write("c.toml", "listen = [");
        assert!(written.next().await.unwrap().1.is_err());
        assert!(written.next().await.is_none(), "what is wrong is told once");
        fs::remove_file(written.folder.path().join("c.toml")).unwrap();
        assert!(written.next().await.unwrap().1.unwrap_err().to_string().contains("cannot be read"));
        written.write("c.toml", &config(3));
        assert_eq!(written.next().await.unwrap().1.unwrap().listen[0].port(), 3);
    }

    #[tokio::test]
    async fn a_changed_secret_is_a_change() {
        let text = "listen = \"127.0.0.1:1\"\n[agents.a]\nurl = \"http://127.0.0.1:1/\"\n\
                    headers = { set = { authorization = { file = \"token\" } } }\n[[routes]]\nagent = \"a\"\n";
        let mut written = Written::new(text);
        written.write("token", "one");
        let (_, loaded) = written.next().await.unwrap();
        let value = |config: &Config| config.agents[0].headers.set[0].1.to_str().unwrap().to_owned();
        assert_eq!(value(&loaded.unwrap()), "one");
        written.write("token", "two");
        let (_, loaded) = written.next().await.unwrap();
        assert_eq!(value(&loaded.unwrap()), "two");
    }
}
