//! Pools of connections or threads that are used up, as a service's own metrics show.
//!
//! Work waits at a pool, but its size is not always the cause: what matters first is which requests hold its members, and for how long. By the utilisation law,
//! a request holds a member for U / X seconds. If that is no longer than under low load, the size is the limit. If it has grown, a resource behind the pool has
//! become slow.

use loadstone_metrics::{PoolMembers, Role, SignalKind};

use super::growing_level::{self, GrowingLevel};
use super::path::{Path, PathResource};
use super::readings::SignalReadings;
use super::search::overlap_by_half;
use super::signals::ObservedSignals;
use super::strain::Strain;
use crate::ResourceKind;

/// Readings in which at least one request waits, or all members are in use.
const READINGS_MIN: usize = 10;
/// Their share of the readings of the stretch.
const WAITING_SHARE_MIN: f64 = 0.8;
/// Members that may be idle in a reading, as they pass from one user to the next.
const IDLE_MAX: f64 = 1.1;
/// The same as a part of a large pool.
const UNUSED_PART_MAX: f64 = 0.2;
/// Factor over its size up to which a pool may report members in use. Both are read at slightly different times.
const BEYOND_SIZE_FACTOR_MAX: f64 = 1.1;
/// Active sessions of the databases for each connection in use, up to which the connections are not used by statements.
const IDLE_DATABASE_PART_MAX: f64 = 0.1;
/// Threads that wait for a core for each connection in use, from which its holder waits for a core.
const WITHOUT_CORE_PART_MIN: f64 = 0.5;
/// Requests in the system for each member, where the pool does not count waiting requests.
const REQUESTS_PER_MEMBER_MIN: f64 = 1.5;
/// Part of the members that must have been in use at the end of steady growth for that growth to have filled the pool.
const FILLED_PART_MIN: f64 = 0.7;
/// Members in use, summed over all readings before the shortage, that show how long a request held one.
const USES_MIN: f64 = 5.0;

/// A pool that was used up. Its name is its part, or its observer.
#[derive(Debug, Clone)]
pub(crate) struct PoolShortage<'a> {
    pub(crate) name: &'a str,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Its members are threads, not connections.
    pub(crate) is_threads: bool,
    /// The number of its members.
    pub(crate) size: f64,
    /// How many requests waited on average, and the share of readings in which any did; `None` where the pool does not count them.
    pub(crate) waiting: Option<(f64, f64)>,
    /// Requests per second that had to wait for a member, where the pool counts only these.
    pub(crate) waits: Option<f64>,
    /// Requests in the system on average, where the pool does not count waiting requests.
    pub(crate) in_system: Option<f64>,
    pub(crate) series: Vec<String>,
    /// How long a request held a member, before and meanwhile. Seconds.
    pub(crate) held: Option<(f64, f64)>,
    /// How the members in use grew until the pool was used up, under constant load.
    pub(crate) filled: Option<GrowingLevel>,
}

/// The pool with the most waiting requests first.
pub(super) fn find<'a>(path: &Path<'a>, signals: &ObservedSignals<'a>, strain: &Strain) -> Vec<PoolShortage<'a>> {
    let pools = path.of_kind(ResourceKind::Pool);
    let found = pools.filter_map(|pool| waited_for(signals, strain, pool).or_else(|| full(signals, strain, pool)));
    let mut found: Vec<PoolShortage<'a>> = found.filter(|pool| !is_held_by_work_without_cores(signals, pool)).collect();
    let wanted = |pool: &PoolShortage<'_>| pool.waiting.map_or(0.0, |(mean, _)| mean);
    found.sort_by(|a, b| wanted(b).total_cmp(&wanted(a)));
    found
}

/// A pool for which requests wait, by its own count.
fn waited_for<'a>(signals: &ObservedSignals<'a>, strain: &Strain, pool: &PathResource<'a>) -> Option<PoolShortage<'a>> {
    let waiting = pool.waiting.as_ref()?;
    let some: Vec<f64> = waiting.points().iter().filter(|(_, value)| *value >= 1.0).map(|(at, _)| *at).collect();
    let (from, to) = (*some.first()?, *some.last()?);
    let share = waiting.share(from, to, |value| value >= 1.0)?;
    if some.len() < READINGS_MIN || share < WAITING_SHARE_MIN {
        return None;
    }
    let size = size(signals, pool, &[Role::PoolSize, Role::PoolSizeMax, Role::PoolInUse], (from, to))?;
    let mean = waiting.mean(from, to)?;
    shortage(signals, strain, pool, (from, to), size, waiting).map(|shortage| PoolShortage { waiting: Some((mean, share)), ..shortage })
}

