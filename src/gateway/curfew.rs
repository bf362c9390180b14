//! The body of an answer whose client shares its connection among several comes in; when it has to be over it is, also
//! if the client takes nothing: over HTTP/2 such a body is asked for nothing, and so looks at no clock of its own.

use std::{
    cell::RefCell,
    rc::{Rc, Weak},
    time::Instant,
};

use tokio::task::AbortHandle;

use super::places::Place;

/// The end of a body's time. Dropped with the body, before or after.
#[derive(Debug)]
pub struct Curfew {
    waiting: AbortHandle,
    /// The run's place, which is free for another from then on.
    place: Rc<RefCell<Option<Place>>>,
}

impl Curfew {
    /// Tells this body at this time that it `has_to_be_over`.
    pub fn of<B: 'static>(body: &Rc<RefCell<B>>, ends: Instant, has_to_be_over: fn(&mut B)) -> Self {
        let (body, place) = (Rc::downgrade(body), Rc::default());
        let waiting = wait(body, ends, has_to_be_over, Rc::clone(&place));
        Self { waiting: tokio::task::spawn_local(waiting).abort_handle(), place }
    }

    /// Keeps this place for the run until then.
    pub fn keeps(&self, place: Option<Place>) {
        *self.place.borrow_mut() = place;
    }
}

impl Drop for Curfew {
    fn drop(&mut self) {
        // A run that ended early leaves nothing behind that waits for its last moment.
        self.waiting.abort();
        self.place.take();
    }
}

async fn wait<B>(body: Weak<RefCell<B>>, ends: Instant, over: fn(&mut B), place: Rc<RefCell<Option<Place>>>) {
    tokio::time::sleep_until(ends.into()).await;
    if let Some(body) = body.upgrade() {
        over(&mut body.borrow_mut());
    }
    place.take();
}
