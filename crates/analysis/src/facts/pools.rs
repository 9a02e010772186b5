//! Pools that are too small, as a service's own metrics show it: somebody waits for a member, and all of them are in use.

use metrics::Role;

use super::signals::{ObservedPart, ObservedSignals};

/// At least one waits, in so many readings of a stretch of so many.
const READINGS_MIN: usize = 10;
const SHARE_MIN: f64 = 0.8;
/// Members that may be idle meanwhile.
const IDLE_MAX: f64 = 1.1;

/// A pool that somebody waited for.
pub(crate) struct PoolShortage {
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Members that it has.
    pub(crate) size: f64,
    /// How many waited on average, and in which share of the readings any did.
    pub(crate) waiting: f64,
    pub(crate) waiting_share: f64,
    pub(crate) waiting_series: String,
    /// Where the pool counts both: time spent waiting for a member over time that members were used, and the signals that say so.
    pub(crate) wait_per_use: Option<(f64, Vec<String>)>,
}

/// In alphabetical order. `end`: of the run, in seconds.
pub(super) fn find(signals: &ObservedSignals<'_>, end: f64) -> Vec<PoolShortage> {
    signals.parts_with(Role::PoolWaiting).filter_map(|pool| shortage(signals, pool, end)).collect()
}

fn shortage<'a>(signals: &ObservedSignals<'a>, pool: ObservedPart<'a>, end: f64) -> Option<PoolShortage> {
    let waiting = signals.read(pool, Role::PoolWaiting)?;
    let some: Vec<f64> = waiting.between(0.0, end).filter(|(_, value)| *value >= 1.0).map(|(at, _)| at).collect();
    let (from, to) = (*some.first()?, *some.last()?);
    let waiting_share = waiting.share(from, to, |value| value >= 1.0)?;
    if some.len() < READINGS_MIN || waiting_share < SHARE_MIN {
        return None;
    }
    if signals.mean(pool, Role::PoolIdle, from, to).is_some_and(|idle| idle >= IDLE_MAX) {
        return None;
    }
    // Whatever tells of its members and stood at one number all along.
    let steady = |role| signals.read(pool, role).and_then(|readings| readings.steady(from, to)).filter(|size| *size >= 1.0);
    let size = [Role::PoolSize, Role::PoolSizeMax, Role::PoolInUse].into_iter().find_map(steady)?;
    Some(PoolShortage {
        from,
        to,
        size,
        waiting: waiting.mean(from, to)?,
        waiting_share,
        waiting_series: waiting.name(),
        wait_per_use: wait_per_use(signals, pool, from, to),
    })
}

fn wait_per_use<'a>(signals: &ObservedSignals<'a>, pool: ObservedPart<'a>, from: f64, to: f64) -> Option<(f64, Vec<String>)> {
    let (waited, used) = (signals.read(pool, Role::PoolWaitTime)?, signals.read(pool, Role::PoolUseTime)?);
    let times = waited.mean(from, to)? / used.mean(from, to)?.max(1e-9);
    Some((times, vec![waited.name(), used.name()]))
}
