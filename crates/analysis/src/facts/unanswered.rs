//! Requests that received no response at all, though others of their name take a fraction of that time.

use loadstone_metrics::{SeriesKey, SeriesKind, Snapshot};
use loadstone_run_directory::{Run, RunEnd};

use crate::{RunTally, SeriesTally};

/// Unanswered requests that there must be.
const COUNT_MIN: u64 = 3;
/// How long they must have been open, as a multiple of the longest that ended.
const OPEN_FACTOR_MIN: f64 = 3.0;
/// And in seconds.
const OPEN_MIN_S: f64 = 1.5;

/// Requests of one name that were still open at the end of the run.
pub(crate) struct Unanswered {
    pub(crate) name: String,
    pub(crate) count: u64,
    /// How long the oldest and the newest of them had been open. Seconds.
    pub(crate) open_s: (f64, f64),
    /// The longest request that ended, without time-outs. Seconds.
    pub(crate) longest_s: f64,
    /// Since when there was no response: when the first of them was sent at the earliest, or after the last that passed. Seconds since the run began.
    pub(crate) from: f64,
}

/// The request with the most of them first.
pub(super) fn find(run: &Run, tally: &RunTally) -> Vec<Unanswered> {
    let end = tally.duration_seconds();
    // The user may have cut off requests that only take long. Those that ended show how long they take.
    let is_cut = run.end == Some(RunEnd::Interrupted);
    let found = tally.of_kind(SeriesKind::Request).filter_map(|series| {
        let unanswered = of(series, end)?;
        // Earlier ones may have timed out: the last response shows since when there is none.
        let from = last_response(run, &series.merged.key).map_or(unanswered.from, |last| unanswered.from.min(last));
        Some(Unanswered { from, ..unanswered })
    });
    let mut found: Vec<Unanswered> = found.filter(|unanswered| !is_cut || unanswered.longest_s > 0.0).collect();
    found.sort_by_key(|unanswered| std::cmp::Reverse(unanswered.count));
    found
}

/// The end of the last second in which a request passed. `None`: none ever did.
fn last_response(run: &Run, key: &SeriesKey) -> Option<f64> {
    let passed = |slice: &&Snapshot| slice.series.iter().any(|series| series.key == *key && series.count > series.failed);
    run.slices.iter().rev().find(passed).map(|slice| slice.end as f64 / 1e9)
}

fn of(series: &SeriesTally, end: f64) -> Option<Unanswered> {
    let merged = &series.merged;
    // Requests that timed out are in both histograms, at the same times.
    let timed_out = |value: u64| merged.service_timed_out.bars().filter(|(low, ..)| *low == value).map(|(.., count)| count).sum::<u64>();
    let interrupted: Vec<(u64, u64)> =
        merged.service_censored.bars().map(|(low, _, count)| (low, count.saturating_sub(timed_out(low)))).filter(|bar| bar.1 > 0).collect();
    let ended = merged.service.bars().filter(|(low, _, count)| *count > timed_out(*low)).map(|(low, ..)| low).max().unwrap_or(0);
    let least = f64::max(OPEN_FACTOR_MIN * ended as f64 / 1e9, OPEN_MIN_S);
    let open: Vec<(u64, u64)> = interrupted.into_iter().filter(|(low, _)| *low as f64 / 1e9 >= least).collect();
    let count: u64 = open.iter().map(|(_, count)| count).sum();
    let (last, first) = (open.first()?.0 as f64 / 1e9, open.last()?.0 as f64 / 1e9);
    (count >= COUNT_MIN).then(|| Unanswered {
        name: merged.key.name.to_string(),
        count,
        open_s: (first, last),
        longest_s: ended as f64 / 1e9,
        from: (end - first).max(0.0),
    })
}
