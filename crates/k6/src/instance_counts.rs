//! Counts of VUs and iterations for `exec.instance`. Each worker has its own, so that workers do not wait for each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of one worker. Only its thread changes them.
#[derive(Debug, Default)]
pub(crate) struct WorkerCounts {
    completed: AtomicU64,
    interrupted: AtomicU64,
    active: AtomicU64,
    vus: AtomicU64,
    vus_most: AtomicU64,
}

/// The counts of all workers of a process.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InstanceCounts {
    pub(crate) iterations_completed: u64,
    pub(crate) iterations_interrupted: u64,
    /// VUs in an iteration.
    pub(crate) vus_active: u64,
    /// VUs that were initialised. As in k6, one that a ramp has removed still counts.
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

    pub(crate) fn vu_created(&self) {
        let vus = change(&self.vus, |count| count + 1);
        change(&self.vus_most, |most| most.max(vus));
    }

    pub(crate) fn vu_dropped(&self) {
        change(&self.vus, |count| count.saturating_sub(1));
    }
}

impl InstanceCounts {
    pub(crate) fn of(workers: &[Arc<WorkerCounts>]) -> Self {
        let sum = |count: fn(&WorkerCounts) -> &AtomicU64| workers.iter().map(|worker| count(worker).load(Ordering::Relaxed)).sum();
        Self {
            iterations_completed: sum(|worker| &worker.completed),
            iterations_interrupted: sum(|worker| &worker.interrupted),
            vus_active: sum(|worker| &worker.active),
            vus_initialized: sum(|worker| &worker.vus_most),
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
            worker.vu_created();
            worker.vu_created();
            worker.vu_dropped();
            worker.vu_created();
            worker.iteration_began();
            worker.iteration_ended(false);
            worker.iteration_began();
        }
        workers[0].iteration_ended(true);
        let counts = InstanceCounts { iterations_completed: 2, iterations_interrupted: 1, vus_active: 1, vus_initialized: 4 };
        assert_eq!(InstanceCounts::of(&workers), counts);
    }
}
