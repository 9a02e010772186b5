//! The throughput at which each observed resource would be full, from a run under rising load. By the utilisation law (Denning and Buzen,
//! "The operational analysis of queueing network models", 1978) the use of a resource grows with the demand D of each request, U = a + D·X,
//! so k places are full at (k − a) / D requests per second. `a` is the use that does not depend on the load.
//!
//! Both U and X are noisy, X most where the system is full and U is highest. Therefore the line is fitted with the neighbours of each
//! segment as an instrumental variable (Wald, "The fitting of straight lines if both variables are subject to error", 1940), so that noise
//! does not bias it.

use loadstone_run_directory::Run;
use serde::{Deserialize, Serialize};

use super::bootstrap::{draws, interval};
use super::model::CapacityInterval;
use super::ramp_stretch::{RampSegment, carried};
use crate::facts::next_limits::{self, LimitedResource};
use crate::facts::path::Path;
use crate::facts::signals::ObservedSignals;
use crate::statistics::instrumental_line;

/// Minimum number of segments in which a resource was read.
const SEGMENTS_READ_MIN: usize = 12;
/// Minimum share of its places that was in use at least once: an idle resource is far from its ceiling.
const USED_SHARE_MIN: f64 = 0.05;
/// Share of its places from which on a resource is full, and the minimum number of full segments if there is no other evidence.
const FULL_SHARE_MIN: f64 = 0.95;
const FULL_SEGMENTS_MIN: usize = 4;
/// One segment in this many, those with the lowest load, shows how long a place is held while requests do not wait for other resources.
const LOW_LOAD_ONE_IN: usize = 3;
/// Maximum ratio between an end of the interval and the ceiling. Beyond it, the demand is unknown.
const INTERVAL_RATIO_MAX: f64 = 2.0;

/// The throughput at which a resource would be full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceCeiling {
    /// Name of the signal.
    pub resource: String,
    /// The resource in words: `the 2 cores of "shop"`.
    pub what: String,
    /// Cores, members, bytes per second; 1 where only a share of the time is known.
    pub places: f64,
    /// Demand of each request on the resource.
    pub each: f64,
    /// Requests per second, with the 95 % interval of a block bootstrap (Künsch 1989).
    pub throughput_max: CapacityInterval,
}

/// A resource that was observed and used, and whose ceiling is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnknownCeiling {
    /// Name of the signal.
    pub resource: String,
    pub what: String,
    pub why: String,
}

/// The known ceilings, the lowest first, and the unknown ones.
#[derive(Debug, Default)]
pub(super) struct Ceilings {
    pub(super) known: Vec<DrawnCeiling>,
    pub(super) unknown: Vec<UnknownCeiling>,
    /// Completions matched arrivals in enough segments.
    pub(super) is_balanced: bool,
    /// Number of segments that the resamples were drawn from.
    pub(super) segments: usize,
}

/// A ceiling, and its value in each resample; `None` if a resample gives none.
#[derive(Debug)]
pub(super) struct DrawnCeiling {
    pub(super) ceiling: ResourceCeiling,
    pub(super) drawn: Vec<Option<f64>>,
}

/// The use of one resource in one segment.
#[derive(Debug, Clone, Copy)]
struct Point {
    used: f64,
    ended: f64,
    neighbours: f64,
    is_low: bool,
    is_full: bool,
}

impl Ceilings {
    pub(super) fn of(run: &Run, segments: &[RampSegment]) -> Self {
        let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return Self::default() };
        let signals = ObservedSignals::of(&run.signals);
        let path = Path::of(&signals, run);
        let resources = next_limits::resources(&path, (first.from, last.to));
        let fit = RampFit::of(segments);
        let mut ceilings = Self { is_balanced: fit.is_balanced, segments: fit.used.len(), ..Self::default() };
        for resource in &resources {
            let (name, what) = (resource.used.name(), resource.words());
            match fit.ceiling(resource) {
                Ok(Some(Fitted { each, throughput_max, drawn })) => {
                    let ceiling = ResourceCeiling { resource: name, what, places: resource.places, each, throughput_max };
                    ceilings.known.push(DrawnCeiling { ceiling, drawn });
                }
                Ok(None) => {}
                Err(why) => ceilings.unknown.push(UnknownCeiling { resource: name, what, why }),
            }
        }
        ceilings.known.sort_by(|a, b| a.ceiling.throughput_max.value.total_cmp(&b.ceiling.throughput_max.value));
        ceilings
    }
}

