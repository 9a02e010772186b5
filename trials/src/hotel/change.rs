//! Changes of the system: the faults, and settings that a fault and its twin have in common.

use crate::external_measure::fault_run::FaultOnset;

/// A burst of the load begins so long after the start.
const SPIKE_AFTER_S: u64 = 10;

/// hotelReservation's services in Go.
pub(super) const GO_SERVICES: &[&str] = &["profile", "geo", "rate", "recommendation", "user", "reservation", "search", "frontend"];

pub(super) enum SystemChange {
    /// A service may open `limit` descriptors, while others hold `connections` to it.
    Descriptors { service: &'static str, limit: u64, connections: usize },
    /// A session holds a collection's table for `held_s` seconds, again and again.
    TableLock { schema: &'static str, collection: &'static str, held_s: u32, released_s: u32 },
    /// A service's control group has so many percent of a core.
    CpuLimit { service: &'static str, percent: u32 },
    /// Each Go service's control group has so many percent of a core.
    CpuLimits { percent: u32 },
    /// Variables in the environment of services.
    Environment { services: &'static [&'static str], variables: &'static [(&'static str, &'static str)] },
    /// The cache of rates refuses larger items.
    CacheItemMax { bytes: u32 },
    /// Each message to the store arrives later.
    StoreDelay { milliseconds: u64 },
    /// The connections of a service, by its name in `config.json`, to the store.
    StoreConnections { service: &'static str, count: u32 },
    /// A burst of the load, in requests per second.
    LoadSpike { rate: u32 },
}

impl SystemChange {
    /// When this change can begin. What services read at their start cannot begin in mid-run.
    pub(super) fn onsets(&self, load_seconds: u64) -> Vec<FaultOnset> {
        match self {
            Self::Environment { .. } | Self::CacheItemMax { .. } | Self::StoreConnections { .. } => vec![FaultOnset::Start],
            Self::LoadSpike { .. } => vec![FaultOnset::AfterSeconds(SPIKE_AFTER_S)],
            _ => vec![FaultOnset::Start, FaultOnset::AfterSeconds(load_seconds / 2)],
        }
    }
}
