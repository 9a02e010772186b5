//! A number of members in use that grows steadily under constant load.
//!
//! By Little's law, the members of a pool in use are throughput × the time that a request holds one, which is constant under constant load. If the number keeps
//! growing while request times do not, some members are never returned.

use super::readings::SignalReadings;
use super::strain::Strain;
use crate::statistics::trend;

/// Factor by which the throughput of both halves of a stretch may differ under the same load.
const SAME_LOAD_FACTOR_MAX: f64 = 1.15;
/// Probability that a level without a trend shows one as clear.
const P_VALUE_MAX: f64 = 1e-3;
/// Growth that is reported. Members.
const GROWTH_MIN: f64 = 2.0;
/// And as a part of all places.
const GROWTH_PART_MIN: f64 = 0.1;

/// Members in use at the begin and at the end of the growth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrowingLevel {
    pub(crate) first: f64,
    pub(crate) last: f64,
    /// Growth per second.
    pub(crate) each_second: f64,
    /// When the last reading was taken. Seconds since the run began.
    pub(crate) ended: f64,
}

/// Whether the throughput was the same in two consecutive stretches.
pub(crate) fn is_same_load(strain: &Strain, (from, between, to): (f64, f64, f64)) -> bool {
    let (a, b) = (strain.throughput(from, between), strain.throughput(between, to));
    a <= SAME_LOAD_FACTOR_MAX * b && b <= SAME_LOAD_FACTOR_MAX * a
}

/// Whether more requests were in the system in the second of two consecutive stretches.
pub(crate) fn is_piling_up(strain: &Strain, (from, between, to): (f64, f64, f64)) -> bool {
    let (a, b) = (strain.in_system(from, between), strain.in_system(between, to));
    b.unwrap_or(0.0) >= GROWTH_MIN + SAME_LOAD_FACTOR_MAX * a.unwrap_or(0.0)
}

/// The growth over a stretch, if it is steady and never reversed.
pub(crate) fn find(readings: &SignalReadings<'_>, places: f64, (from, to): (f64, f64)) -> Option<GrowingLevel> {
    let points: Vec<(f64, f64)> = readings.between(from, to).collect();
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    let found = trend::find(&values).filter(|found| found.slope > 0.0 && found.p_value <= P_VALUE_MAX)?;
    let grown = found.slope * (values.len() - 1) as f64;
    // A number that goes up and down is no leak: at the end it never falls to where it was at the begin.
    let (first, last) = (&values[..values.len() / 3], &values[values.len() - values.len() / 3..]);
    let most_at_first = first.iter().copied().fold(0.0, f64::max);
    if grown < GROWTH_MIN || grown < GROWTH_PART_MIN * places || last.iter().any(|value| *value <= most_at_first) {
        return None;
    }
    let (began, ended) = (points.first()?.0, points.last()?.0);
    let first = found.height;
    Some(GrowingLevel { first, last: first + grown, each_second: grown / (ended - began).max(1e-9), ended })
}
