//! Counters of the whole machine.

/// Totals since the machine started. `None`: cannot be read now.
#[derive(Debug, Default)]
pub(super) struct MachineReading {
    pub(super) steal_ns: Option<u64>,
    pub(super) throttled_ns: Option<u64>,
    pub(super) retransmits: Option<u64>,
    pub(super) syn_retransmits: Option<u64>,
}
