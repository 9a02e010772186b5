//! A process that is too busy to accept connections: the kernel holds them in the accept queue of its socket.
//!
//! The kernel completes connections and queues them until the process accepts them (listen(2), tcp(7)). A process that accepts without delay keeps that queue
//! empty. A queue that is never empty means that all of its workers, or its only thread, are busy all the time.

use loadstone_metrics::Role;

use super::readings::SignalReadings;
use super::signals::ObservedSignals;
use super::strain::Strain;

/// Connections in the queue, on average, in the last third of the load, from which requests wait there.
pub(crate) const QUEUED_MIN: f64 = 5.0;
/// And as a multiple of those in the first third, if the queue was empty in between.
pub(crate) const GROWN_FACTOR_MIN: f64 = 3.0;
/// Share of the readings of the last third in which a queue that is never empty has a connection.
pub(crate) const FILLED_SHARE_MIN: f64 = 0.95;
/// Part of the limit of descriptors from which none is free, and the share of the readings with a filled queue in which that holds.
const DESCRIPTORS_PART_MIN: f64 = 0.97;
const DESCRIPTORS_SHARE_MIN: f64 = 0.8;
/// Seconds between readings of the same instant.
const READING_NEAR_S: f64 = 0.6;
/// Readings in the last third.
const READINGS_MIN: usize = 5;

/// Connections that waited to be accepted while the load lasted.
#[derive(Debug, Clone)]
pub(crate) struct AcceptQueue<'a> {
    /// The observer of the process.
    pub(crate) process: &'a str,
    pub(crate) series: String,
    /// Mean number of connections in the first third of the load and in the last, and the most of any reading.
    pub(crate) first: f64,
    pub(crate) last: f64,
    pub(crate) most: f64,
    /// Threads of the process and its children, if their number was constant.
    pub(crate) threads: Option<f64>,
    /// Its limit of descriptors, and the name of the signal of the open ones, if all were open while the queue was filled.
    pub(crate) descriptors: Option<(f64, String)>,
    /// From the first reading since which the queue was seldom empty, to the end of the load. Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// The process with the longest queue.
pub(super) fn find<'a>(signals: &ObservedSignals<'a>, strain: &Strain) -> Option<AcceptQueue<'a>> {
    let (begin, end) = strain.loaded()?;
    let third = (end - begin) / 3.0;
    let found = signals.parts_with(Role::AcceptQueue).filter_map(|part| {
        let queue = signals.read(part, Role::AcceptQueue)?;
        let (first, last) = (queue.mean(begin, begin + third)?, queue.mean(end - third, end)?);
        let is_filled = queue.share(end - third, end, |count| count >= 1.0)? >= FILLED_SHARE_MIN;
        let has_grown = last >= GROWN_FACTOR_MIN * first;
        // A process without a free descriptor accepts again as soon as some connections close, so that the queue is empty at times.
        let descriptors = used_up_descriptors(signals, part.observer, &queue, (begin, end));
        let is_queue =
            last >= QUEUED_MIN && (is_filled || has_grown || descriptors.is_some()) && queue.count(end - third, end) >= READINGS_MIN;
        let threads = signals.read(part, Role::ProcessThreads).and_then(|threads| threads.steady(begin, end));
        is_queue.then(|| AcceptQueue {
            process: part.observer,
            series: queue.name(),
            first,
            last,
            most: queue.between(begin, end).map(|(_, count)| count).fold(0.0, f64::max),
            threads,
            descriptors,
            from: onset(&queue, (begin, end)),
            to: end,
        })
    });
    found.max_by(|a, b| a.last.total_cmp(&b.last))
}

/// The limit of descriptors of a process that had all of them open while connections waited. It cannot accept another one (accept(2), EMFILE).
fn used_up_descriptors(
    signals: &ObservedSignals<'_>,
    process: &str,
    queue: &SignalReadings<'_>,
    (begin, end): (f64, f64),
) -> Option<(f64, String)> {
    let of = |role: Role| signals.parts_with(role).find(|part| part.observer == process).and_then(|part| signals.read(part, role));
    let (open, limit) = (of(Role::ProcessDescriptors)?, of(Role::ProcessDescriptorsMax)?);
    let filled: Vec<f64> = queue.between(begin, end).filter(|(_, count)| *count >= 1.0).map(|(at, _)| at).collect();
    let are_all_open = |at: &&f64| {
        let near = (**at - READING_NEAR_S, **at + READING_NEAR_S);
        open.mean(near.0, near.1).zip(limit.mean(near.0, near.1)).is_some_and(|(open, limit)| open >= DESCRIPTORS_PART_MIN * limit)
    };
    let used_up = filled.iter().filter(are_all_open).count();
    let last = limit.points().last().map(|(_, limit)| *limit)?;
    (used_up > 0 && used_up as f64 >= DESCRIPTORS_SHARE_MIN * filled.len() as f64).then(|| (last, open.name()))
}

fn onset(queue: &SignalReadings<'_>, (begin, end): (f64, f64)) -> f64 {
    let filled = queue.longest_where(READINGS_MIN, 0.0, |at, count| (begin..=end).contains(&at) && count >= 1.0);
    filled.map_or(begin, |(from, _)| from)
}
