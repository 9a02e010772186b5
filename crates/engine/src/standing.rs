//! A worker's standing among the others, common to its leaves: until when it may start iterations, whose part it makes beside its own, and whether
//! it tells what one tells for all.

use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

use loadstone_metrics::Nanos;

use crate::handover::Handover;

/// See the module.
#[derive(Default)]
pub(crate) struct WorkerStanding {
    /// `None`: without end.
    lease: Cell<Option<Nanos>>,
    waiting: RefCell<Vec<Waker>>,
    handovers: RefCell<Vec<Handover>>,
    tells: Cell<bool>,
}

impl WorkerStanding {
    pub(crate) fn of_worker(index: u32) -> Self {
        let standing = Self::default();
        standing.tells.set(index == 0);
        standing
    }

    /// Iterations may start before this instant. What was granted before stays granted.
    pub(crate) fn lease(&self, until: Nanos) {
        self.lease.set(self.lease.get().max(Some(until)));
    }

    /// Whether an iteration may start at this instant. Others make what is due once none may, see [`Handover::from`]: nothing starts before it is due.
    pub(crate) fn may_start(&self, now: Nanos) -> bool {
        self.lease.get().is_none_or(|until| now < until)
    }

    /// Wakes this task at the next command.
    pub(crate) fn wait(&self, context: &Context<'_>) {
        self.waiting.borrow_mut().push(context.waker().clone());
    }

    /// A command was carried out.
    pub(crate) fn look_again(&self) {
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// This one has the number `index`. Says whether it begins to tell for all.
    pub(crate) fn hand_over(&self, handover: Handover, index: u32) -> bool {
        // Whoever tells is the first: of those that are left, it is the first again.
        let is_first = handover.left.first() == Some(&u64::from(index));
        self.handovers.borrow_mut().push(handover);
        is_first && !self.tells.replace(true)
    }

    /// How many of them concern a leaf.
    pub(crate) fn handover_count(&self, is_load: bool) -> usize {
        self.handovers.borrow().iter().filter(|handover| handover.is_of_load || !is_load).count()
    }

    /// Those that concern a leaf.
    pub(crate) fn handovers(&self, is_load: bool) -> Vec<Handover> {
        self.handovers.borrow().iter().filter(|handover| handover.is_of_load || !is_load).cloned().collect()
    }

    pub(crate) fn tells(&self) -> bool {
        self.tells.get()
    }
}
