//! What the number of requests in progress rules out, without any time of a single request.
//!
//! A resource on the request path is in use only while a request is in progress. By Little's law its utilisation is therefore at most the mean number of
//! requests in progress. And a limit below the arrival rate leaves the difference in the system (conservation of flow), whatever the times of requests are.

use loadstone_metrics::Snapshot;
use loadstone_run_directory::Run;

use super::load_stretches;
use super::strain::Strain;

/// Seconds over which the number in progress is averaged.
const WINDOW_S: f64 = 5.0;
/// Part of the load over which its end is averaged, if that is longer.
const END_PART: f64 = 0.1;
/// Mean number in progress below which no resource can be in use all the time.
const ONE: f64 = 1.0;
/// Part of a constant load that a limit is assumed to carry. A limit of exactly the load leaves no backlog.
const CONSTANT_LIMIT_PART: f64 = 0.95;
/// Parts of the highest load that a limit may carry, the most first. One is sought that the number in the system excludes.
const EXCLUDED_PARTS: [f64; 5] = [0.95, 0.9, 0.85, 0.8, 0.75];
/// Part of the load at its beginning or of its lowest that shows the time in the system.
const REFERENCE_PART: f64 = 1.0 / 3.0;
/// Standard errors of a one-sided 95 % bound.
const BOUND_ERRORS: f64 = 1.645;

/// How many requests were in progress.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InProgress {
    /// The highest mean over a few seconds.
    pub(crate) most: f64,
    /// The mean at the top of the load.
    pub(crate) top: f64,
    /// `None`: users, or too short.
    backlog: Option<BacklogBound>,
    /// Arrivals per second below which no limit can be, since it would have left more requests in the system. `None`: nothing near the load is excluded.
    pub(crate) no_limit_below: Option<f64>,
}

/// Arrivals that a limit within the load would have left in the system, and how many were there at most. Both at the instant where the limit leaves the most.
#[derive(Debug, Clone, Copy)]
struct BacklogBound {
    expected: f64,
    /// Beyond those that the time in the system at low load explains; the upper end of the interval.
    seen_at_most: f64,
}

/// A second of the load.
struct LoadSecond {
    planned: f64,
    arrivals: f64,
    in_system: f64,
}

pub(super) fn find(run: &Run, strain: &Strain) -> Option<InProgress> {
    let (from, to) = strain.loaded()?;
    let starts = (0..).map(|step| from + f64::from(step)).take_while(|start| start + WINDOW_S <= to);
    let most = starts.filter_map(|start| strain.in_system(start + 1e-6, start + WINDOW_S - 1e-6)).reduce(f64::max)?;
    let (from, to) = strain.top_span();
    let seconds = arrivals(run, strain);
    let backlog = seconds.as_ref().and_then(|seconds| backlog(seconds, usual_limit(seconds)));
    let no_limit_below = seconds.as_ref().and_then(|seconds| no_limit_below(seconds));
    Some(InProgress { most, top: strain.in_system(from, to)?, backlog, no_limit_below })
}

impl InProgress {
    /// Whether so few requests were in progress at any time that none of a resource's places were all in use for long.
    pub(crate) fn excludes_a_full_resource(&self) -> bool {
        self.most < ONE
    }

    /// Whether a limit within the load would have left more requests in the system than there were.
    pub(crate) fn excludes_a_backlog(&self) -> bool {
        self.excludes_a_full_resource() || self.backlog.is_none_or(|bound| bound.seen_at_most < bound.expected)
    }

    /// The same from the arrivals alone, whatever the times of few requests allow.
    pub(crate) fn counts_exclude_a_backlog(&self) -> bool {
        self.backlog.is_some_and(|bound| bound.seen_at_most < bound.expected)
    }

    /// Requests that a limit just below the load would have left in the system, and those that it had at most, beyond the usual ones.
    pub(crate) fn expected_and_seen(&self) -> Option<(f64, f64)> {
        self.backlog.map(|bound| (bound.expected, bound.seen_at_most.max(0.0)))
    }
}

fn arrivals(run: &Run, strain: &Strain) -> Option<Vec<LoadSecond>> {
    let has_users = run.slices.iter().flat_map(|slice| &slice.leaves).any(|leaf| leaf.users_asked > 0);
    if has_users { None } else { seconds(run, strain) }
}