/// A pool that does not count waiting requests, with all members in use while far more requests are in the system, or while it counts more and more waits.
fn full<'a>(signals: &ObservedSignals<'a>, strain: &Strain, pool: &PathResource<'a>) -> Option<PoolShortage<'a>> {
    if signals.read(pool.part, Role::PoolWaiting).is_some() {
        return None;
    }
    let in_use = pool.used.as_ref()?;
    let (_, end) = strain.loaded()?;
    let size = size(signals, pool, &[Role::PoolSizeMax, Role::PoolSize], (0.0, end)).or_else(|| most_in_use(signals, pool, (0.0, end)))?;
    let span = super::readings::longest_run(in_use.points(), READINGS_MIN, 0.0, |used| used >= size - 0.05)?;
    let (from, to) = strain.held_part(span, size).or_else(|| waits_per_second(signals, pool, span).map(|_| span))?;
    let waits = waits_per_second(signals, pool, (from, to));
    let in_system = strain.in_system(from, to).filter(|count| waits.is_some() || *count >= REQUESTS_PER_MEMBER_MIN * size)?;
    let found = shortage(signals, strain, pool, (from, to), size, in_use)?;
    let series = signals.read(pool.part, Role::PoolWaits).filter(|_| waits.is_some()).map(|readings| readings.name());
    let series = found.series.iter().cloned().chain(series).collect();
    Some(PoolShortage { waits, in_system: Some(in_system), series, ..found })
}

/// How often per second a request had to wait for a member, if some had to in nearly every reading.
fn waits_per_second(signals: &ObservedSignals<'_>, pool: &PathResource<'_>, (from, to): (f64, f64)) -> Option<f64> {
    let counted = signals.read(pool.part, Role::PoolWaits)?;
    let points: Vec<(f64, f64)> = counted.between(from, to).collect();
    let rates: Vec<f64> = match counted.signal.kind {
        SignalKind::Counter => points.iter().map(|(_, rate)| *rate).collect(),
        // A total that its exporter declares as a gauge.
        SignalKind::Gauge => points.windows(2).map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0).max(1e-9)).collect(),
    };
    let some = rates.iter().filter(|rate| **rate > 0.0).count();
    let is_waiting = some >= READINGS_MIN && some as f64 >= WAITING_SHARE_MIN * rates.len() as f64;
    is_waiting.then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// The number of members of a pool without a usable size: all that were ever in use, while no member was idle.
fn most_in_use(signals: &ObservedSignals<'_>, pool: &PathResource<'_>, (from, to): (f64, f64)) -> Option<f64> {
    let (in_use, idle) = (pool.used.as_ref()?, signals.read_whole(pool.part, Role::PoolIdle)?);
    let most = in_use.between(from, to).map(|(_, used)| used).max_by(f64::total_cmp).filter(|most| *most >= 1.0)?;
    let (first, last) = super::readings::longest_run(in_use.points(), READINGS_MIN, 0.0, |used| used >= most - 0.05)?;
    idle.mean(first, last).filter(|idle| *idle < 0.05).map(|_| most)
}

fn shortage<'a>(
    signals: &ObservedSignals<'a>,
    strain: &Strain,
    pool: &PathResource<'a>,
    (from, to): (f64, f64),
    size: f64,
    shown: &SignalReadings<'_>,
) -> Option<PoolShortage<'a>> {
    if signals.read_whole(pool.part, Role::PoolIdle).and_then(|idle| idle.mean(from, to)).is_some_and(|idle| idle >= IDLE_MAX) {
        return None;
    }
    let in_use = pool.used.as_ref();
    // Members that are neither idle nor in use do not exist: their target is gone, and the size of the pool limits nothing.
    if in_use.and_then(|used| used.mean(from, to)).is_some_and(|used| size - used > IDLE_MAX.max(UNUSED_PART_MAX * size)) {
        return None;
    }
    let mut series = vec![shown.name()];
    series.extend(in_use.map(SignalReadings::name).filter(|name| *name != shown.name()));
    let is_threads = shown.signal.members == Some(PoolMembers::Threads);
    let (held, filled) = (held(signals, strain, pool, (from, to)), filled(strain, in_use, size, from));
    Some(PoolShortage {
        name: pool.part.name(),
        from,
        to,
        is_threads,
        size,
        waiting: None,
        waits: None,
        in_system: None,
        series,
        held,
        filled,
    })
}

