//! Work that queues for the few threads that a runtime has for it: Node has two for name lookups.
//!
//! Where more pieces of work are in progress than there are threads for them, the others queue, regardless of their times. Little's law gives the wait from the
//! length of the queue.

use loadstone_metrics::Role;

use super::plateau::Plateaus;
use super::readings::{SignalReadings, longest_run};
use super::search::{LENGTH_MIN_S, READINGS_MIN, SYSTEM_PART_MIN};
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;

/// Pieces of work for each thread from which work queues.
const WORK_PER_THREAD_MIN: f64 = 1.5;
/// Part of the requests in the system that must be in the queue for the queue to be their limit for certain.
const CERTAIN_SYSTEM_PART_MIN: f64 = 0.5;

pub(crate) struct RuntimeQueue<'a> {
    pub(crate) observer: &'a str,
    /// The kind of work: the label `type` of its signal.
    pub(crate) kind: &'a str,
    pub(crate) work: SignalReadings<'a>,
    pub(crate) places: SignalReadings<'a>,
    /// Threads for this work.
    pub(crate) threads: f64,
    /// Pieces of work in progress or queued, mean.
    pub(crate) count: f64,
    /// Requests in the system meanwhile, mean.
    pub(crate) in_system: f64,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl RuntimeQueue<'_> {
    /// Whether requests wait for it: it holds at least half of them, or the plateau shows as many places as it has threads.
    pub(crate) fn is_limit(&self, plateaus: &Plateaus) -> bool {
        self.count >= CERTAIN_SYSTEM_PART_MIN * self.in_system || plateaus.are_places(self.threads)
    }
}

/// The longest queue.
pub(super) fn find<'a>(signals: &ObservedSignals<'a>, strain: &Strain) -> Option<RuntimeQueue<'a>> {
    let of_part = |part: ObservedPart<'a>| {
        let queues = signals.read_each(part, Role::RuntimeWork).into_iter().filter_map(|work| queue(signals, strain, part, work));
        queues.collect::<Vec<_>>()
    };
    signals.parts_with(Role::RuntimeWork).flat_map(of_part).max_by(|a, b| a.count.total_cmp(&b.count))
}

fn queue<'a>(signals: &ObservedSignals<'a>, strain: &Strain, part: ObservedPart<'a>, work: SignalReadings<'a>) -> Option<RuntimeQueue<'a>> {
    let kind = work.label("type")?;
    let places = signals.read_each(part, Role::RuntimeWorkMax).into_iter().find(|places| places.label("type") == Some(kind))?;
    let threads = places.mean(0.0, f64::INFINITY).filter(|threads| *threads >= 1.0)?;
    let span = longest_run(work.points(), READINGS_MIN, LENGTH_MIN_S - 1.0, |count| count >= WORK_PER_THREAD_MIN * threads)?;
    let (from, to) = strain.held_part(span, threads)?;
    let (count, in_system) = (work.mean(from, to)?, strain.in_system(from, to)?);
    (count >= SYSTEM_PART_MIN * in_system).then_some(RuntimeQueue {
        observer: part.observer,
        kind,
        work,
        places,
        threads,
        count,
        in_system,
        from,
        to,
    })
}
