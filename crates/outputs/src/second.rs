//! What crosses to the threads of the outputs.

use loadstone_metrics::{Signal, SignalPoint, Snapshot};

/// A second of the run: the load, merged over all workers, and what was read of the system meanwhile.
#[derive(Debug, Default)]
pub(crate) struct OutputSecond {
    pub(crate) load: Snapshot,
    /// The last reading of each signal that was read in it.
    pub(crate) signals: Vec<(Signal, SignalPoint)>,
}
