//! What one worker may and must do, for all its leaves. It has a lease for starting iterations, and the shares that it has taken over. One worker
//! also records events for all.

use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

use loadstone_metrics::Nanos;

use crate::handover::Handover;

/// See the module documentation.
#[derive(Default)]
pub(crate) struct WorkerLease {
    /// `None`: unlimited.
    lease: Cell<Option<Nanos>>,
    waiting: RefCell<Vec<Waker>>,
    handovers: RefCell<Vec<Handover>>,
    records_for_all: Cell<bool>,
}

impl WorkerLease {
    pub(crate) fn of_worker(index: u32) -> Self {
        let worker_lease = Self::default();
        worker_lease.records_for_all.set(index == 0);
        worker_lease
    }

    /// Iterations may start before this instant. A lease never becomes shorter.
    pub(crate) fn lease(&self, until: Nanos) {
        self.lease.set(self.lease.get().max(Some(until)));
    }

    /// Whether an iteration may start at this instant. After the lease ends, others generate what is due (see [`Handover::from`]), and no arrival
    /// starts before it is due.
    pub(crate) fn may_start(&self, now: Nanos) -> bool {
        self.lease.get().is_none_or(|until| now < until)
    }

    /// Wakes this task at the next command.
    pub(crate) fn wait(&self, context: &Context<'_>) {
        self.waiting.borrow_mut().push(context.waker().clone());
    }

    /// Wakes the waiting tasks after a command.
    pub(crate) fn wake_waiting(&self) {
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Adds a handover for the worker `index`. Returns whether this worker begins to record for all.
    pub(crate) fn hand_over(&self, handover: Handover, index: u32) -> bool {
        // The first worker records for all. After a loss, it is the first remaining worker.
        let is_first = handover.remaining.first() == Some(&u64::from(index));
        self.handovers.borrow_mut().push(handover);
        is_first && !self.records_for_all.replace(true)
    }

    /// How many handovers concern a leaf.
    pub(crate) fn handover_count(&self, is_load: bool) -> usize {
        self.handovers.borrow().iter().filter(|handover| handover.is_of_load || !is_load).count()
    }

    /// The handovers that concern a leaf.
    pub(crate) fn handovers(&self, is_load: bool) -> Vec<Handover> {
        self.handovers.borrow().iter().filter(|handover| handover.is_of_load || !is_load).cloned().collect()
    }

    pub(crate) fn records_for_all(&self) -> bool {
        self.records_for_all.get()
    }
}
