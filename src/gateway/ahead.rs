//! A stream whose client does not ask for more comes in; it is read on, up to a bound, so that what waits can be merged.
//! It hands nothing to the client: that takes what it finds once it asks again.

use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    rc::{Rc, Weak},
    task::{Context, Poll},
};

use super::stream::EventStream;

/// A stream that several tasks look after: the client's, and those that act while the client does not read.
pub type Shared = Rc<RefCell<Box<EventStream>>>;

/// Reads a stream on while its client does not. Ends with the stream.
#[derive(Debug)]
pub struct Ahead(Weak<RefCell<Box<EventStream>>>);

impl Ahead {
    /// Looks after this stream from now on, beside the client's task and on its thread.
    pub fn of(stream: &Shared) {
        tokio::task::spawn_local(Self(Rc::downgrade(stream)));
    }
}

impl Future for Ahead {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(stream) = self.0.upgrade() else { return Poll::Ready(()) };
        stream.borrow_mut().read_ahead(cx);
        Poll::Pending
    }
}
