//! How the times and the throughput of each request respond to the planned load.
//!
//! The load is the *planned* one, arrivals due or users wanted, never a measured one: sorting seconds by a measured load would only find that slow seconds are
//! slow.

use std::collections::BTreeMap;

use loadstone_metrics::{Histogram, SeriesKind, Snapshot};
use loadstone_plan::TestPlan;
use loadstone_run_directory::Run;

use super::load_blocks::{LoadBlock, LoadStretch, is_high, is_low, joined, max_load, smoothed};
use crate::RunTally;
use crate::load_time::LoadTimes;

/// Stretches of equal length into which a run is cut.
const BLOCKS: usize = 40;
/// Requests under low load that show a service time.
const LOW_REQUESTS_MIN: u64 = 50;
/// And blocks.
const LOW_BLOCKS_MIN: usize = 3;
/// Requests that must do where queueing begins sooner.
pub(super) const CALM_REQUESTS_MIN: u64 = 8;
/// And blocks.
const CALM_BLOCKS_MIN: usize = 2;
/// Consecutive blocks of longer times that show that queueing began.
const GROWING_BLOCKS: usize = 3;
/// Parts of the highest load from which a block is at the top of the load, each with the factor by which service must take longer there. Only the very end of
/// a ramp that ends just above a limit shows it. With so little load, times must have grown by more.
const TOP_LOADS: [(f64, f64); 2] = [(0.9, 1.1), (0.95, 1.2)];
/// Part by which the times of each block must grow.
const BLOCK_GROWTH_MIN: f64 = 0.05;
/// Blocks of high load.
const HIGH_BLOCKS_MIN: usize = 4;
/// Highest load over lowest load from which the load has varied.
pub(crate) const LOAD_VARIED_FACTOR_MIN: f64 = 2.0;
/// Time under high load over time under low load from which a request is slower.
pub(crate) const SLOWER_FACTOR_MIN: f64 = 1.5;

/// One request name of one scenario, from low load to high.
#[derive(Debug, Clone)]
pub(crate) struct LoadResponse {
    pub(super) scenario: String,
    pub(crate) name: String,
    /// Whether the load is arrivals; users otherwise.
    pub(crate) is_open: bool,
    pub(crate) count: u64,
    /// The shortest time of any of them. Seconds.
    pub(crate) shortest: f64,
    /// The requests that ended in the seconds of the lowest load, at least two if there were as many, and the sum of their times. Seconds.
    pub(super) first: (u64, f64),
    /// The stretch of the lowest load that is long enough to show service times. `None`: there was none.
    pub(crate) low: Option<LoadStretch>,
    /// The stretch of high load.
    pub(crate) high: Option<LoadStretch>,
    pub(super) blocks: Vec<LoadBlock>,
}

impl LoadResponse {
    /// All request names of scenarios with one kind of load.
    pub(super) fn of(run: &Run, tally: &RunTally) -> Vec<LoadResponse> {
        let loads = asked_by_scenario(&run.plan, &run.slices);
        let mut times = LoadTimes::default();
        run.slices.iter().for_each(|slice| times.push(slice));
        tally
            .of_kind(SeriesKind::Request)
            .filter_map(|series| {
                let key = &series.merged.key;
                let (is_open, load) = loads.get(&*key.scenario)?;
                // The second in which the load ended is not complete. Where that second is not known, it may be the last one.
                let asked: Vec<(&Snapshot, &f64)> = run.slices.iter().zip(load).filter(|(_, load)| **load > 0.0).collect();
                let time = times.of(Some(&key.scenario));
                let is_whole = asked.last().is_some_and(|(last, _)| time.covers(last));
                let asked = if is_whole { &asked[..] } else { &asked[..asked.len().saturating_sub(1)] };
                let seconds = asked.iter().map(|(slice, load)| {
                    let found = slice.series.iter().find(|series| series.key == *key);
                    LoadBlock {
                        from: slice.start as f64 / 1e9,
                        to: slice.end as f64 / 1e9,
                        load: **load,
                        count: found.map_or(0, |series| series.count),
                        failed: found.map_or(0, |series| series.failed),
                        service_sum: found.map_or(0.0, |series| series.service.sum() as f64 / 1e9),
                        service_squares: found.map_or(0.0, |series| squares(&series.service)),
                    }
                });
                let shortest = series.merged.service.min() as f64 / 1e9;
                Some(Self::from_seconds(key.scenario.to_string(), key.name.to_string(), *is_open, shortest, seconds.collect()))
            })
            .collect()
    }

