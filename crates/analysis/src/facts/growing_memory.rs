//! Resident memory of a process that grew with the requests and never fell by much: a leak, or a heap that is not full yet. A run cannot distinguish the two
//! before the heap is full.

use loadstone_metrics::Role;

use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;

/// Growth in the second half of a stretch that is reported. Bytes.
const GROWTH_MIN_BYTES: f64 = 10e6;
/// And as a part of the memory at its begin.
const GROWTH_PART_MIN: f64 = 0.1;
/// Part of its growth that memory may release in between and still count as growing.
pub(super) const RELEASED_PART_MAX: f64 = 0.2;
/// Parts of that half in each of which it must have grown. Memory that is allocated all at once, for new connections, is no leak.
const GROWING_PARTS: usize = 4;
/// Part of the whole growth in each of them.
const EACH_PART_GROWTH_MIN: f64 = 0.1;

/// Bytes.
pub(crate) struct GrowingMemory<'a> {
    pub(crate) observer: &'a str,
    /// At the begin of the stretch.
    pub(crate) first: f64,
    /// At its end.
    pub(crate) last: f64,
    /// Growth per request in its second half.
    pub(crate) each: f64,
    /// The name of the signal.
    pub(crate) series: String,
}

/// The first such process of one observer, or of any observer, in a stretch of the run.
pub(crate) fn find<'a>(
    signals: &ObservedSignals<'a>,
    strain: &Strain,
    observer: Option<&str>,
    (from, to): (f64, f64),
) -> Option<GrowingMemory<'a>> {
    let throughput = strain.throughput(from, to);
    let grown = |part: ObservedPart<'a>| {
        let memory = signals.read(part, Role::ProcessMemory)?;
        // The memory that a process needs to start is left out.
        let points: Vec<(f64, f64)> = memory.between(from.midpoint(to), to).collect();
        let ((began, first), (ended, last)) = (*points.first()?, *points.last()?);
        let fallen = points.windows(2).map(|pair| (pair[0].1 - pair[1].1).max(0.0)).sum::<f64>();
        let each = (last - first) / (throughput * (ended - began)).max(1.0);
        let parts = points.chunks(points.len().div_ceil(GROWING_PARTS)).map(|part| part[part.len() - 1].1);
        let is_steady = parts
            .scan(first, |before, now| Some(now - std::mem::replace(before, now)))
            .all(|by| by >= EACH_PART_GROWTH_MIN * (last - first));
        let grows = last - first >= GROWTH_MIN_BYTES
            && last - first >= GROWTH_PART_MIN * first
            && fallen <= RELEASED_PART_MAX * (last - first)
            && is_steady;
        let begin = memory.between(from, to).next()?.1;
        // Memory that fell from a higher level before did not grow all the time.
        let grows = grows && last - begin >= last - first;
        grows.then(|| GrowingMemory { observer: part.observer, first: begin, last, each, series: memory.name() })
    };
    let of = |part: &ObservedPart<'a>| observer.is_none_or(|observer| part.observer == observer);
    signals.parts_with(Role::ProcessMemory).filter(of).find_map(grown)
}
