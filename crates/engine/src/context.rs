//! What one worker is and has: its number among the others, its clock, its recorder.

use std::cell::RefCell;
use std::rc::Rc;

use loadstone_metrics::Recorder;
use loadstone_metrics::clock::Clock;

use crate::arrivals::ArrivalShare;

/// What every leaf of one worker, and its user factory, has at hand.
#[derive(Debug, Clone)]
pub struct WorkerContext {
    /// From 0.
    pub index: u32,
    /// How many there are, on all machines.
    pub workers: u32,
    /// The first one in this process; 0 but on the agents of a fleet.
    pub first: u32,
    pub clock: Clock,
    pub recorder: Rc<RefCell<Recorder>>,
}

impl WorkerContext {
    /// Its number among the workers of this process.
    pub(crate) fn index_here(&self) -> u32 {
        self.index - self.first
    }

    /// Which arrivals, users and iterations of a leaf are this worker's.
    pub(crate) fn share(&self) -> ArrivalShare {
        ArrivalShare { index: u64::from(self.index), of: u64::from(self.workers) }
    }
}

/// Which workers of a run are in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerShare {
    pub first: u32,
    pub here: u32,
    /// On all machines.
    pub of: u32,
}

impl WorkerShare {
    /// All of them.
    pub fn whole(workers: u32) -> Self {
        Self { first: 0, here: workers, of: workers }
    }
}
