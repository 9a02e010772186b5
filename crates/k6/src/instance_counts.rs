//! Counts of VUs and iterations for `exec.instance`. Each worker has its own, so that workers do not wait for each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::options::PlannedVus;

/// The counts of one worker. Only its thread changes them.
#[derive(Debug, Default)]
pub(crate) struct WorkerCounts {
    completed: AtomicU64,
    interrupted: AtomicU64,
    active: AtomicU64,
    vus_unplanned: AtomicU64,
}

/// The counts of all workers of a process.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InstanceCounts {
    pub(crate) iterations_completed: u64,
    pub(crate) iterations_interrupted: u64,
    /// VUs in an iteration.
    pub(crate) vus_active: u64,
    /// VUs that k6 would have initialised, which scenarios that follow one another share.
    pub(crate) vus_initialized: u64,
}

fn change(count: &AtomicU64, change: impl FnOnce(u64) -> u64) -> u64 {
    let changed = change(count.load(Ordering::Relaxed));
    count.store(changed, Ordering::Relaxed);
    changed
}

impl WorkerCounts {
    pub(crate) fn iteration_began(&self) {
        change(&self.active, |count| count + 1);
    }

    pub(crate) fn iteration_ended(&self, was_interrupted: bool) {
        change(&self.active, |count| count.saturating_sub(1));
        change(if was_interrupted { &self.interrupted } else { &self.completed }, |count| count + 1);
    }

    /// An arrival needed a VU beyond those that were prepared.
    pub(crate) fn unplanned_vu_created(&self) {
        change(&self.vus_unplanned, |count| count + 1);
    }
}

impl InstanceCounts {
    pub(crate) fn of(workers: &[Arc<WorkerCounts>], PlannedVus { planned, possible }: PlannedVus) -> Self {
        let sum = |count: fn(&WorkerCounts) -> &AtomicU64| workers.iter().map(|worker| count(worker).load(Ordering::Relaxed)).sum();
        Self {
            iterations_completed: sum(|worker| &worker.completed),
            iterations_interrupted: sum(|worker| &worker.interrupted),
            vus_active: sum(|worker| &worker.active),
            vus_initialized: (planned + sum(|worker| &worker.vus_unplanned)).min(possible.max(planned)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_all_workers() {
        let workers = [Arc::new(WorkerCounts::default()), Arc::new(WorkerCounts::default())];
        for worker in &workers {
            worker.unplanned_vu_created();
            worker.iteration_began();
            worker.iteration_ended(false);
            worker.iteration_began();
        }
        workers[0].iteration_ended(true);
        let counts = InstanceCounts { iterations_completed: 2, iterations_interrupted: 1, vus_active: 1, vus_initialized: 7 };
        assert_eq!(InstanceCounts::of(&workers, PlannedVus { planned: 5, possible: 9 }), counts);
        // With two VUs for a scenario that has ended, k6 does not need another.
        assert_eq!(InstanceCounts::of(&workers, PlannedVus { planned: 5, possible: 6 }).vus_initialized, 6);
    }
}
