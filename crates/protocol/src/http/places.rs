//! A limited number of places: connections of a user to an origin, streams of a connection. If none is free, requests wait in order.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Counts the places taken. Return a place with [`Places::leave`].
#[derive(Debug, Default)]
pub(super) struct Places {
    most: Cell<usize>,
    taken: Cell<usize>,
    /// First come, first served.
    waiting: RefCell<VecDeque<Rc<QueueTicket>>>,
}

#[derive(Debug, Default)]
struct QueueTicket {
    called: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Places {
    /// Sets the number of places, at least one.
    pub(super) fn limit(&self, most: usize) {
        self.most.set(most.max(1));
    }

    /// Takes a place, if one is free.
    pub(super) fn try_enter(&self) -> bool {
        let is_free = self.taken.get() < self.most.get();
        if is_free {
            self.taken.set(self.taken.get() + 1);
        }
        is_free
    }

    /// Waits for a place and takes it.
    pub(super) async fn enter(&self) {
        let mut queued = QueuePosition { places: self, ticket: Rc::default(), entered: false };
        self.waiting.borrow_mut().push_back(Rc::clone(&queued.ticket));
        poll_fn(|context| {
            if queued.ticket.called.get() {
                return Poll::Ready(());
            }
            *queued.ticket.waker.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
        queued.entered = true;
    }

    /// Returns a place. The next requests in the queue take the free places.
    pub(super) fn leave(&self) {
        self.taken.set(self.taken.get() - 1);
        self.admit();
    }

    /// Lets the next requests in the queue take the free places.
    pub(super) fn admit(&self) {
        while self.taken.get() < self.most.get() {
            let Some(ticket) = self.waiting.borrow_mut().pop_front() else { return };
            self.taken.set(self.taken.get() + 1);
            ticket.called.set(true);
            if let Some(waker) = ticket.waker.take() {
                waker.wake();
            }
        }
    }

    pub(super) fn none_taken(&self) -> bool {
        self.taken() == 0
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.get()
    }
}

/// A waiting request. It leaves the queue when dropped.
struct QueuePosition<'a> {
    places: &'a Places,
    ticket: Rc<QueueTicket>,
    entered: bool,
}

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        if self.entered {
            return;
        }
        if self.ticket.called.get() {
            self.places.leave();
        } else {
            self.places.waiting.borrow_mut().retain(|ticket| !Rc::ptr_eq(ticket, &self.ticket));
        }
    }
}
