//! An entry in a channel's list of those who wait.

use std::cell::{Cell, RefCell};
use std::task::Waker;

pub(super) struct ChannelWaiter {
    /// Earlier messages do not concern it; `None`: no message does.
    from: Cell<Option<u64>>,
    /// Its failure is counted.
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
