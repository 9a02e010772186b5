//! A lock that is held again and again: sessions of a database wait for it while the slow requests of a pause are in progress, and hardly ever otherwise.
//!
//! The pauses, and the sessions' waits, are then one thing. A lock that sessions wait for all the time also shows in the pauses, and is not meant here.

use loadstone_metrics::Role;

use super::readings::SignalReadings;
use super::sessions::{self, BlockedStatement};
use super::signals::{ObservedPart, ObservedSignals};
use super::stalls::Stalls;

/// Part of the waiting sessions that must be seen during pauses.
const IN_PAUSES_PART_MIN: f64 = 0.8;
/// Waiting sessions in other seconds, as a part of those in the pauses.
const OTHER_LEVEL_PART_MAX: f64 = 0.2;
/// Part of the pauses in which a session must be seen waiting.
const PAUSES_PART_MIN: f64 = 0.5;
/// Seconds before the pause in which the lock may be held already: a request ends anywhere in its second.
const LOCKED_BEFORE_S: f64 = 1.0;
/// Pauses in which one is seen.
const PAUSES_MIN: usize = 3;

/// The lock behind recurring pauses.
pub(crate) struct RecurringLock<'a> {
    pub(crate) database: &'a str,
    /// The database's name for the wait.
    pub(crate) wait: &'a str,
    /// Sessions that waited for it while slow requests were in progress, mean.
    pub(crate) sessions: f64,
    /// Part of its waiting sessions that were seen then.
    pub(crate) in_pauses: f64,
    /// Pauses in which a session was seen waiting, and all of them.
    pub(crate) pauses: (usize, usize),
    pub(crate) blocked: Option<BlockedStatement<'a>>,
    pub(crate) readings: SignalReadings<'a>,
    /// From the first pause to the last. Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// The lock for which most sessions wait in the pauses.
pub(super) fn find<'a>(signals: &ObservedSignals<'a>, stalls: Option<&Stalls>) -> Option<RecurringLock<'a>> {
    let stalls = stalls?;
    let parts = signals.parts_with(Role::SessionsWaitingForLock);
    let each = parts.flat_map(|part| signals.read_each(part, Role::SessionsWaitingForLock).into_iter().map(move |lock| (part, lock)));
    let found = each.filter_map(|(part, lock)| of_wait(signals, stalls, part, lock));
    found.max_by(|a, b| a.sessions.total_cmp(&b.sessions))
}

fn of_wait<'a>(
    signals: &ObservedSignals<'a>,
    stalls: &Stalls,
    part: ObservedPart<'a>,
    readings: SignalReadings<'a>,
) -> Option<RecurringLock<'a>> {
    let (inside, outside): (Vec<_>, Vec<_>) =
        readings.points().iter().copied().partition(|(at, _)| stalls.is_during(*at) || stalls.is_during(*at + LOCKED_BEFORE_S));
    let sum = |points: &[(f64, f64)]| points.iter().map(|(_, waiting)| waiting).sum::<f64>();
    let mean = |points: &[(f64, f64)]| sum(points) / points.len().max(1) as f64;
    let in_pauses = sum(&inside) / (sum(&inside) + sum(&outside)).max(1e-9);
    let is_rare_otherwise = mean(&outside) <= OTHER_LEVEL_PART_MAX * mean(&inside);
    let has_one = |(from, to): &&(f64, f64)| inside.iter().any(|(at, waiting)| *from <= at + LOCKED_BEFORE_S && at < to && *waiting > 0.0);
    let (seen, all) = (stalls.in_progress.iter().filter(has_one).count(), stalls.in_progress.len());
    let is_in_most = seen >= PAUSES_MIN && seen as f64 >= PAUSES_PART_MIN * all as f64;
    let (from, to) = (stalls.in_progress.first()?.0, stalls.in_progress.last()?.1);
    (in_pauses >= IN_PAUSES_PART_MIN && is_rare_otherwise && is_in_most).then(|| RecurringLock {
        database: part.observer,
        wait: readings.label("wait").unwrap_or(&readings.signal.name),
        sessions: mean(&inside),
        in_pauses,
        pauses: (seen, all),
        // A session may wait before the pause, for what it holds in it.
        blocked: sessions::most_blocked(signals, part, &stalls.in_progress)
            .or_else(|| sessions::most_blocked(signals, part, &[(from, to)])),
        readings,
        from,
        to,
    })
}