/// The segments that show the demand of a request, and the resamples. All resources use the same resamples, so that they can be compared
/// with each other.
struct RampFit<'a> {
    all: &'a [RampSegment],
    used: Vec<&'a RampSegment>,
    /// There are enough segments in which completions matched arrivals. Otherwise all are used, and only the ceiling of resources that were
    /// full themselves is known.
    is_balanced: bool,
    /// Upper bound of the throughput at low load.
    low: f64,
    draws: Vec<Vec<usize>>,
    carried: f64,
}

impl<'a> RampFit<'a> {
    fn of(all: &'a [RampSegment]) -> Self {
        let balanced: Vec<&RampSegment> = all.iter().filter(|segment| segment.is_balanced).collect();
        let is_balanced = balanced.len() >= SEGMENTS_READ_MIN;
        let used = if is_balanced { balanced } else { all.iter().collect() };
        let mut ended: Vec<f64> = used.iter().map(|segment| segment.block.1).collect();
        ended.sort_by(f64::total_cmp);
        let low = ended.get(ended.len() / LOW_LOAD_ONE_IN).copied().unwrap_or(0.0);
        let draws = draws(used.len()).collect();
        Self { all, used, is_balanced, low, draws, carried: carried(all) }
    }

    /// `Ok(None)`: the resource is idle.
    fn ceiling(&self, resource: &LimitedResource<'_, '_>) -> Result<Option<Fitted>, String> {
        let LimitedResource { places, is_held, used, .. } = *resource;
        let in_use: Vec<f64> = self.all.iter().filter_map(|segment| used.mean(segment.from, segment.to)).collect();
        let full = in_use.iter().filter(|used| **used >= FULL_SHARE_MIN * places).count();
        if in_use.iter().all(|used| *used < USED_SHARE_MIN * places) {
            return Ok(None);
        }
        if !self.is_balanced && (is_held || full < FULL_SEGMENTS_MIN) {
            return Err("the load rose too fast: completions matched arrivals in too few segments".to_owned());
        }
        let point = |segment: &&RampSegment| {
            let (ended, neighbours) = (segment.block.1, segment.ended_in_neighbours);
            let used = used.mean(segment.from, segment.to)?;
            Some(Point { used, ended, neighbours, is_low: ended <= self.low, is_full: used >= FULL_SHARE_MIN * places })
        };
        let points: Vec<Option<Point>> = self.used.iter().map(point).collect();
        let line = match (is_held, self.is_balanced) {
            (true, _) => held,
            (false, true) => line,
            (false, false) => at_full,
        };
        let fitted = of_points(&points, places, line, &self.draws)?;
        if fitted.throughput_max.high < self.carried {
            let (full, carried) = (loadstone_units::rate(fitted.throughput_max.value), loadstone_units::rate(self.carried));
            return Err(format!("its use at lower load predicts that it is full at {full}, but the run carried {carried} or more"));
        }
        Ok(Some(fitted))
    }
}

/// The constant use, and the demand of each request; `None` if there is no demand.
type UseLine = fn(&[Point]) -> Option<(f64, f64)>;

/// The demand of a request, and the ceiling.
#[derive(Debug)]
struct Fitted {
    each: f64,
    throughput_max: CapacityInterval,
    drawn: Vec<Option<f64>>,
}

/// `Err`: why it is unknown.
fn of_points(points: &[Option<Point>], places: f64, line: UseLine, draws: &[Vec<usize>]) -> Result<Fitted, String> {
    let read: Vec<Point> = points.iter().flatten().copied().collect();
    if read.len() < SEGMENTS_READ_MIN {
        return Err(format!("it was read in {} of {} segments", read.len(), points.len()));
    }
    let does_not_grow = || "its use does not grow with the load".to_owned();
    let (constant_use, each) = line(&read).ok_or_else(does_not_grow)?;
    if constant_use >= places {
        return Err("it is full regardless of the load".to_owned());
    }
    let full_at = |drawn: &Vec<usize>| {
        let drawn: Vec<Point> = drawn.iter().filter_map(|index| points[*index]).collect();
        Some(line(&drawn).map_or(f64::INFINITY, |(constant_use, each)| (places - constant_use) / each)).filter(|_| !drawn.is_empty())
    };
    let drawn: Vec<Option<f64>> = draws.iter().map(full_at).collect();
    let throughput_max = interval((places - constant_use) / each, &drawn, points.len()).ok_or_else(does_not_grow)?;
    let CapacityInterval { value, low, high } = throughput_max;
    if high > INTERVAL_RATIO_MAX * value || low * INTERVAL_RATIO_MAX < value {
        let (low, high) = (loadstone_units::rate(low), loadstone_units::rate(high));
        return Err(format!("the demand per request is too uncertain: it may be full anywhere from {low} to {high}"));
    }
    Ok(Fitted { each, throughput_max, drawn })
}

