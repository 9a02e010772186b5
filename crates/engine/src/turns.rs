//! Turns of a worker's event loop. Each turn first reads what has arrived, and then polls everything that was woken.
//!
//! A task that needs all arrived data to be processed first waits for [`Turns::whole`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Poll, Waker};

use loadstone_metrics::Nanos;

/// Counts the turns of one worker. Clones share the count.
#[derive(Clone, Default)]
pub(crate) struct Turns {
    state: Rc<TurnState>,
}

#[derive(Default)]
struct TurnState {
    begun: Cell<u64>,
    begun_at: Cell<Nanos>,
    worked_ns: Cell<u64>,
    waiting: RefCell<Vec<Waker>>,
    held_up: Cell<u32>,
}

impl Turns {
    /// Begins a turn: what has arrived was read, but nothing was polled yet.
    pub(crate) fn begin(&self, now: Nanos) {
        self.state.begun.set(self.state.begun.get() + 1);
        self.state.begun_at.set(now);
        for waker in self.state.waiting.take() {
            waker.wake();
        }
    }

    /// Ends a turn: everything that was woken has been polled. Returns how long it took.
    pub(crate) fn end(&self, now: Nanos) -> u64 {
        let lasted = now.saturating_sub(self.state.begun_at.get());
        self.state.worked_ns.set(self.state.worked_ns.get() + lasted);
        lasted
    }

    /// Total time of all turns that have ended. The rest of the time the worker waited, or read what had arrived.
    pub(crate) fn worked_ns(&self) -> u64 {
        self.state.worked_ns.get()
    }

    /// Whether the next turn should begin at once, without waiting for data.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.state.waiting.borrow().is_empty()
    }

    /// Whether arrivals wait for a user. If so, each response counts, since it may free the user.
    pub(crate) fn holds_arrivals(&self) -> bool {
        self.state.held_up.get() > 0
    }

    /// Registers or unregisters one leaf whose arrivals wait for a user.
    pub(crate) fn hold_arrivals(&self, holds: bool) {
        let held_up = self.state.held_up.get();
        self.state.held_up.set(if holds { held_up + 1 } else { held_up - 1 });
    }

    /// Returns when a turn that began after this call has ended.
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
