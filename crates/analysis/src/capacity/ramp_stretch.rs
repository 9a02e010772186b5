//! The load of a run in stretches: what was in the system, and what ended.

use metrics::{SeriesKind, Snapshot};
use run_directory::Run;

/// Stretches into which the load is cut.
const BLOCKS: usize = 40;

/// A stretch of the load, in seconds of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RampStretch {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) block: RampBlock,
}

/// In the system on average, and ended per second.
pub(super) type RampBlock = (f64, f64);

/// Those in which anything was in the system and ended.
pub(super) fn stretches(run: &Run) -> Vec<RampStretch> {
    let asks = |slice: &Snapshot| slice.leaves.iter().any(|leaf| leaf.arrivals_due > 0 || leaf.users_asked > 0);
    let first = run.slices.iter().position(asks).unwrap_or(0);
    let last = run.slices.iter().rposition(asks).map_or(0, |last| last + 1);
    // The first and the last second are seldom whole.
    let seconds = run.slices.get(first + 1..last.saturating_sub(1)).unwrap_or(&[]);
    let length = seconds.len().div_ceil(BLOCKS).max(1);
    let block = |part: &[Snapshot]| {
        let time = part.iter().map(|slice| (slice.end - slice.start) as f64).sum::<f64>();
        let ended: u64 =
            part.iter().flat_map(|slice| &slice.series).filter(|of| of.key.kind == SeriesKind::Request).map(|of| of.count).sum();
        let flight: u64 = part.iter().flat_map(|slice| &slice.generator).map(|worker| worker.in_flight_ns).sum();
        let waiting: u64 = part.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.waiting).sum();
        (flight as f64 / time + waiting as f64 / part.len() as f64, ended as f64 / (time / 1e9))
    };
    let stretch = |part: &[Snapshot]| {
        let (first, last) = (part.first()?, part.last()?);
        Some(RampStretch { from: first.start as f64 / 1e9, to: last.end as f64 / 1e9, block: block(part) })
    };
    let all = seconds.chunks_exact(length).filter_map(stretch);
    all.filter(|RampStretch { block: (inside, ended), .. }| *inside > 0.0 && *ended > 0.0).collect()
}
