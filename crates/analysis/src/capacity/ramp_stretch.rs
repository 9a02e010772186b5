//! Segments of a run's load: the requests in the system, and the requests that ended.

use loadstone_metrics::{SeriesKind, Snapshot};
use loadstone_run_directory::Run;

use crate::statistics::{mean, student_t, variance};

/// Number of segments of the load.
const SEGMENTS: usize = 40;
/// A segment is balanced if arrivals and completions differ by at most this share of the completions, or by chance by this multiple of the
/// square root of their number.
const BALANCE_SHARE_MAX: f64 = 0.05;
const BALANCE_DEVIATIONS_MAX: f64 = 2.0;
/// Minimum number of consecutive segments with more arrivals than completions to be significant, and minimum length of an overload to
/// measure its throughput.
const OVERLOADED_IN_A_ROW_MIN: usize = 3;
const OVERLOADED_MIN: usize = 6;
/// The sustained throughput is measured over one part in this many of the load.
const CARRIED_ONE_IN: usize = 5;
/// The best of many parts is biased upwards: its error is multiplied by this factor.
const SELECTION_ERROR_FACTOR: f64 = 1.5;

/// A segment of the load, in seconds of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RampSegment {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) block: RampBlock,
    /// Requests ended per second in the neighbouring segments: it shows the level of the load, and is independent of this segment's noise.
    pub(super) ended_in_neighbours: f64,
    /// Completions matched arrivals. The utilisation law relates the use of a resource to completions, and is only valid for requests that
    /// pass through.
    pub(super) is_balanced: bool,
    /// More arrived than ended.
    pub(super) piles_up: bool,
}

/// Average number of requests in the system, and requests ended per second.
pub(super) type RampBlock = (f64, f64);

/// The segments in which requests were in the system and ended.
pub(super) fn segments(run: &Run) -> Vec<RampSegment> {
    let asks = |slice: &Snapshot| slice.leaves.iter().any(|leaf| leaf.arrivals_due > 0 || leaf.users_asked > 0);
    let first = run.slices.iter().position(asks).unwrap_or(0);
    let last = run.slices.iter().rposition(asks).map_or(0, |last| last + 1);
    // The first and the last second are rarely complete.
    let seconds = run.slices.get(first + 1..last.saturating_sub(1)).unwrap_or(&[]);
    let length = seconds.len().div_ceil(SEGMENTS).max(1);
    let block = |part: &[Snapshot]| {
        let time = part.iter().map(|slice| (slice.end - slice.start) as f64).sum::<f64>();
        let ended: u64 =
            part.iter().flat_map(|slice| &slice.series).filter(|of| of.key.kind == SeriesKind::Request).map(|of| of.count).sum();
        let flight: u64 = part.iter().flat_map(|slice| &slice.generator).map(|worker| worker.in_flight_ns).sum();
        let waiting: u64 = part.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.waiting).sum();
        (flight as f64 / time + waiting as f64 / part.len() as f64, ended as f64 / (time / 1e9))
    };
    let segment = |part: &[Snapshot]| {
        let (first, last) = (part.first()?, part.last()?);
        let (from, to) = (first.start as f64 / 1e9, last.end as f64 / 1e9);
        Some(RampSegment { from, to, block: block(part), ended_in_neighbours: 0.0, is_balanced: true, piles_up: false })
    };
    let all = seconds.chunks_exact(length).filter_map(segment);
    with_neighbours(all.filter(|RampSegment { block: (inside, ended), .. }| *inside > 0.0 && *ended > 0.0).collect())
}

/// Fills in the fields that depend on the neighbouring segments.
fn with_neighbours(mut segments: Vec<RampSegment>) -> Vec<RampSegment> {
    let blocks: Vec<RampBlock> = segments.iter().map(|segment| segment.block).collect();
    for (index, segment) in segments.iter_mut().enumerate() {
        let (before, after) = (index.checked_sub(1), Some(index + 1).filter(|after| *after < blocks.len()));
        let neighbours: Vec<f64> = before.into_iter().chain(after).map(|index| blocks[index].1).collect();
        segment.ended_in_neighbours = mean(&neighbours);
        let (from, to) = (before.unwrap_or(index), after.unwrap_or(index));
        let piled_up = (blocks[to].0 - blocks[from].0) / to.abs_diff(from).max(1) as f64;
        let ended = segment.block.1 * (segment.to - segment.from);
        let by_chance = f64::max(BALANCE_SHARE_MAX * ended, BALANCE_DEVIATIONS_MAX * ended.sqrt());
        (segment.is_balanced, segment.piles_up) = (piled_up.abs() <= by_chance, piled_up > by_chance);
    }
    segments
}

/// From the first of several consecutive segments in which more arrived than ended, to the last such segment; empty if this is short. All
/// segments in between count: only those with few completions would give too low a throughput.
pub(super) fn overloaded(segments: &[RampSegment]) -> &[RampSegment] {
    let in_a_row = |part: &[RampSegment]| part.iter().all(|segment| segment.piles_up);
    let first = segments.windows(OVERLOADED_IN_A_ROW_MIN).position(in_a_row);
    let last = segments.iter().rposition(|segment| segment.piles_up);
    let all = first.zip(last).and_then(|(first, last)| segments.get(first..=last)).unwrap_or(&[]);
    match all.len() {
        0..OVERLOADED_MIN => &[],
        // The segments that revealed the overload had few completions, partly by chance.
        length if length >= OVERLOADED_MIN + OVERLOADED_IN_A_ROW_MIN => &all[OVERLOADED_IN_A_ROW_MIN..],
        _ => all,
    }
}

/// The highest throughput that lasted for a fifth of the load, its standard error and its degrees of freedom. A single segment would be
/// chance.
fn best_fifth(segments: &[RampSegment]) -> Option<(f64, f64, f64)> {
    let length = (segments.len() / CARRIED_ONE_IN).max(2);
    let ended = |part: &[RampSegment]| part.iter().map(|segment| segment.block.1).collect::<Vec<f64>>();
    let ended = segments.windows(length).map(ended).max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    Some((mean(&ended), (variance(&ended) / length as f64).sqrt(), length as f64 - 1.0))
}

pub(super) fn highest_sustained(segments: &[RampSegment]) -> f64 {
    best_fifth(segments).map_or(0.0, |(mean, _, _)| mean)
}

/// The throughput that the system sustained for at least a fifth of the load, as the lower end of its 95 % interval.
pub(super) fn carried(segments: &[RampSegment]) -> f64 {
    best_fifth(segments).map_or(0.0, |(mean, error, freedom)| mean - SELECTION_ERROR_FACTOR * student_t(freedom) * error)
}
