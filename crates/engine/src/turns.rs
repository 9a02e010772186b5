//! Turns of a worker's event loop: in each, what has arrived is read first, and then all that was woken is polled.
//!
//! Whoever must know that what had arrived was also dealt with waits for [`Turns::whole`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Counts the turns of one worker. Clones count the same ones.
#[derive(Clone, Default)]
pub(crate) struct Turns {
    state: Rc<TurnState>,
}

#[derive(Default)]
struct TurnState {
    begun: Cell<u64>,
    waiting: RefCell<Vec<Waker>>,
}

impl Turns {
    /// A turn begins: what has arrived was read, but nothing was polled yet.
    pub(crate) fn begin(&self) {
        self.state.begun.set(self.state.begun.get() + 1);
        for waker in self.state.waiting.take() {
            waker.wake();
        }
    }

    /// Whether the next turn is to begin at once, without waiting for anything to arrive.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.state.waiting.borrow().is_empty()
    }

    /// Returns when a turn has begun after this call and has ended.
    pub(crate) async fn whole(&self) {
        let ended = self.state.begun.get() + 2;
        std::future::poll_fn(|context| {
            if self.state.begun.get() >= ended {
                return Poll::Ready(());
            }
            let mut waiting = self.state.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}
