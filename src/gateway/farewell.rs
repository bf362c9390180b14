//! The order to shut down and what a connection does come in; when it is time to close the connection goes out. A client
//! learns over HTTP/2 that it is to go, and over HTTP/1.1 with its next answer: nothing that was on its way is lost.

use std::{cell::Cell, rc::Rc, task::Context, time::Instant};

use http::Version;

use super::{
    alarm::Alarm,
    drain::{Drain, GRACE, Registration},
    socket::Line,
};

/// When one connection is closed.
#[derive(Debug)]
pub struct Farewell {
    drain: Rc<Drain>,
    line: Rc<Line>,
    /// The version of its last request.
    asked: Rc<Cell<Option<Version>>>,
    registration: Option<Registration>,
    alarm: Alarm,
    /// Since when nothing is asked, as far as that was looked at.
    quiet: Option<Instant>,
    said: bool,
}

impl Farewell {
    /// For the connection on this line; whoever serves it notes the versions of its requests.
    pub fn new(drain: Rc<Drain>, line: Rc<Line>, asked: Rc<Cell<Option<Version>>>) -> Self {
        Self { drain, line, asked, registration: None, alarm: Alarm::default(), quiet: None, said: false }
    }

    /// Whether it is time to close it, which is said once. Asked after the connection has done what there was to do.
    pub fn is_due(&mut self, cx: &mut Context<'_>) -> bool {
        if self.said {
            return false;
        }
        self.registration.get_or_insert_with(|| self.drain.register(cx.waker()));
        let Some(begun) = self.drain.begun() else { return false };
        self.said = match self.asked.get() {
            Some(Version::HTTP_2) => true,
            // Its next request is waited for, or the rest of it.
            Some(_) if self.line.has_begun() || self.line.has_head() => {
                self.quiet = None;
                false
            }
            None if self.line.has_begun() && !self.line.has_head() => false,
            // What looks like a head that is there without a request is the beginning of HTTP/2.
            asked => {
                let quiet = *self.quiet.get_or_insert_with(|| if asked.is_some() { Instant::now() } else { begun });
                self.alarm.poll(quiet + GRACE, cx).is_ready()
            }
        };
        self.said
    }
}
