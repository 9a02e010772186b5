//! Requests of all names together that pass at an even rate while they wait, and fewer than one at a time: a rate limit delays them.
//!
//! A limit in front of a service counts all requests. The number of each name that passes in a second then varies, and their sum does not. Requests that are
//! served one after the other would also pass evenly if each took the same time. By Little's law, the rate times the time without waiting is the number of
//! requests in service: below one, no place is in use all the time.

use loadstone_metrics::{SeriesKind, SeriesSlice, Snapshot};
use loadstone_run_directory::Run;

use super::pace::{EVEN_DISPERSION_MAX, PLACES_MAX, even_variance_part};
use super::preparation::Preparation;
use super::strain::Strain;
use crate::statistics::{mean, mean_of_batches, variance};

/// Whole seconds in which requests wait, one after the other.
const SECONDS_MIN: usize = 10;
/// Requests per second that must pass.
const PASSED_MIN: f64 = 3.0;

/// Factor by which the requests in the system must grow meanwhile. Even arrivals that are all carried pass at an even rate, too.
const BACKLOG_FACTOR_MIN: f64 = 1.5;
/// And their growth, as a part of those that pass. Times that grow for another reason add few.
const BACKLOG_PART_MIN: f64 = 0.05;

/// Requests that pass evenly while more and more wait.
pub(crate) struct EvenPassage {
    /// Requests per second that passed, with half of the 95 % interval, and the standard deviation of their number per second.
    pub(crate) rate: f64,
    pub(crate) half: f64,
    pub(crate) deviation: f64,
    /// Their mean time while none waited. Seconds.
    pub(crate) alone_s: f64,
    /// Requests in the system at the begin and at the end.
    pub(crate) in_system: (f64, f64),
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl EvenPassage {
    /// Requests in service at a time.
    pub(crate) fn at_a_time(&self) -> f64 {
        self.rate * self.alone_s
    }
}

/// The longest such stretch.
pub(super) fn find(run: &Run, strain: &Strain, preparation: &Preparation) -> Option<EvenPassage> {
    let (free, held) = strain.free_and_held();
    let is_in = |spans: &[(f64, f64)], slice: &Snapshot| {
        let (from, to) = (slice.start as f64 / 1e9, slice.end as f64 / 1e9);
        spans.iter().any(|span| span.0 < to && from < span.1)
    };
    // What is left after the load has ended takes long, although few requests are in the system.
    let is_loaded = |slice: &&Snapshot| slice.seconds() == 1 && strain.asked(slice.start as f64 / 1e9, slice.end as f64 / 1e9) > 0.0;
    let seconds: Vec<&Snapshot> = run.slices.iter().filter(is_loaded).collect();
    let alone = seconds.iter().filter(|slice| is_in(&free, slice)).flat_map(|slice| requests(slice, preparation));
    let (count, sum) = alone.fold((0, 0), |(count, sum), series| (count + series.service.count(), sum + series.service.sum()));
    let waiting = seconds.split(|slice| !is_in(&held, slice)).max_by_key(|run| run.len()).filter(|run| run.len() > SECONDS_MIN)?;
    // The first and the last second are seldom complete.
    let waiting = waiting.get(1..waiting.len() - 1).filter(|waiting| waiting.len() >= SECONDS_MIN && count > 0)?;
    let passed: Vec<f64> = waiting.iter().map(|slice| passed(slice, preparation)).collect();
    let (rate, half) = mean_of_batches(&passed);
    let spread = variance(&passed);
    let (from, to) = (waiting.first()?.start as f64 / 1e9, waiting.last()?.end as f64 / 1e9);
    let in_system = (strain.in_system(from, from + 1.0)?, strain.in_system(to - 1.0, to)?);
    let found = EvenPassage { rate, half, deviation: spread.sqrt(), alone_s: sum as f64 / count as f64 / 1e9, in_system, from, to };
    let is_even = spread <= even_variance_part(passed.len()).min(EVEN_DISPERSION_MAX) * mean(&passed);
    let piles_up = in_system.1 >= BACKLOG_FACTOR_MIN * in_system.0 && in_system.1 - in_system.0 >= BACKLOG_PART_MIN * rate * (to - from);
    (is_even && piles_up && rate >= PASSED_MIN && found.at_a_time() <= PLACES_MAX).then_some(found)
}

fn requests<'s>(slice: &'s Snapshot, preparation: &'s Preparation) -> impl Iterator<Item = &'s SeriesSlice> {
    slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request && !preparation.has(&series.key))
}

fn passed(slice: &Snapshot, preparation: &Preparation) -> f64 {
    requests(slice, preparation).map(|series| series.count.saturating_sub(series.failed) as f64).sum()
}
