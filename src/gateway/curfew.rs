//! A stream to a client that shares its connection among runs comes in; when its run has to be over it is, also if the
//! client takes nothing: over HTTP/2 such a stream is asked for nothing, and so looks at no clock of its own.

use std::{
    cell::RefCell,
    rc::{Rc, Weak},
    time::Instant,
};

use tokio::task::AbortHandle;

use super::{ahead::Shared, places::Place, stream::EventStream};

/// The end of a stream's run. Dropped with the stream, before or after.
#[derive(Debug)]
pub struct Curfew {
    waiting: AbortHandle,
    /// The run's place, which is free for another from then on.
    place: Rc<RefCell<Option<Place>>>,
}

impl Curfew {
    /// Has the run of this stream be over at this time.
    pub fn of(stream: &Shared, ends: Instant) -> Self {
        let (stream, place) = (Rc::downgrade(stream), Rc::default());
        let waiting = tokio::task::spawn_local(wait(stream, ends, Rc::clone(&place))).abort_handle();
        Self { waiting, place }
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

async fn wait(stream: Weak<RefCell<Box<EventStream>>>, ends: Instant, place: Rc<RefCell<Option<Place>>>) {
    tokio::time::sleep_until(ends.into()).await;
    if let Some(stream) = stream.upgrade() {
        stream.borrow_mut().has_to_be_over();
    }
    place.take();
}
