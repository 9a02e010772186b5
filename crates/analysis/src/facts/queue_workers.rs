//! Queues whose workers are all busy: jobs wait while as many as ever are in progress.
//!
//! A worker takes the next job as soon as it is free, or up to a fixed number in advance (prefetch). While jobs wait, a constant number is in progress: workers
//! times the jobs that each takes.

use loadstone_metrics::Role;

use super::called::CalledEndpoint;
use super::readings::{SignalReadings, most_frequent};
use super::search::overlap_by_half;
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;

/// Readings in which jobs wait.
const READINGS_MIN: usize = 10;
/// And seconds.
const LENGTH_MIN_S: f64 = 10.0;
/// Share of these readings in which the number of jobs in progress is the same.
const CONSTANT_SHARE_MIN: f64 = 0.9;
/// Distance from that number, as a part of it, up to which it is the same: waiting and taken jobs are read one after another.
const CONSTANT_PART_MAX: f64 = 0.02;
/// Part of the workers that are busy where their number was read.
const BUSY_PART_MIN: f64 = 0.95;
/// Waiting jobs in the last third of the stretch, as a multiple of those in the first.
const GROWTH_FACTOR_MIN: f64 = 1.5;
/// And how many more there are.
const GROWTH_MIN: f64 = 10.0;
/// Share of the seconds in which an endpoint must have its most calls for these to be the workers.
const CALLS_SHARE_MIN: f64 = 0.5;
/// Share of the seconds that may exceed them.
const MORE_CALLS_SHARE_MAX: f64 = 0.02;

/// A queue whose workers are all busy.
pub(crate) struct BusyQueueWorkers<'a> {
    pub(crate) observer: &'a str,
    /// Queues that the same workers serve; the longest first.
    pub(crate) queues: Vec<&'a str>,
    /// Jobs in progress: the constant number.
    pub(crate) taken: f64,
    /// Workers, where their number was read, or follows from the calls that they make.
    pub(crate) workers: Option<f64>,
    /// Whether the number of workers was read.
    pub(crate) are_counted: bool,
    /// Mean number of waiting jobs in the first third of the stretch and in the last, of all the queues.
    pub(crate) waiting: (f64, f64),
    /// Waiting jobs and jobs in progress.
    pub(crate) series: Vec<String>,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl BusyQueueWorkers<'_> {
    /// Whether it overlaps another stretch by at least half of either.
    pub(crate) fn is_during(&self, from: f64, to: f64) -> bool {
        overlap_by_half((self.from, self.to), (from, to))
    }
}

/// The workers with the most waiting jobs.
pub(super) fn find<'a>(signals: &ObservedSignals<'a>, strain: &Strain, called: &[CalledEndpoint<'a>]) -> Option<BusyQueueWorkers<'a>> {
    let load = strain.loaded()?;
    let found = signals.parts_with(Role::QueueLength).filter_map(|part| of_queue(signals, called, part, load));
    found.max_by(|a, b| a.waiting.1.total_cmp(&b.waiting.1))
}

fn of_queue<'a>(
    signals: &ObservedSignals<'a>,
    called: &[CalledEndpoint<'a>],
    part: ObservedPart<'a>,
    (begin, end): (f64, f64),
) -> Option<BusyQueueWorkers<'a>> {
    let own = ObservedPart { observer: part.observer, part: "" };
    // Some brokers count the jobs in progress of each queue, others only those of all queues.
    let (taken, is_shared) = match signals.read_whole(part, Role::QueueTaken) {
        Some(taken) => (taken, part.part.is_empty()),
        None => (signals.read_whole(own, Role::QueueTaken)?, true),
    };
    let mut queues: Vec<(ObservedPart<'a>, SignalReadings<'a>)> =
        signals.parts_with(Role::QueueLength).filter_map(|other| Some((other, signals.read_whole(other, Role::QueueLength)?))).collect();
    queues.retain(|(other, _)| *other == part || (is_shared && other.observer == part.observer));
    let length = SignalReadings::sum(&queues.iter().map(|(_, length)| length.clone()).collect::<Vec<_>>())?;
    let (from, to) = length.longest_where(READINGS_MIN, LENGTH_MIN_S, |at, jobs| jobs >= 1.0 && at >= begin && at <= end)?;
    let counts: Vec<f64> = taken.between(from, to).map(|(_, count)| count.round()).collect();
    let number = most_frequent(&counts);
    let near = f64::max(0.5, CONSTANT_PART_MAX * number);
    let is_constant = taken.share(from, to, |count| (count - number).abs() <= near)? >= CONSTANT_SHARE_MIN;
    let third = (to - from) / 3.0;
    let waiting = (length.mean(from, from + third)?, length.mean(to - third, to)?);
    let is_growing = waiting.1 >= GROWTH_FACTOR_MIN * waiting.0 && waiting.1 - waiting.0 >= GROWTH_MIN.max(number);
    if counts.len() < READINGS_MIN || number < 1.0 || !is_constant || !is_growing {
        return None;
    }
    let counted = signals.read_whole(part, Role::QueueWorkers).or_else(|| signals.read_whole(own, Role::QueueWorkers));
    let counted = counted.and_then(|workers| workers.mean(from, to));
    if counted.is_some_and(|workers| number < BUSY_PART_MIN * workers) {
        return None;
    }
    queues.retain(|(_, length)| length.mean(to - third, to).is_some_and(|jobs| jobs >= 1.0));
    let last = |length: &SignalReadings<'a>| length.mean(to - third, to).unwrap_or(0.0);
    queues.sort_by(|a, b| last(&b.1).total_cmp(&last(&a.1)));
    Some(BusyQueueWorkers {
        observer: part.observer,
        queues: queues.iter().map(|(queue, _)| queue.name()).collect(),
        taken: number,
        workers: counted.or_else(|| by_calls(called, number, (from, to))),
        are_counted: counted.is_some(),
        waiting,
        series: queues.iter().map(|(_, length)| length.name()).chain([taken.name()]).collect(),
        from,
        to,
    })
}

/// The workers by the calls that they make: as many at a time as one endpoint ever saw, if each worker takes the same number of jobs.
fn by_calls(called: &[CalledEndpoint<'_>], taken: f64, (from, to): (f64, f64)) -> Option<f64> {
    let each = called.iter().filter_map(|endpoint| {
        let most = endpoint.in_flight_max.as_ref()?;
        let calls = most_frequent(&most.between(from, to).map(|(_, calls)| calls.round()).collect::<Vec<_>>());
        let reached = most.share(from, to, |count| (count - calls).abs() < 0.5)?;
        let beyond = most.share(from, to, |count| count > calls + 0.5)?;
        (calls >= 1.0 && taken % calls < 0.01 && reached >= CALLS_SHARE_MIN && beyond <= MORE_CALLS_SHARE_MAX).then_some(calls)
    });
    each.max_by(f64::total_cmp)
}