    pub(super) fn from_seconds(scenario: String, name: String, is_open: bool, shortest: f64, seconds: Vec<LoadBlock>) -> Self {
        // The first second is seldom complete. Seconds that do not fill a block are left out at the begin: the end of a ramp is the top of its load.
        let inner = seconds.get(1..).unwrap_or(&[]);
        let length = inner.len().div_ceil(BLOCKS).max(1);
        let blocks = smoothed(inner[inner.len() % length..].chunks_exact(length).filter_map(joined).collect());
        let (low, high) = (low_part(&blocks), high_part(&blocks));
        let count = blocks.iter().map(|block| block.count).sum();
        Self { scenario, name, is_open, count, shortest, first: first(&seconds), low, high, blocks }
    }

    /// For the same scenario, with other blocks.
    pub(super) fn of_blocks(of: &Self, blocks: Vec<LoadBlock>) -> Self {
        let (low, high) = (low_part(&blocks), high_part(&blocks));
        let count = blocks.iter().map(|block| block.count).sum();
        Self { count, low, high, blocks, ..of.clone() }
    }

    /// The stretch at the top of the load, if service took clearly longer there than under low load. Its mean must have grown by more than the scatter of so
    /// many requests, and each of its blocks by a little.
    pub(crate) fn grown_top(&self) -> Option<LoadStretch> {
        let (low, max) = (self.low?, max_load(&self.blocks));
        TOP_LOADS.into_iter().find_map(|(part, times)| {
            let top: Vec<&LoadBlock> = self.blocks.iter().filter(|block| block.load >= part * max && block.count > 0).collect();
            let stretch = LoadStretch::of(&top).filter(|of| top.len() >= CALM_BLOCKS_MIN && of.count >= CALM_REQUESTS_MIN)?;
            let scatter = 3.0 * stretch.service_deviation / (stretch.count.max(1) as f64).sqrt();
            let is_grown = stretch.service > times * (low.service + 2.0 * low.service_error) + scatter;
            (is_grown && top.iter().all(|block| self.is_grown(1.0 + BLOCK_GROWTH_MIN, block))).then_some(stretch)
        })
    }

    /// Requests per unit of load while the target keeps up, from the lower half of the load. The lowest part counts if it shows more, since a target may be at
    /// its limit within the lower half already.
    pub(crate) fn throughput_per_load(&self) -> Option<f64> {
        self.low_loads().map(|part| part.throughput / part.load).reduce(f64::max)
    }

    /// The lowest part of the load, and its lower half.
    fn low_loads(&self) -> impl Iterator<Item = LoadStretch> {
        let max = max_load(&self.blocks);
        let lower: Vec<&LoadBlock> = self.blocks.iter().filter(|block| block.load <= max / 2.0).collect();
        [self.low, LoadStretch::of(&lower)].into_iter().flatten()
    }

    /// Whether throughput at high load is at least `part` of what each of the low loads predicts, less twice the error of both, and never below `least` of it.
    /// A few seconds of low load are no more certain than as many of high load.
    pub(crate) fn throughput_follows(&self, part: f64, least: f64) -> bool {
        let Some(high) = self.high else { return false };
        self.low_loads().all(|low| {
            let times = high.load / low.load;
            let (promised, error) = (low.throughput * times, (low.throughput_error * times).hypot(high.throughput_error));
            high.throughput >= (part * promised - 2.0 * error).max(least * promised)
        })
    }

    /// Requests that ended per second in a stretch of time; `None` where no block overlaps it.
    pub(super) fn rate_between(&self, from: f64, to: f64) -> Option<f64> {
        LoadStretch::of(&self.blocks.iter().filter(|block| block.to > from && block.from < to).collect::<Vec<_>>())
            .map(|part| part.throughput)
    }

    /// Mean service time in a stretch of time over that under low load, or over that before where the load was never low; `None` without enough requests in
    /// either.
    pub(super) fn inflation(&self, from: f64, to: f64) -> Option<f64> {
        let before = self.low.or_else(|| LoadStretch::of(&self.blocks_between(0.0, from)).filter(|part| part.count >= LOW_REQUESTS_MIN))?;
        let during = LoadStretch::of(&self.blocks_between(from, to))?;
        (before.service > 0.0 && during.count >= LOW_REQUESTS_MIN).then(|| during.service / before.service)
    }