fn most(seconds: &[LoadSecond]) -> f64 {
    seconds.iter().map(|second| second.planned).fold(0.0, f64::max)
}

/// A limit within the load: the mean of its highest third.
fn usual_limit(seconds: &[LoadSecond]) -> f64 {
    let mut by_load: Vec<f64> = seconds.iter().map(|second| second.planned).collect();
    by_load.sort_by(f64::total_cmp);
    let high = &by_load[by_load.len() - by_load.len().div_ceil(3)..];
    f64::min(high.iter().sum::<f64>() / high.len() as f64, CONSTANT_LIMIT_PART * most(seconds))
}

/// The highest limit that the number in the system excludes, with all lower ones that were tried after it: they would have left more.
fn no_limit_below(seconds: &[LoadSecond]) -> Option<f64> {
    let limits = EXCLUDED_PARTS.map(|part| part * most(seconds));
    limits.into_iter().find(|limit| backlog(seconds, *limit).is_some_and(|bound| bound.seen_at_most < bound.expected))
}

fn backlog(seconds: &[LoadSecond], limit: f64) -> Option<BacklogBound> {
    // What the limit leaves in the system at the end of each second.
    let left = seconds.iter().scan(0.0, |left, second| {
        *left = f64::max(*left + second.planned - limit, 0.0);
        Some(*left)
    });
    let left: Vec<f64> = left.collect();
    let (last, _) = left.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    let length = f64::max(WINDOW_S, END_PART * seconds.len() as f64) as usize;
    let first = (last + 1).checked_sub(length)?;
    let (before, end) = seconds.get(..=last)?.split_at_checked(first)?;
    // The seconds of the lowest load before; of a constant load, the first ones.
    let mut calm: Vec<(&LoadSecond, f64)> = before.iter().zip(left.iter().copied()).collect();
    calm.sort_by(|a, b| a.0.planned.total_cmp(&b.0.planned));
    calm.truncate((REFERENCE_PART * seconds.len() as f64) as usize);
    let sum = |of: fn(&LoadSecond) -> f64| calm.iter().map(|(second, _)| of(second)).sum::<f64>();
    let arrivals = sum(|second| second.arrivals);
    if arrivals < 1.0 {
        return None;
    }
    let left_before: f64 = calm.iter().map(|(_, left)| left).sum();
    let left_at_end = left[first..=last].iter().sum::<f64>() / length as f64;
    let mean = |of: fn(&LoadSecond) -> f64| end.iter().map(of).sum::<f64>() / length as f64;
    let (time_s, rate, in_system) =
        (sum(|second| second.in_system) / arrivals, mean(|second| second.planned), mean(|second| second.in_system));
    // Of times that scatter as much as exponential ones. The number in an unlimited system is Poisson distributed (Eick, Massey and Whitt 1993), and its mean
    // over a stretch varies less, the more times in the system fit into it.
    let error_before = rate * time_s * (2.0 / arrivals).sqrt();
    let error_end = (in_system * (2.0 * time_s / length as f64).min(1.0)).sqrt();
    Some(BacklogBound {
        expected: left_at_end - rate * left_before / arrivals,
        seen_at_most: in_system - rate * time_s + BOUND_ERRORS * error_before.hypot(error_end),
    })
}

/// The seconds from the first arrival to the last.
fn seconds(run: &Run, strain: &Strain) -> Option<Vec<LoadSecond>> {
    let arrivals = |slice: &Snapshot| slice.leaves.iter().map(|leaf| leaf.arrivals_due).sum::<u64>() as f64;
    let first = run.slices.iter().position(|slice| arrivals(slice) > 0.0)?;
    let last = run.slices.iter().rposition(|slice| arrivals(slice) > 0.0)?;
    let planned = load_stretches::planned_in_all(run)?;
    let second = |(slice, planned): (&Snapshot, &f64)| {
        let (from, to) = (slice.start as f64 / 1e9, slice.end as f64 / 1e9);
        let in_system = strain.in_system(from + 1e-6, to - 1e-6).unwrap_or(0.0);
        LoadSecond { planned: *planned, arrivals: arrivals(slice), in_system }
    };
    Some(run.slices.get(first..=last)?.iter().zip(planned.get(first..=last)?).map(second).collect())
}
