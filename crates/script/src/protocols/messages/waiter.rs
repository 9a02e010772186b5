//! An entry in a channel's list of waiters.

use std::cell::{Cell, RefCell};
use std::task::Waker;

pub(super) struct ChannelWaiter {
    /// The number of the first message that it considers. `None`: it waits for no message.
    from: Cell<Option<u64>>,
    /// Its failure is recorded.
    measured: bool,
    waker: RefCell<Option<Waker>>,
}

impl ChannelWaiter {
    pub(super) fn new(measured: bool) -> Self {
        Self { from: Cell::default(), measured, waker: RefCell::default() }
    }

    pub(super) fn wants_from(&self) -> Option<u64> {
        self.from.get()
    }

    pub(super) fn want_from(&self, number: u64) {
        self.from.set(Some(number));
    }

    pub(super) fn is_measured(&self) -> bool {
        self.measured
    }

    pub(super) fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    pub(super) fn woken_by(&self, waker: &Waker) {
        *self.waker.borrow_mut() = Some(waker.clone());
    }
}