    /// When service began to take longer than `beyond` seconds for several blocks in a row.
    pub(super) fn onset(&self, beyond: f64) -> Option<f64> {
        let filled: Vec<&LoadBlock> = self.blocks.iter().filter(|block| block.count > 0).collect();
        let grows = |next: &&[&LoadBlock]| next.iter().all(|block| block.service_sum > beyond * block.count as f64);
        filled.windows(GROWING_BLOCKS).find(grows).map(|next| next[0].from)
    }

    /// The length of a block. Seconds.
    pub(super) fn block_length(&self) -> f64 {
        self.blocks.first().map_or(1.0, |block| block.to - block.from)
    }

    /// How much longer service took in a stretch of time than under low load. Seconds.
    pub(crate) fn growth(&self, from: f64, to: f64) -> Option<f64> {
        Some(LoadStretch::of(&self.blocks_between(from, to))?.service - self.low?.service)
    }

    /// The same with its standard error, from the scatter of single times.
    pub(super) fn growth_and_error(&self, from: f64, to: f64) -> Option<(f64, f64)> {
        let (low, during) = (self.low?, LoadStretch::of(&self.blocks_between(from, to))?);
        let error = |part: &LoadStretch| part.service_deviation / (part.count.max(1) as f64).sqrt();
        Some((during.service - low.service, error(&low).hypot(error(&during))))
    }

    /// Whether service took at least `times` as long as under low load in three quarters of the blocks of a stretch. A few blocks may move a mean, and a
    /// standard error misleads where times grow from block to block.
    pub(super) fn has_grown(&self, times: f64, from: f64, to: f64) -> bool {
        let blocks = self.blocks_between(from, to);
        let grown = blocks.iter().filter(|block| self.is_grown(times, block)).count();
        !blocks.is_empty() && grown * 4 >= blocks.len() * 3
    }

    /// Mean service under low load and under high load, outside of a stretch of time. Seconds; `None` without requests in either.
    pub(crate) fn low_and_high_outside(&self, (from, to): (f64, f64)) -> Option<(f64, f64)> {
        let max = max_load(&self.blocks);
        let of = |holds: &dyn Fn(f64) -> bool| {
            let is_outside = |block: &&LoadBlock| block.to <= from || block.from >= to;
            let blocks: Vec<&LoadBlock> =
                self.blocks.iter().filter(is_outside).filter(|block| block.count > 0 && holds(block.load)).collect();
            LoadStretch::of(&blocks).map(|part| part.service)
        };
        Some((of(&|load| is_low(load, max))?, of(&|load| is_high(load, max))?))
    }

    /// The blocks that lie in a stretch of time, together.
    pub(crate) fn stretch_between(&self, (from, to): (f64, f64)) -> Option<LoadStretch> {
        LoadStretch::of(&self.blocks_between(from, to))
    }

    /// Whether the planned load varied by a factor of two or more.
    pub(crate) fn load_has_varied(&self) -> bool {
        let least = self.blocks.iter().map(|block| block.load).fold(f64::INFINITY, f64::min);
        max_load(&self.blocks) >= LOAD_VARIED_FACTOR_MIN * least
    }

    /// Whether service took clearly longer under high load than under low load.
    pub(crate) fn has_grown_with_load(&self) -> bool {
        self.high.is_some_and(|high| self.has_grown(SLOWER_FACTOR_MIN, high.from, high.to))
    }

    /// The same for the mean alone, regardless of single blocks.
    pub(crate) fn is_slower_on_average(&self) -> bool {
        matches!((self.low, self.high), (Some(low), Some(high)) if high.service >= SLOWER_FACTOR_MIN * (low.service + 2.0 * low.service_error))
    }

    /// The blocks in the upper half of the load in which service took at least `times` as long as under low load.
    pub(super) fn grown_blocks(&self, times: f64) -> Vec<&LoadBlock> {
        let max = max_load(&self.blocks);
        self.blocks.iter().filter(|block| block.load >= max / 2.0 && self.is_grown(times, block)).collect()
    }

    fn is_grown(&self, times: f64, block: &LoadBlock) -> bool {
        self.low.is_some_and(|low| block.service_sum > times * (low.service + 2.0 * low.service_error) * block.count as f64)
    }

    pub(super) fn blocks_between(&self, from: f64, to: f64) -> Vec<&LoadBlock> {
        self.blocks.iter().filter(|block| block.from >= from && block.to <= to && block.count > 0).collect()
    }
}

/// See [`LoadResponse::first`].
fn first(seconds: &[LoadBlock]) -> (u64, f64) {
    let mut by_load: Vec<&LoadBlock> = seconds.iter().filter(|second| second.count > 0).collect();
    by_load.sort_by(|a, b| a.load.total_cmp(&b.load));
    let mut sum = (0, 0.0);
    for second in by_load {
        if sum.0 >= 2 {
            break;
        }
        sum = (sum.0 + second.count, sum.1 + second.service_sum);
    }
    sum
}

