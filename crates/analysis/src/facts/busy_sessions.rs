//! Database sessions whose number in use is constant while requests wait: each place that the requests wait for holds a session.

use loadstone_metrics::Role;

use super::plateau::Plateaus;
use super::readings::{SignalReadings, most_frequent};
use super::search::READINGS_MIN;
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;

/// Share of the readings that must equal the number.
const EQUAL_READINGS_SHARE_MIN: f64 = 0.8;
/// How far a reading may differ and still equal it, since sessions are whole numbers.
const EQUAL_WITHIN: f64 = 0.5;
/// Part of the number that all readings must reach on average.
const MEAN_PART_MIN: f64 = 0.9;
/// Part of the number that may be in use under low load: otherwise it does not depend on the load.
const LOW_LOAD_PART_MAX: f64 = 0.75;
/// Requests in the system for each session: with fewer, no request waits for a place.
const REQUESTS_PER_SESSION_MIN: f64 = 1.5;
/// How many times as many places as sessions the plateau may show: the time before and after a request holds a session counts as service time.
const PLACES_PER_SESSION_MAX: f64 = 2.0;

/// Sessions that run a statement or have an open transaction.
pub(crate) struct BusySessions<'a> {
    pub(crate) database: &'a str,
    /// The number that most readings equal.
    pub(crate) number: f64,
    pub(crate) mean: f64,
    /// Share of the readings that equal the number.
    pub(crate) share: f64,
    pub(crate) series: Vec<String>,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// During the plateau; of several databases, the one with the most sessions in use.
pub(super) fn find<'a>(signals: &ObservedSignals<'a>, plateaus: &Plateaus, strain: &Strain) -> Option<BusySessions<'a>> {
    let (from, to) = plateaus.span()?;
    let found = signals.parts_with(Role::SessionsActive).filter_map(|part| of_database(signals, part, plateaus, (from, to)));
    found
        .filter(|busy| strain.in_system(from, to).is_some_and(|open| open >= REQUESTS_PER_SESSION_MIN * busy.number))
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
    let share = in_use.share(from, to, |count| (count - number).abs() <= EQUAL_WITHIN)?;
    let (mean, most) = (in_use.mean(from, to)?, in_use.share(from, to, |count| count <= number + EQUAL_WITHIN)?);
    let low = plateaus.limited.first()?.low;
    let was_free = in_use.mean(low.from, low.to).is_some_and(|before| before <= LOW_LOAD_PART_MAX * number);
    // The plateau shows as many places, or more where requests also spend time without a session.
    let seen = plateaus.concurrency();
    let is_seen = number <= seen.slots + f64::max(seen.half, 1.0) && (!seen.is_known() || seen.slots <= PLACES_PER_SESSION_MAX * number);
    let is_constant = rounded.len() >= READINGS_MIN
        && number >= 1.0
        && share >= EQUAL_READINGS_SHARE_MIN
        && most == 1.0
        && mean >= MEAN_PART_MIN * number;
    (is_constant && was_free && is_seen).then(|| BusySessions {
        database: part.observer,
        number,
        mean,
        share,
        series: std::iter::once(&active).chain(&idle).map(SignalReadings::name).collect(),
        from,
        to,
    })
}
