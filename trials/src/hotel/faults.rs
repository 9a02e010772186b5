//! The faults, the load against each, and the answer that its first finding must give.
//!
//! The kinds of fault and their causes come from SREGym's problems, and where noted from AIOpsLab's. The answers were written before the first run.
//! Deliberately absent: any knowledge of Loadstone's rules.

use super::change::{GO_SERVICES, SystemChange};
use crate::external_measure::rating::FaultAnswer;

/// A fault, and what its effect on users is attributed to.
pub(super) struct HotelFault {
    pub(super) name: &'static str,
    /// The problem that defines it: a class of SREGym, or another origin.
    pub(super) origin: &'static str,
    /// `labs/hotel/NAME.load.ts`.
    pub(super) load: &'static str,
    /// Requests per second.
    pub(super) rate: u32,
    /// What the twin without the fault has as well.
    pub(super) setting: &'static [SystemChange],
    pub(super) change: SystemChange,
    pub(super) answer: FaultAnswer,
}

pub(super) const HOTEL_FAULTS: &[HotelFault] = &[
    // The frontend may open 1,024 descriptors. Others hold 1,100 connections to it for five seconds, close them, and begin again after two.
    HotelFault {
        name: "file-descriptors",
        origin: "SREGym FileDescriptorExhaustion",
        load: "hotel",
        rate: 20,
        setting: &[],
        change: SystemChange::Descriptors { service: "frontend", limit: 1024, connections: 1100 },
        answer: FaultAnswer {
            places: &["frontend"],
            causes: &["descriptor*", "open files", "file limit", "nofile", "ulimit"],
            symptoms: &["connect*", "accept*", "refused", "backlog", "timeout*", "timed out"],
        },
    },
    // Another session holds ACCESS EXCLUSIVE on the table of reservations for three of every five seconds: SREGym holds it for the whole run, on another table.
    HotelFault {
        name: "store-lock",
        origin: "SREGym PostgresLockContentionProductCatalog",
        load: "hotel",
        rate: 20,
        setting: &[],
        change: SystemChange::TableLock { schema: "reservation-db", collection: "reservation", held_s: 3, released_s: 2 },
        answer: FaultAnswer {
            places: &["postgres*", "reservation*", "reserve", "table", "session*"],
            causes: &["lock", "locks", "locked", "lock:*", "blocked", "blocks", "blocking", "access exclusive"],
            symptoms: &["reserve", "wait*", "stall*", "slow*", "ferretdb"],
        },
    },
    // A CPU limit below what bursts of geo need, far from the machine's limit.
    HotelFault {
        name: "cpu-throttling",
        origin: "SREGym CpuThrottling",
        load: "hotel",
        rate: 40,
        setting: &[],
        change: SystemChange::CpuLimit { service: "geo", percent: 2 },
        answer: FaultAnswer {
            places: &["geo"],
            causes: &["throttl*", "quota", "cpu limit", "limit of its control group", "container's limit", "cpu"],
            symptoms: &["search", "slow*", "throttl*"],
        },
    },
    // GC=1, hotelReservation's own setting for GOGC, in all services, and a memory limit below what they use, so that collections follow each other. Each
    // service has a fifth of a core: SREGym's LimitRange gives half a core, at a hundred times this load.
    HotelFault {
        name: "gc-capacity",
        origin: "SREGym GCCapacityDegradation",
        load: "hotel",
        rate: 40,
        setting: &[SystemChange::CpuLimits { percent: 20 }],
        change: SystemChange::Environment { services: GO_SERVICES, variables: &[("GC", "1"), ("GOMEMLIMIT", "2MiB")] },
        answer: FaultAnswer {
            places: GO_SERVICES,
            causes: &["garbage", "gc", "collect*", "gcbgmark*", "gcdrain*", "gogc"],
            symptoms: &["cpu", "core", "cores", "throttl*", "slow*", "memory"],
        },
    },
    // A burst of searches. Users retry after their timeout, but the store continues with the expired ones. After the burst, retries keep it overloaded.
    // SREGym's services limit the rate of `rate` and retry in `search`; here FerretDB has one core, and the users retry.
    HotelFault {
        name: "retry-storm",
        origin: "SREGym SearchRateRetryCollapse, LoadSpikeRPCRetryStorm",
        load: "retry",
        rate: 8,
        setting: &[SystemChange::CacheItemMax { bytes: 2048 }, SystemChange::CpuLimit { service: "ferretdb", percent: 100 }],
        change: SystemChange::LoadSpike { rate: 60 },
        answer: FaultAnswer {
            places: &["search", "rate", "ferretdb", "store", "users", "load"],
            causes: &["retries", "retried", "retrying", "retry storm", "resent", "sent again", "amplif*", "attempts"],
            symptoms: &["search", "rate", "ferretdb", "overload*", "throttl*", "cpu", "timeout*", "slow*", "queue*", "capacity"],
        },
    },
    // Each message from a service to the store arrives 100 ms later.
    HotelFault {
        name: "store-delay",
        origin: "AIOpsLab network delay (Chaos Mesh NetworkChaos)",
        load: "hotel",
        rate: 20,
        setting: &[],
        change: SystemChange::StoreDelay { milliseconds: 100 },
        answer: FaultAnswer {
            places: &["127.0.0.1:5348", "5348", "ferretdb", "store", "mongo*"],
            causes: &["wait*", "await*", "answer*", "delay*", "latenc*", "network", "unanswered"],
            symptoms: &["reserve", "reservation", "slow*", "wait*"],
        },
    },
    // The cache of rates refuses items above 2 KiB, which all rate plans together exceed. Each search reads the store up to five times.
    // FerretDB has 15 % of a core, three times what it needs with the cache.
    HotelFault {
        name: "cache-too-small",
        origin: "own; nearest SREGym ValkeyMemoryDisruption",
        load: "hotel",
        rate: 20,
        setting: &[SystemChange::CpuLimit { service: "ferretdb", percent: 15 }],
        change: SystemChange::CacheItemMax { bytes: 2048 },
        answer: FaultAnswer {
            places: &["rate", "memcached*", "cache*"],
            causes: &["miss", "misses", "cache*", "evict*", "memcached*", "hit rate", "item size", "not cached"],
            symptoms: &["search", "ferretdb", "5348", "store", "cpu", "slow*", "wait*"],
        },
    },
    // One connection for all reservations, to a store whose messages need 30 ms.
    HotelFault {
        name: "pool-too-small",
        origin: "own",
        load: "hotel",
        rate: 30,
        setting: &[SystemChange::StoreDelay { milliseconds: 30 }],
        change: SystemChange::StoreConnections { service: "Reserve", count: 1 },
        answer: FaultAnswer {
            places: &["reservation", "reserve"],
            causes: &["pool*", "one at a time", "1 at a time", "one connection", "1 connection", "connections", "serial*"],
            symptoms: &["reserve", "wait*", "slow*", "ferretdb", "5348"],
        },
    },
];
