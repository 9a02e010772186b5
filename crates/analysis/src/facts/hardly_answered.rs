//! Whether the system hardly answers: few requests end, however long the run, while those that began remain in the system.
//!
//! Such a run has too few requests for any rule that compares times, and a longer run has no more. By Little's law, N requests in the system of which X end per
//! second need N / X seconds. If that is most of the run, and the requests that are still open have taken far longer than the fastest, they wait.
//!
//! Requests that take long by themselves are none of these: more of them end as more are sent, and those that are open at the end are younger than the others.

use loadstone_metrics::{Outcome, SeriesKind};
use loadstone_run_directory::{Run, RunEnd};

use super::strain::Strain;
use crate::{RunTally, SeriesTally};

/// Requests that ended, from which the rules on times decide.
const ENDED_MAX: u64 = 100;
/// Requests that began and never ended.
const OPEN_MIN: u64 = 4;
/// Part of the loaded time that the requests in the system would need to end.
const NEEDED_PART_MIN: f64 = 0.5;
/// Factor by which the requests in the system grow from the first third of the load to the last, and the same over the growth of the rate at which they end.
const GROWN_FACTOR_MIN: f64 = 2.0;
/// Time of the oldest open request over the shortest time of its name.
const OPEN_FACTOR_MIN: f64 = 2.0;

/// Requests that hardly end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HardlyAnswered {
    pub(crate) ended: u64,
    /// Open when the run ended.
    pub(crate) open: u64,
    /// Requests in the system in the first third of the load and in the last.
    pub(crate) in_system: (f64, f64),
    /// Requests that ended per second in the last third.
    pub(crate) rate: f64,
}

pub(super) fn find(run: &Run, tally: &RunTally, strain: &Strain) -> Option<HardlyAnswered> {
    let (from, to) = strain.loaded()?;
    let third = |index: f64| (from + (to - from) * index / 3.0, from + (to - from) * (index + 1.0) / 3.0);
    let (first, last) = (third(0.0), third(2.0));
    let in_system = (strain.in_system(first.0, first.1)?, strain.in_system(last.0, last.1)?);
    let (early, rate) = (strain.throughput(first.0, first.1), strain.throughput(last.0, last.1));
    let requests = || tally.of_kind(SeriesKind::Request);
    let ended: u64 = requests().map(|series| series.merged.count).sum();
    let open: u64 = requests().map(open_requests).sum();
    let needed_s = in_system.1 / rate.max(1e-9);
    let grew = in_system.1 / in_system.0.max(1e-9);
    // One more request may have ended in the first third.
    let ended_more = rate / f64::max(early, 1.0 / (first.1 - first.0).max(1e-9));
    let piles_up = grew >= GROWN_FACTOR_MIN && grew >= GROWN_FACTOR_MIN * ended_more;
    let is_stuck = ended < ENDED_MAX && open >= OPEN_MIN && needed_s >= NEEDED_PART_MIN * (to - from);
    let was_cut = run.end == Some(RunEnd::Interrupted);
    (is_stuck && !was_cut && (piles_up || open >= ended) && requests().any(has_waited)).then_some(HardlyAnswered {
        ended,
        open,
        in_system,
        rate,
    })
}

fn open_requests(series: &SeriesTally) -> u64 {
    series.merged.outcomes.iter().filter(|(outcome, _)| *outcome == Outcome::Interrupted).map(|(_, count)| count).sum()
}

/// Whether an open request of this name is far older than the fastest that ended. Time-outs count as open.
fn has_waited(series: &SeriesTally) -> bool {
    let merged = &series.merged;
    open_requests(series) > 0 && merged.service_censored.max() as f64 >= OPEN_FACTOR_MIN * merged.service.min() as f64
}
