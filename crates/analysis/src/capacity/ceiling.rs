//! The highest throughput of a run whose work waited, for the findings: the same estimate as [`super::RampEstimate`], so that a run and its capacity agree. It
//! needs no time of a request at low load.

use loadstone_metrics::Snapshot;
use loadstone_run_directory::Run;

use super::model::CapacityInterval;
use super::ramp::{LEVEL_RATIO_MAX, LocatedCeiling, ceiling};
use super::ramp_stretch::{RampSegment, segments};
use crate::statistics::{best_tenth, mean};

/// Time in the system at the ceiling over that in the best tenth of the segments.
const TIME_FACTOR_MIN: f64 = 2.0;
/// And the least difference. Seconds.
const TIME_GROWTH_MIN_S: f64 = 0.02;
/// Requests in the system at the ceiling. With fewer, none waits for another.
const IN_SYSTEM_MIN: f64 = 2.0;
/// Part of the ceiling from which a segment is at it.
const AT_CEILING_PART_MIN: f64 = 0.9;
/// Planned load of the last quarter over that of the first, from which throughput can level off.
const LOAD_VARIED_FACTOR_MIN: f64 = 2.0;

/// Throughput stopped while requests waited. Instants are seconds since the run began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThroughputCeiling {
    /// Requests per second.
    pub(crate) throughput: CapacityInterval,
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Time in the system in the best tenth of the load, and at the ceiling: requests in the system over throughput (Little 1961). Seconds.
    pub(crate) time_s: (f64, f64),
    /// Requests in the system at the end of the stretch.
    pub(crate) in_system: f64,
    /// More arrived than ended. Otherwise throughput levelled off while the load grew.
    pub(crate) is_overload: bool,
}

impl ThroughputCeiling {
    /// `None`: no work waited, or the run does not show the highest throughput.
    pub(crate) fn of(run: &Run) -> Option<Self> {
        let segments = segments(run);
        let time = |segment: &RampSegment| segment.block.0 / segment.block.1;
        let base = best_tenth(&segments.iter().map(time).collect::<Vec<f64>>())?;
        let waits = |segment: &RampSegment| time(segment) >= TIME_FACTOR_MIN * base + TIME_GROWTH_MIN_S && segment.block.0 >= IN_SYSTEM_MIN;
        // The estimate is costly.
        if !segments.last().is_some_and(waits) {
            return None;
        }
        let LocatedCeiling { throughput, is_overload, from, .. } = ceiling(run, &segments).ok()?;
        // Throughput of a constant random load varies without levelling off.
        if !is_overload && !load_has_varied(run) {
            return None;
        }
        // A count of few requests has a wide interval, although they pile up beyond chance.
        if !is_overload && throughput.high > LEVEL_RATIO_MAX * throughput.low {
            return None;
        }
        let is_at = |segment: &RampSegment| waits(segment) && segment.carried >= AT_CEILING_PART_MIN * throughput.low;
        let from = from.or_else(|| segments.iter().find(|segment| is_at(segment)).map(|segment| segment.from))?;
        let stretch: Vec<&RampSegment> = segments.iter().filter(|segment| segment.from >= from).collect();
        let (inside, ended) = stretch.iter().fold((0.0, 0.0), |sum, segment| (sum.0 + segment.block.0, sum.1 + segment.block.1));
        let last = stretch.last()?;
        // With several kinds of requests, those that do not wait continue to rise: then the sum of all has not stopped.
        let late: Vec<f64> = stretch[stretch.len() * 2 / 3..].iter().map(|segment| segment.carried).collect();
        if mean(&late) > throughput.high {
            return None;
        }
        Some(Self { throughput, from, to: last.to, time_s: (base, inside / ended), in_system: last.block.0, is_overload })
    }
}

/// Whether the planned load of the last quarter clearly exceeded that of the first.
fn load_has_varied(run: &Run) -> bool {
    let asked = |slice: &Snapshot| slice.leaves.iter().map(|leaf| leaf.arrivals_due + leaf.users_asked).sum::<u64>() as f64;
    let asked: Vec<f64> = run.slices.iter().map(asked).filter(|asked| *asked > 0.0).collect();
    let quarter = asked.len() / 4;
    quarter > 0 && mean(&asked[asked.len() - quarter..]) >= LOAD_VARIED_FACTOR_MIN * mean(&asked[..quarter])
}
