//! The data that is sent to the threads of the outputs.

use loadstone_metrics::{Signal, SignalPoint, Snapshot};

/// A second of the run: the load, merged over all workers, and the system's signals.
#[derive(Debug, Default)]
pub(crate) struct OutputSecond {
    pub(crate) load: Snapshot,
    /// The last reading of each signal in the second.
    pub(crate) signals: Vec<(Signal, SignalPoint)>,
}
