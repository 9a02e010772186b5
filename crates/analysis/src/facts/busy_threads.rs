//! A named group of threads, all of which are at work while more requests are in the system: request threads or workers whose number is the limit.
//!
//! A server with n request threads serves n requests at a time. While more are in the system, the number of threads at work is n, however many requests wait.
//! By Little's law, the number of threads in a call is the time that requests spend there, times their rate.

use std::collections::{BTreeMap, BTreeSet};

use loadstone_metrics::Role;

use super::plateau::Plateaus;
use super::readings::SignalReadings;
use super::search::{LENGTH_MIN_S, READINGS_MIN, overlap_by_half};
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;
use super::waiting::WaitingStretch;
use crate::statistics;

/// The states of threads that are certainly at work. A thread that waits for something unknown may be idle.
const AT_WORK: [Role; 5] = [
    Role::ThreadsOnCpu,
    Role::ThreadsWaitingForLock,
    Role::ThreadsWaitingForMember,
    Role::ThreadsWaitingForIo,
    Role::ThreadsWaitingForTimer,
];
/// Part of the most threads ever at work from which all of them are, on average. Between two requests, a thread is idle for a moment.
pub(crate) const BUSY_PART_MIN: f64 = 0.85;
/// And up to which they are under low load, or at the begin of a load that is never low.
pub(crate) const LOW_LOAD_PART_MAX: f64 = 0.75;
/// Readings of the begin.
const BEGIN_READINGS: usize = 2;
/// Requests in the system for each thread.
pub(crate) const REQUESTS_PER_THREAD_MIN: f64 = 2.0;
/// Part of the threads that compute, from which the cores may be the limit.
pub(crate) const COMPUTING_PART_MAX: f64 = 0.5;

/// A group of threads that are all at work.
pub(crate) struct BusyThreads<'a> {
    pub(crate) observer: &'a str,
    /// The name of the group, and the runtime's word for threads.
    pub(crate) name: &'a str,
    pub(crate) word: &'a str,
    /// How many there are.
    pub(crate) number: f64,
    /// At work, and in the place where most of them are: means.
    pub(crate) at_work: f64,
    pub(crate) in_place: f64,
    /// The most frequent stack of that place.
    pub(crate) place: SignalReadings<'a>,
    /// The names of the signals of all stacks, the most frequent first.
    pub(crate) series: Vec<String>,
    /// Requests in the system, mean.
    pub(crate) in_system: f64,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl BusyThreads<'_> {
    /// Whether it overlaps another stretch by at least half of either.
    pub(crate) fn is_during(&self, from: f64, to: f64) -> bool {
        overlap_by_half((self.from, self.to), (from, to))
    }
}

/// The group with the fewest threads.
pub(super) fn find<'a>(
    signals: &ObservedSignals<'a>,
    (strain, plateaus): (&Strain, &Plateaus),
    waiting: &[WaitingStretch],
) -> Option<BusyThreads<'a>> {
    let waits = waiting.iter().find(|stretch| stretch.flow.is_none()).map(|stretch| (stretch.from, stretch.load_to));
    let span = plateaus.span().or(waits)?;
    let parts: BTreeSet<ObservedPart<'a>> = AT_WORK.iter().flat_map(|role| signals.parts_with(*role)).collect();
    let found = parts.into_iter().flat_map(|part| groups(signals, part)).filter_map(|(name, stacks)| of_group(name, &stacks, strain, span));
    found.min_by(|a, b| a.number.total_cmp(&b.number))
}

/// The stacks of each named group.
fn groups<'a>(signals: &ObservedSignals<'a>, part: ObservedPart<'a>) -> BTreeMap<&'a str, Vec<SignalReadings<'a>>> {
    let mut groups = BTreeMap::<&str, Vec<SignalReadings<'a>>>::new();
    for readings in AT_WORK.iter().flat_map(|role| signals.read_each(part, *role)) {
        if let Some(name) = readings.label("threads") {
            groups.entry(name).or_default().push(readings);
        }
    }
    groups
}

fn of_group<'a>(name: &'a str, stacks: &[SignalReadings<'a>], strain: &Strain, (from, to): (f64, f64)) -> Option<BusyThreads<'a>> {
    let all = SignalReadings::sum(stacks)?;
    let number = all.points().iter().map(|(_, count)| *count).fold(0.0, f64::max).round();
    let in_system = strain.in_system(from, to)?;
    let is_limit = number >= 1.0 && in_system >= REQUESTS_PER_THREAD_MIN * number && to - from >= LENGTH_MIN_S;
    let at_work = all.mean(from, to).filter(|count| is_limit && *count >= BUSY_PART_MIN * number)?;
    let (low, _) = strain.low_and_high();
    let begin: Vec<f64> = all.points().iter().take(BEGIN_READINGS).map(|(_, count)| *count).collect();
    let was_free =
        [all.mean_inside(&low), Some(statistics::mean(&begin))].into_iter().flatten().any(|count| count <= LOW_LOAD_PART_MAX * number);
    let mean = |readings: &SignalReadings<'a>| readings.mean(from, to).unwrap_or(0.0);
    let computing = stacks.iter().filter(|stack| stack.signal.role == Some(Role::ThreadsOnCpu)).map(mean).sum::<f64>();
    if all.count(from, to) < READINGS_MIN || !was_free || computing > COMPUTING_PART_MAX * number {
        return None;
    }
    let mut places = BTreeMap::<&str, Vec<&SignalReadings<'a>>>::new();
    for stack in stacks.iter().filter(|stack| stack.signal.role != Some(Role::ThreadsOnCpu)) {
        places.entry(stack.label("at").unwrap_or_default()).or_default().push(stack);
    }
    let sum = |stacks: &[&SignalReadings<'a>]| stacks.iter().map(|stack| mean(stack)).sum::<f64>();
    let mut stacks = places.into_values().max_by(|a, b| sum(a).total_cmp(&sum(b)))?;
    stacks.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
    let place = (*stacks.first()?).clone();
    Some(BusyThreads {
        observer: &place.signal.observer,
        name,
        word: &place.signal.unit,
        number,
        at_work,
        in_place: sum(&stacks),
        series: stacks.iter().map(|stack| stack.name()).take(4).collect(),
        place,
        in_system,
        from,
        to,
    })
}
