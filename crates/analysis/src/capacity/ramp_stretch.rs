//! The load of a run in stretches: what was in the system, and what ended.

use loadstone_metrics::{SeriesKind, Snapshot};
use loadstone_run_directory::Run;

use crate::statistics::{mean, student_t, variance};

/// Stretches into which the load is cut.
const BLOCKS: usize = 40;
/// More may come in than ends, or less, by this part of what ends, and by chance by so many times its root.
const UNBALANCED: f64 = 0.05;
const UNBALANCED_BY_CHANCE: f64 = 2.0;
/// Stretches in a row in which more comes in than ends before it is no chance, and how many are needed to say what ends meanwhile.
const OVERLOADED_IN_A_ROW: usize = 3;
const OVERLOADED_MIN: usize = 6;
/// Part of the stretches that is taken for what the system really carries.
const CARRIED: usize = 5;
/// The best of many parts is better than it is by itself: its error is taken to be so many times as large.
const CHOSEN: f64 = 1.5;

/// A stretch of the load, in seconds of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RampStretch {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) block: RampBlock,
    /// Ended per second in the stretches beside it: says how high the load is and knows nothing of this one's noise.
    pub(super) ended_beside: f64,
    /// As much ended as came in. The utilisation law compares what is in use with what ends, and holds for what passes through.
    pub(super) is_balanced: bool,
    /// More came in.
    pub(super) piles_up: bool,
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
        let (from, to) = (first.start as f64 / 1e9, last.end as f64 / 1e9);
        Some(RampStretch { from, to, block: block(part), ended_beside: 0.0, is_balanced: true, piles_up: false })
    };
    let all = seconds.chunks_exact(length).filter_map(stretch);
    beside_each_other(all.filter(|RampStretch { block: (inside, ended), .. }| *inside > 0.0 && *ended > 0.0).collect())
}

/// What each learns from those beside it.
fn beside_each_other(mut stretches: Vec<RampStretch>) -> Vec<RampStretch> {
    let blocks: Vec<RampBlock> = stretches.iter().map(|stretch| stretch.block).collect();
    for (index, stretch) in stretches.iter_mut().enumerate() {
        let (before, after) = (index.checked_sub(1), Some(index + 1).filter(|after| *after < blocks.len()));
        let beside: Vec<f64> = before.into_iter().chain(after).map(|beside| blocks[beside].1).collect();
        stretch.ended_beside = mean(&beside);
        let (from, to) = (before.unwrap_or(index), after.unwrap_or(index));
        let piled_up = (blocks[to].0 - blocks[from].0) / to.abs_diff(from).max(1) as f64;
        let ended = stretch.block.1 * (stretch.to - stretch.from);
        let by_chance = f64::max(UNBALANCED * ended, UNBALANCED_BY_CHANCE * ended.sqrt());
        (stretch.is_balanced, stretch.piles_up) = (piled_up.abs() <= by_chance, piled_up > by_chance);
    }
    stretches
}

/// From where more came in than ended, several times in a row, to where it last did; empty where that is not long. All in between count: those alone in
/// which little ended would say too little.
pub(super) fn overloaded(stretches: &[RampStretch]) -> &[RampStretch] {
    let in_a_row = |part: &[RampStretch]| part.iter().all(|stretch| stretch.piles_up);
    let first = stretches.windows(OVERLOADED_IN_A_ROW).position(in_a_row);
    let last = stretches.iter().rposition(|stretch| stretch.piles_up);
    let all = first.zip(last).and_then(|(first, last)| stretches.get(first..=last)).unwrap_or(&[]);
    match all.len() {
        0..OVERLOADED_MIN => &[],
        // Those that showed it are those in which little ended, by chance too.
        length if length >= OVERLOADED_MIN + OVERLOADED_IN_A_ROW => &all[OVERLOADED_IN_A_ROW..],
        _ => all,
    }
}

/// The highest throughput that was held for a fifth of the load, its standard error and the degrees of freedom of that: a single stretch is chance.
fn best_fifth(stretches: &[RampStretch]) -> Option<(f64, f64, f64)> {
    let length = (stretches.len() / CARRIED).max(2);
    let ended = |part: &[RampStretch]| part.iter().map(|stretch| stretch.block.1).collect::<Vec<f64>>();
    let ended = stretches.windows(length).map(ended).max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    Some((mean(&ended), (variance(&ended) / length as f64).sqrt(), length as f64 - 1.0))
}

pub(super) fn held(stretches: &[RampStretch]) -> f64 {
    best_fifth(stretches).map_or(0.0, |(mean, _, _)| mean)
}

/// What the system carried for a fifth of the load at least, as the lower end of its 95 % interval.
pub(super) fn carried(stretches: &[RampStretch]) -> f64 {
    best_fifth(stretches).map_or(0.0, |(mean, error, freedom)| mean - CHOSEN * student_t(freedom) * error)
}
