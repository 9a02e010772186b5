//! How one task of a thread wakes another.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Wakes one waiting task of the same thread. A wake-up without a waiting task is kept for the next task that waits.
#[derive(Clone, Default, Debug)]
pub(crate) struct Wakeup {
    state: Rc<WakeupState>,
}

#[derive(Default, Debug)]
struct WakeupState {
    pending: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Wakeup {
    pub(crate) fn wake(&self) {
        self.state.pending.set(true);
        if let Some(waker) = self.state.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Ready, once, after [`Wakeup::wake`].
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.state.pending.replace(false) {
            return Poll::Ready(());
        }
        let mut waker = self.state.waker.borrow_mut();
        match &*waker {
            Some(known) if known.will_wake(context.waker()) => {}
            _ => *waker = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    pub(crate) async fn wait(&self) {
        std::future::poll_fn(|context| self.poll(context)).await;
    }
}
