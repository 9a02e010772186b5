//! What one worker is and has: its number among the others, its clock, its recorder.

use std::cell::RefCell;
use std::rc::Rc;

use metrics::Recorder;
use metrics::clock::Clock;

use crate::arrivals::ArrivalShare;

/// What every leaf of one worker, and its user factory, has at hand.
#[derive(Debug, Clone)]
pub struct WorkerContext {
    /// From 0.
    pub index: u32,
    /// How many there are.
    pub workers: u32,
    pub clock: Clock,
    pub recorder: Rc<RefCell<Recorder>>,
}

impl WorkerContext {
    /// Which arrivals, users and iterations of a leaf are this worker's.
    pub(crate) fn share(&self) -> ArrivalShare {
        ArrivalShare { index: u64::from(self.index), of: u64::from(self.workers) }
    }
}
