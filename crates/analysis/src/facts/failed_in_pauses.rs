//! Requests that fail more often in the pauses behind a lock than in other seconds: a consequence of the lock.

use loadstone_run_directory::Run;

use super::failures::Failing;
use super::recurring_lock::RecurringLock;
use super::stalls::Stalls;
use crate::statistics::binomial_at_least;

/// Share of failed requests in the pauses over that in other seconds.
const FACTOR_MIN: f64 = 2.0;
/// Probability that as many of the failures fall into the pauses by chance.
const P_VALUE_MAX: f64 = 0.01;

/// A request that fails more often in the pauses.
pub(crate) struct FailedInPauses {
    /// Its index among the failing requests.
    pub(crate) failing: usize,
    /// Share that failed in the pauses, and in other seconds.
    pub(crate) shares: (f64, f64),
}

/// Given all failures of a request, those in the pauses have a binomial distribution with the part of its requests that end there.
pub(super) fn find(run: &Run, stalls: Option<&Stalls>, lock: Option<&RecurringLock<'_>>, failing: &[Failing<'_>]) -> Vec<FailedInPauses> {
    let Some(stalls) = stalls.filter(|_| lock.is_some()) else { return Vec::new() };
    let of_one = |(index, failing): (usize, &Failing<'_>)| {
        let (mut inside, mut outside) = ((0, 0), (0, 0));
        for slice in &run.slices {
            let Some(series) = slice.series.iter().find(|series| series.key == *failing.key) else { continue };
            let part = if stalls.is_during(slice.start.midpoint(slice.end) as f64 / 1e9) { &mut inside } else { &mut outside };
            *part = (part.0 + series.failed, part.1 + series.count);
        }
        let share = |(failed, count): (u64, u64)| failed as f64 / count.max(1) as f64;
        let part = inside.1 as f64 / (inside.1 + outside.1).max(1) as f64;
        let shares = (share(inside), share(outside));
        let is_more = shares.0 >= FACTOR_MIN * shares.1 && binomial_at_least(inside.0, inside.0 + outside.0, part) <= P_VALUE_MAX;
        is_more.then_some(FailedInPauses { failing: index, shares })
    };
    failing.iter().enumerate().filter_map(of_one).collect()
}
