//! How one request answers to the load that is asked for: what the rules of this family look at.
//!
//! The load is the one that was *asked* (arrivals due, users wanted), never what resulted: sorting seconds by a measured load would find that
//! slow seconds are slow.

use std::collections::BTreeMap;

use metrics::{SeriesKind, Snapshot};
use plan::TestPlan;
use run_directory::Run;

use crate::Tally;

/// Stretches of equal length into which a run is cut.
const BLOCKS: usize = 40;
/// Requests that the low-load part needs to show a service time.
const LOW_REQUESTS_MIN: u64 = 50;
const LOW_BLOCKS_MIN: usize = 3;
const HIGH_BLOCKS_MIN: usize = 4;

/// One request name of one scenario, from low load to high.
#[derive(Debug, Clone)]
pub(crate) struct LoadResponse {
    pub(crate) name: String,
    /// Whether the load is arrivals; users otherwise.
    pub(crate) is_open: bool,
    pub(crate) count: u64,
    /// The least load that was asked for, long enough to see service times. `None`: there was no such stretch.
    pub(crate) low: Option<Part>,
    /// The load from two thirds of the maximum upward.
    pub(crate) high: Option<Part>,
    pub(crate) blocks: Vec<Block>,
}

/// A stretch of the run. Seconds since the run began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Arrivals asked per second, or users asked.
    pub(crate) load: f64,
    pub(crate) count: u64,
    pub(crate) failed: u64,
    pub(crate) service_sum: f64,
}

/// Several blocks together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) load: f64,
    pub(crate) count: u64,
    pub(crate) failed: u64,
    /// Ended per second, and its standard error over the blocks.
    pub(crate) throughput: f64,
    pub(crate) throughput_error: f64,
    /// Mean service time in seconds, and its standard error over the blocks.
    pub(crate) service: f64,
    pub(crate) service_error: f64,
}

impl LoadResponse {
    /// All request names that ended often enough to say something.
    pub(crate) fn of(run: &Run, tally: &Tally) -> Vec<LoadResponse> {
        let loads = asked_by_scenario(&run.plan, &run.slices);
        tally
            .of_kind(SeriesKind::Request)
            .filter_map(|series| {
                let key = &series.merged.key;
                let (is_open, load) = loads.get(&*key.scenario)?;
                let seconds = run.slices.iter().zip(load).filter(|(_, load)| **load > 0.0);
                let seconds = seconds.map(|(slice, load)| {
                    let found = slice.series.iter().find(|series| series.key == *key);
                    Block {
                        from: slice.start as f64 / 1e9,
                        to: slice.end as f64 / 1e9,
                        load: *load,
                        count: found.map_or(0, |series| series.count),
                        failed: found.map_or(0, |series| series.failed),
                        service_sum: found.map_or(0.0, |series| series.service.sum() as f64 / 1e9),
                    }
                });
                Some(Self::from_seconds(key.name.to_string(), *is_open, seconds.collect()))
            })
            .collect()
    }

    fn from_seconds(name: String, is_open: bool, seconds: Vec<Block>) -> Self {
        // The first and the last second are seldom whole.
        let inner = seconds.get(1..seconds.len().saturating_sub(1)).unwrap_or(&[]);
        let length = inner.len().div_ceil(BLOCKS).max(1);
        let blocks = smoothed(inner.chunks_exact(length).filter_map(joined).collect());
        let (low, high) = (low_part(&blocks), high_part(&blocks));
        Self { name, is_open, count: blocks.iter().map(|block| block.count).sum(), low, high, blocks }
    }

    /// Requests per unit of load while the target keeps up: what the lower half of the load shows, or its lowest part if that is more
    /// (a target may be at its limit within the lower half already).
    pub(crate) fn throughput_per_load(&self) -> Option<f64> {
        let max = max_load(&self.blocks);
        let lower: Vec<&Block> = self.blocks.iter().filter(|block| block.load <= max / 2.0).collect();
        let per_load = |part: Part| part.throughput / part.load;
        [self.low, Part::of(&lower)].into_iter().flatten().map(per_load).reduce(f64::max)
    }

    /// How many times longer service took on average in a stretch of time than under low load, or, where the load never was low, than
    /// before; `None` without enough requests in either.
    pub(crate) fn inflation(&self, from: f64, to: f64) -> Option<f64> {
        let before = self.low.or_else(|| Part::of(&self.blocks_between(0.0, from)).filter(|part| part.count >= LOW_REQUESTS_MIN))?;
        let during = Part::of(&self.blocks_between(from, to))?;
        (before.service > 0.0 && during.count >= LOW_REQUESTS_MIN).then(|| during.service / before.service)
    }

    /// Whether service took at least `times` as long as under low load in nearly all of a stretch: a mean alone could be moved by a few blocks,
    /// and a standard error misleads where times grow from block to block.
    pub(crate) fn has_grown(&self, times: f64, from: f64, to: f64) -> bool {
        let blocks = self.blocks_between(from, to);
        let grown = blocks.iter().filter(|block| self.is_grown(times, block)).count();
        !blocks.is_empty() && grown * 4 >= blocks.len() * 3
    }

