//! How often a request does something, before and after requests began to take longer. A count that remained the same is no cause of the change.

use loadstone_run_directory::Run;

use super::changes::{Changes, LoadMeanwhile, Shape};
use super::readings::SignalReadings;
use super::strain::Strain;

/// Factor within which two counts are the same.
const SAME_COUNT_FACTOR_MAX: f64 = 1.25;
/// Readings on either side.
const READINGS_MIN: usize = 3;
/// Seconds around the instant that are left out.
const EDGE_S: f64 = 1.0;

/// A count per request that remained the same across a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnchangedCount {
    /// When requests began to take longer. Seconds since the run began.
    pub(crate) at: f64,
    /// Per request that ended.
    before: f64,
    after: f64,
}

impl UnchangedCount {
    /// Why the count does not explain the change.
    pub(crate) fn phrase(&self, of_what: &str) -> String {
        let number = loadstone_units::number;
        format!(
            "requests took longer after it, with {} {of_what} per request before it and {} after it",
            number(self.before),
            number(self.after)
        )
    }
}

/// For a counter and the largest step of requests that took longer. `None`: there was none, or the count changed as well.
pub(crate) fn across_a_change(run: &Run, strain: &Strain, changes: &Changes, series: &str) -> Option<UnchangedCount> {
    let readings = SignalReadings::of(run.signals.iter().find(|one| one.signal.name == series)?);
    let per_request = |from: f64, to: f64| {
        let ended = strain.throughput(from, to);
        (readings.count(from, to) >= READINGS_MIN && ended > 0.0).then(|| readings.mean(from, to).map(|rate| rate / ended)).flatten()
    };
    let slower = changes.found.iter().filter(|change| change.is_slower() && change.shape != Shape::Drift);
    // While the load rises, more work may wait without any change.
    let mut at_equal_load = slower.filter(|change| !matches!(change.load, LoadMeanwhile::Reached { .. }));
    at_equal_load.find_map(|change| {
        let (before, after) =
            (per_request(change.from, change.at - EDGE_S)?, per_request(change.at + EDGE_S, change.until.unwrap_or(change.to))?);
        let is_same = before > 0.0 && after <= SAME_COUNT_FACTOR_MAX * before && before <= SAME_COUNT_FACTOR_MAX * after;
        is_same.then_some(UnchangedCount { at: change.at, before, after })
    })
}