/// Sum of the squared times of a histogram. Seconds squared.
fn squares(times: &Histogram) -> f64 {
    times.bars().map(|(low, high, count)| ((low as f64 + high as f64) / 2e9).powi(2) * count as f64).sum()
}

/// The planned load of each scenario, second by second: arrivals of open load profiles, or users of closed ones. A scenario with both has no single load and
/// is left out.
fn asked_by_scenario(plan: &TestPlan, slices: &[Snapshot]) -> BTreeMap<String, (bool, Vec<f64>)> {
    let leaves = plan.load.leaves();
    let mut loads: BTreeMap<String, (bool, Vec<f64>)> = BTreeMap::new();
    for (index, scenario) in plan.scenarios.iter().enumerate() {
        let of_scenario: Vec<u32> = (0..leaves.len() as u32).filter(|leaf| leaves[*leaf as usize].scenario.0 as usize == index).collect();
        let open = of_scenario.iter().filter(|leaf| leaves[**leaf as usize].profile.is_open()).count();
        if open != 0 && open != of_scenario.len() {
            continue;
        }
        let asked = |slice: &Snapshot| {
            let mine = slice.leaves.iter().filter(|leaf| of_scenario.contains(&leaf.leaf));
            mine.map(|leaf| if open > 0 { leaf.arrivals_due as f64 / f64::from(slice.seconds()) } else { leaf.users_asked as f64 })
                .sum::<f64>()
        };
        loads.insert(scenario.name.clone(), (open > 0, slices.iter().map(asked).collect()));
    }
    loads
}

/// The blocks of the lowest load before the load was high for the first time, no more than needed to show a service time: more would include queueing. Where
/// queueing begins earlier, the blocks before it.
fn low_part(blocks: &[LoadBlock]) -> Option<LoadStretch> {
    let max = max_load(blocks);
    let until = blocks.iter().position(|block| is_high(block.load, max))?;
    let mut early: Vec<&LoadBlock> = blocks[..until].iter().filter(|block| block.count > 0 && block.load <= max / 2.0).collect();
    early.sort_by(|a, b| a.load.total_cmp(&b.load).then(a.from.total_cmp(&b.from)));
    let calm = &early[..calm_blocks(&early)];
    let mut count = 0;
    let enough = calm.iter().position(|block| {
        count += block.count;
        count >= LOW_REQUESTS_MIN
    });
    let is_cut = calm.len() < early.len();
    let few = || (is_cut && count >= CALM_REQUESTS_MIN).then_some(calm.len());
    let length = enough.map(|last| (last + 1).max(if is_cut { CALM_BLOCKS_MIN } else { LOW_BLOCKS_MIN })).or_else(few)?;
    LoadStretch::of(calm.get(..length)?)
}

/// How many blocks, from the lowest load up, come before times grow for good: the next blocks all take longer than those before together.
fn calm_blocks(early: &[&LoadBlock]) -> usize {
    let grows_from = |index: &usize| {
        let (before, after) = early.split_at(*index);
        let Some(usual) = LoadStretch::of(before).filter(|usual| usual.count >= CALM_REQUESTS_MIN) else { return false };
        let next = &after[..after.len().min(GROWING_BLOCKS)];
        next.len() == GROWING_BLOCKS && next.iter().all(|block| is_beyond(&usual, block))
    };
    (CALM_BLOCKS_MIN..early.len()).find(grows_from).unwrap_or(early.len())
}

/// Whether the mean of a block clearly exceeds the usual mean: by half, or by more than the scatter of this many requests.
fn is_beyond(usual: &LoadStretch, block: &LoadBlock) -> bool {
    let mean = block.service_sum / block.count.max(1) as f64;
    let scatter = 3.0 * usual.service_deviation / (block.count.max(1) as f64).sqrt();
    mean > SLOWER_FACTOR_MIN * usual.service || mean > usual.service + scatter.max(BLOCK_GROWTH_MIN * usual.service)
}

fn high_part(blocks: &[LoadBlock]) -> Option<LoadStretch> {
    let max = max_load(blocks);
    let high: Vec<&LoadBlock> = blocks.iter().filter(|block| is_high(block.load, max)).collect();
    if high.len() < HIGH_BLOCKS_MIN { None } else { LoadStretch::of(&high) }
}