    /// The blocks in the upper half of the load in which service took at least `times` as long as under low load.
    pub(crate) fn grown_blocks(&self, times: f64) -> Vec<&Block> {
        let max = max_load(&self.blocks);
        self.blocks.iter().filter(|block| block.load >= max / 2.0 && self.is_grown(times, block)).collect()
    }

    fn is_grown(&self, times: f64, block: &Block) -> bool {
        self.low.is_some_and(|low| block.service_sum > times * (low.service + 2.0 * low.service_error) * block.count as f64)
    }

    fn blocks_between(&self, from: f64, to: f64) -> Vec<&Block> {
        self.blocks.iter().filter(|block| block.from >= from && block.to <= to && block.count > 0).collect()
    }
}

/// What each scenario was asked for, second by second: arrivals of its open leaves or users of its closed ones. A scenario with both kinds
/// has no single load and is left out.
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
            mine.map(|leaf| if open > 0 { leaf.arrivals_due } else { leaf.users_asked }).sum::<u64>() as f64
        };
        loads.insert(scenario.name.clone(), (open > 0, slices.iter().map(asked).collect()));
    }
    loads
}

/// Seconds as one block; `None` without any.
fn joined(seconds: &[Block]) -> Option<Block> {
    let (first, last) = (seconds.first()?, seconds.last()?);
    let length = seconds.len() as f64;
    Some(Block {
        from: first.from,
        to: last.to,
        load: seconds.iter().map(|second| second.load).sum::<f64>() / length,
        count: seconds.iter().map(|second| second.count).sum(),
        failed: seconds.iter().map(|second| second.failed).sum(),
        service_sum: seconds.iter().map(|second| second.service_sum).sum(),
    })
}

/// Each block's load as the mean of itself and its neighbours: random arrivals scatter around the level that was asked for.
fn smoothed(blocks: Vec<Block>) -> Vec<Block> {
    let level = |index: usize| {
        let around = &blocks[index.saturating_sub(1)..(index + 2).min(blocks.len())];
        around.iter().map(|block| block.load).sum::<f64>() / around.len() as f64
    };
    blocks.iter().enumerate().map(|(index, block)| Block { load: level(index), ..*block }).collect()
}

/// Blocks of the least load before the load was high for the first time, as few as show a service time: more would reach into queueing.
fn low_part(blocks: &[Block]) -> Option<Part> {
    let max = max_load(blocks);
    let until = blocks.iter().position(|block| block.load >= max * 2.0 / 3.0)?;
    let mut early: Vec<&Block> = blocks[..until].iter().filter(|block| block.count > 0 && block.load <= max / 2.0).collect();
    early.sort_by(|a, b| a.load.total_cmp(&b.load).then(a.from.total_cmp(&b.from)));
    let mut count = 0;
    let enough = early.iter().position(|block| {
        count += block.count;
        count >= LOW_REQUESTS_MIN
    })?;
    Part::of(early.get(..=enough.max(LOW_BLOCKS_MIN - 1))?)
}

fn high_part(blocks: &[Block]) -> Option<Part> {
    let max = max_load(blocks);
    let high: Vec<&Block> = blocks.iter().filter(|block| block.load >= max * 2.0 / 3.0).collect();
    if high.len() < HIGH_BLOCKS_MIN { None } else { Part::of(&high) }
}

pub(crate) fn max_load(blocks: &[Block]) -> f64 {
    blocks.iter().map(|block| block.load).fold(0.0, f64::max)
}

impl Block {
    pub(crate) fn throughput(&self) -> f64 {
        self.count as f64 / (self.to - self.from).max(1e-9)
    }
}

impl Part {
    /// `None` when nothing ended in the blocks.
    pub(crate) fn of(blocks: &[&Block]) -> Option<Part> {
        let count: u64 = blocks.iter().map(|block| block.count).sum();
        if count == 0 {
            return None;
        }
        let seconds: f64 = blocks.iter().map(|block| block.to - block.from).sum();
        let throughput = count as f64 / seconds;
        let service = blocks.iter().map(|block| block.service_sum).sum::<f64>() / count as f64;
        let m = blocks.len() as f64;
        // Of the mean over blocks; for the service time, blocks weigh by their requests.
        let error = |squares: f64| if m > 1.0 { (squares / (m * (m - 1.0))).sqrt() } else { f64::INFINITY };
        let throughput_error = error(blocks.iter().map(|block| (block.throughput() - throughput).powi(2)).sum());
        let mean_count = count as f64 / m;
        let service_error = error(blocks.iter().map(|block| (block.service_sum - service * block.count as f64).powi(2)).sum()) / mean_count;
        Some(Part {
            from: blocks.iter().map(|block| block.from).fold(f64::INFINITY, f64::min),
            to: blocks.iter().map(|block| block.to).fold(0.0, f64::max),
            load: blocks.iter().map(|block| block.load).sum::<f64>() / m,
            count,
            failed: blocks.iter().map(|block| block.failed).sum(),
            throughput,
            throughput_error,
            service,
            service_error,
        })
    }
}
