//! The identity of one worker (its number among the others), its clock and its recorder.

use std::cell::RefCell;
use std::rc::Rc;

use loadstone_metrics::Recorder;
use loadstone_metrics::clock::Clock;

use crate::arrivals::ArrivalShare;

/// What every leaf of one worker, and its user factory, can use.
#[derive(Debug, Clone)]
pub struct WorkerContext {
    /// From 0.
    pub index: u32,
    /// The number of workers on all machines.
    pub workers: u32,
    /// The first worker in this process. It is 0 except on the agents of a fleet.
    pub first: u32,
    pub clock: Clock,
    pub recorder: Rc<RefCell<Recorder>>,
}

impl WorkerContext {
    /// The worker's number among the workers of this process.
    pub(crate) fn index_here(&self) -> u32 {
        self.index - self.first
    }

    /// The share of this worker in the arrivals, users and iterations of a leaf.
    pub(crate) fn share(&self) -> ArrivalShare {
        ArrivalShare { index: u64::from(self.index), of: u64::from(self.workers) }
    }
}

/// Which workers of a run are in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerShare {
    pub first: u32,
    pub here: u32,
    /// Workers on all machines.
    pub of: u32,
}

impl WorkerShare {
    /// All workers are in this process.
    pub fn whole(workers: u32) -> Self {
        Self { first: 0, here: workers, of: workers }
    }
}
