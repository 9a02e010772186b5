//! Calls that a server has accepted and not yet answered. The server waits for them before it stops.

use std::cell::Cell;
use std::rc::Rc;

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct HeldCalls {
    count: Cell<usize>,
    left: Notify,
}

impl HeldCalls {
    pub(crate) fn enter(self: &Rc<Self>) -> HeldCall {
        self.count.set(self.count.get() + 1);
        HeldCall(Rc::clone(self))
    }

    /// Waits until there are none.
    pub(crate) async fn none(&self) {
        while self.count.get() > 0 {
            self.left.notified().await;
        }
    }
}

/// One such call, until it is dropped.
#[derive(Debug)]
pub(crate) struct HeldCall(Rc<HeldCalls>);

impl Drop for HeldCall {
    fn drop(&mut self) {
        let Self(calls) = self;
        calls.count.set(calls.count.get() - 1);
        if calls.count.get() == 0 {
            calls.left.notify_one();
        }
    }
}