/// How the pool filled up before it was used up, if it filled up gradually under constant throughput.
fn filled(strain: &Strain, in_use: Option<&SignalReadings<'_>>, size: f64, until: f64) -> Option<GrowingLevel> {
    let (start, _) = strain.loaded()?;
    if !growing_level::is_same_load(strain, (start, start.midpoint(until), until)) {
        return None;
    }
    growing_level::find(in_use?, size, (start, until)).filter(|level| level.last >= FILLED_PART_MIN * size)
}

/// The number of members: the first of these signals that showed one number in all readings of a stretch, and never fewer members than were in use. A signal
/// that did counts something else.
fn size(signals: &ObservedSignals<'_>, pool: &PathResource<'_>, roles: &[Role], (from, to): (f64, f64)) -> Option<f64> {
    let used = pool.used.as_ref().and_then(|used| used.between(from, to).map(|(_, value)| value).max_by(f64::total_cmp)).unwrap_or(0.0);
    let is_possible = |size: &f64| *size >= 1.0 && used <= size * BEYOND_SIZE_FACTOR_MAX;
    roles.iter().find_map(|role| signals.read_whole(pool.part, *role)?.steady(from, to).filter(is_possible))
}

/// Whether the holders of the connections wait for a core and not for the database. The pool is then full because of the CPU: more connections would not help.
/// `false` where no database was observed.
fn is_held_by_work_without_cores(signals: &ObservedSignals<'_>, pool: &PoolShortage<'_>) -> bool {
    let mean = |role: Role| {
        let each = signals.parts_with(role).filter_map(|part| signals.mean(part, role, pool.from, pool.to));
        each.reduce(|sum, one| sum + one)
    };
    let (Some(sessions), Some(run_delay)) = (mean(Role::SessionsActive), mean(Role::ProcessRunDelay)) else { return false };
    !pool.is_threads && sessions <= IDLE_DATABASE_PART_MAX * pool.size && run_delay >= WITHOUT_CORE_PART_MIN * pool.size
}

/// How long a request holds a member, before the shortage and during it: by the pool's own count, or as members in use over requests per second. Seconds.
fn held<'a>(signals: &ObservedSignals<'a>, strain: &Strain, pool: &PathResource<'a>, (from, to): (f64, f64)) -> Option<(f64, f64)> {
    let (start, _) = strain.loaded()?;
    let counted = signals.read(pool.part, Role::PoolUseTime);
    let used = counted.as_ref().or(pool.used.as_ref())?;
    let before = used.between(start, from - 1.0);
    let (count, sum) = before.fold((0.0, 0.0), |(count, sum), (_, value)| (count + 1.0, sum + value));
    let each = |used: f64, throughput: f64| (throughput > 0.0).then(|| used / throughput);
    if sum < USES_MIN {
        return None;
    }
    let low = each(sum / count, strain.throughput(start, from - 1.0))?;
    // Where no request ends, each member is held for the whole stretch.
    let now = each(used.mean(from, to)?, strain.throughput(from, to)).unwrap_or(to - from);
    Some((low, now))
}

impl PoolShortage<'_> {
    /// How long a request holds a member, as a multiple of the time before.
    pub(crate) fn held_longer(&self) -> Option<f64> {
        self.held.filter(|(before, _)| *before > 0.0).map(|(before, now)| now / before)
    }

    /// Whether it overlaps another stretch by at least half of either.
    pub(crate) fn is_during(&self, from: f64, to: f64) -> bool {
        overlap_by_half((self.from, self.to), (from, to))
    }
}