/// `U = a + D·X` with `a` ≥ 0; `None` if D is not positive.
fn line(points: &[Point]) -> Option<(f64, f64)> {
    let (constant_use, each) =
        instrumental_line(&points.iter().map(|point| (point.ended, point.used, point.neighbours)).collect::<Vec<_>>());
    let (constant_use, each) = if constant_use >= 0.0 { (constant_use, each) } else { ratio(points.iter())? };
    (each.is_finite() && each > 0.0).then_some((constant_use, each))
}

/// For places that are held while requests wait for something else: uses low load, where nothing waits.
fn held(points: &[Point]) -> Option<(f64, f64)> {
    ratio(points.iter().filter(|point| point.is_low))
}

/// The completions while the resource was full are its throughput.
fn at_full(points: &[Point]) -> Option<(f64, f64)> {
    ratio(points.iter().filter(|point| point.is_full))
}

fn ratio<'a>(points: impl Iterator<Item = &'a Point>) -> Option<(f64, f64)> {
    let (used, ended) = points.fold((0.0, 0.0), |(used, ended), point| (used + point.used, ended + point.ended));
    let each = used / ended;
    (each.is_finite() && each > 0.0).then_some((0.0, each))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 10 to 400 per second, with noise of ±2.5 %.
    fn points(used: impl Fn(f64) -> f64) -> Vec<Option<Point>> {
        let noisy = |index: usize| 1.0 + ((index * 7919 + 13) % 101) as f64 / 2_000.0 - 0.025;
        let point = |index: usize| {
            let ended = 10.0 * index as f64;
            Some(Point { used: used(ended) * noisy(index), ended, neighbours: ended, is_low: index <= 13, is_full: false })
        };
        (1..=40).map(point).collect()
    }

    fn of(used: impl Fn(f64) -> f64) -> Result<Fitted, String> {
        of_points(&points(used), 2.0, line, &draws(40).collect::<Vec<_>>())
    }

    /// Two cores, a demand of 4 ms per request, and a constant use of a tenth of a core: full at 1.9 / 0.004 = 475 per second.
    #[test]
    fn the_demand_of_a_request_determines_the_ceiling_of_a_resource() {
        let Fitted { each, throughput_max: ceiling, .. } = of(|ended| 0.1 + 0.004 * ended).unwrap();
        assert!((each / 0.004 - 1.0).abs() < 0.02, "{each}");
        assert!(ceiling.low <= 475.0 && 475.0 <= ceiling.high && ceiling.precision() < 0.03, "{ceiling:?}");
    }

    #[test]
    fn a_resource_that_does_not_follow_the_load_has_no_ceiling_but_a_reason() {
        for (used, why) in [
            ((|_| 0.5) as fn(f64) -> f64, "too uncertain"),
            (|ended| 1.0 - 0.001 * ended, "does not grow with the load"),
            (|ended| 3.0 + 0.001 * ended, "full regardless of the load"),
        ] {
            let reason = of(used).unwrap_err();
            assert!(reason.contains(why) || reason.contains("does not grow"), "{reason}");
        }
        let mut few = points(|ended| 0.004 * ended);
        few.iter_mut().skip(11).for_each(|point| *point = None);
        let reason = of_points(&few, 2.0, line, &draws(40).collect::<Vec<_>>()).unwrap_err();
        assert_eq!(reason, "it was read in 11 of 40 segments");
    }

    /// A request that waits for something else keeps its place: only low load shows how long it needs the place.
    #[test]
    fn held_places_are_judged_by_low_load() {
        let waits = points(|ended| 0.004 * ended / (1.0 - ended / 500.0));
        let draws: Vec<Vec<usize>> = draws(40).collect();
        let at = |line: UseLine| of_points(&waits, 2.0, line, &draws).map_or(0.0, |fitted| fitted.throughput_max.value);
        // 500 per second, minus the effect of the wait at a quarter of that load.
        assert!((400.0..500.0).contains(&at(held)) && at(line) < 350.0, "{} {}", at(held), at(line));
    }
}
