//! Database sessions that stand at one number while requests wait: the places that these wait for hold a session each.

use loadstone_metrics::Role;

use super::plateau::Plateaus;
use super::readings::{SignalReadings, most_frequent};
use super::search::READINGS_MIN;
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;

/// Share of the readings that give the number, how far one may be off, and what all of them give on average.
const SHARE_MIN: f64 = 0.8;
const OFF: f64 = 0.5;
const MEAN_MIN: f64 = 0.9;
/// Part of the number that were in use under low load at most.
const LOW_MAX: f64 = 0.75;
/// Requests in the system for each of them.
const CROWDED: f64 = 1.5;
/// How many times as many places as sessions may be seen from outside: what each does before and after holding one counts as service time.
const AROUND: f64 = 2.0;

/// Sessions that run a statement or have a transaction open.
pub(crate) struct BusySessions<'a> {
    pub(crate) database: &'a str,
    pub(crate) number: f64,
    pub(crate) mean: f64,
    /// Share of the readings that gave the number.
    pub(crate) share: f64,
    pub(crate) series: Vec<String>,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// During the plateau.
pub(super) fn find<'a>(signals: &ObservedSignals<'a>, plateaus: &Plateaus, strain: &Strain) -> Option<BusySessions<'a>> {
    let (from, to) = plateaus.span()?;
    let found = signals.parts_with(Role::SessionsActive).filter_map(|part| of_database(signals, part, plateaus, (from, to)));
    found
        .filter(|busy| strain.in_system(from, to).is_some_and(|open| open >= CROWDED * busy.number))
        .max_by(|a, b| a.number.total_cmp(&b.number))
}

fn of_database<'a>(
    signals: &ObservedSignals<'a>,
    part: ObservedPart<'a>,
    plateaus: &Plateaus,
    (from, to): (f64, f64),
) -> Option<BusySessions<'a>> {
    let active = signals.read(part, Role::SessionsActive)?;
    let idle = signals.read(part, Role::SessionsIdleInTransaction);
    let in_use = idle.as_ref().map_or_else(|| active.clone(), |idle| active.plus(idle));
    let rounded: Vec<f64> = in_use.between(from, to).map(|(_, count)| count.round()).collect();
    let number = most_frequent(&rounded);
    let share = in_use.share(from, to, |count| (count - number).abs() <= OFF)?;
    let (mean, most) = (in_use.mean(from, to)?, in_use.share(from, to, |count| count <= number + OFF)?);
    let low = plateaus.limited.first()?.low;
    let was_free = in_use.mean(low.from, low.to).is_some_and(|before| before <= LOW_MAX * number);
    // Seen from outside, there are as many places, or more by what each does without a session.
    let seen = plateaus.concurrency();
    let is_seen = number <= seen.slots + f64::max(seen.half, 1.0) && (!seen.is_known() || seen.slots <= AROUND * number);
    let stands = rounded.len() >= READINGS_MIN && number >= 1.0 && share >= SHARE_MIN && most == 1.0 && mean >= MEAN_MIN * number;
    (stands && was_free && is_seen).then(|| BusySessions {
        database: part.observer,
        number,
        mean,
        share,
        series: std::iter::once(&active).chain(&idle).map(SignalReadings::name).collect(),
        from,
        to,
    })
}
