//! macOS counts none of this for a thread or a process: no wait for a core of a single thread, no steal, no CPU limit of a group. Its counters of TCP have
//! no stable layout (`net.inet.tcp.stats`). The slices say that these were not examined ([`loadstone_platform::COUNTS_WAITS`]).

use super::reading::MachineReading;

/// Reads the counters of the whole machine.
#[derive(Debug)]
pub(super) struct MachineCounters;

impl MachineCounters {
    pub(super) fn find() -> Self {
        Self
    }

    pub(super) fn read(&self) -> MachineReading {
        MachineReading::default()
    }
}

pub(super) fn run_queue_ns() -> Option<u64> {
    None
}
