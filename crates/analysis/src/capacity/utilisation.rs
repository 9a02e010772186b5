//! Where the resources that were observed would be full, from a run under rising load: by the utilisation law (Denning and Buzen, "The operational analysis of
//! queueing network models", 1978) what is in use of one grows by the demand D of each request, U = a + D·X, and of k places (k − a) / D requests per second
//! are the end. `a` is what it is busy with whatever the load is.
//!
//! Both U and X are noisy, X most where the system is full and U at its most. The line is therefore drawn by the stretches beside each (an instrumental
//! variable; Wald, "The fitting of straight lines if both variables are subject to error", 1940): noise bends it neither way.

use loadstone_run_directory::Run;
use serde::{Deserialize, Serialize};

use super::bootstrap::{draws, interval};
use super::model::CapacityInterval;
use super::ramp_stretch::{RampStretch, carried};
use crate::facts::next_limits::{self, LimitedResource};
use crate::facts::path::Path;
use crate::facts::signals::ObservedSignals;
use crate::statistics::instrumental_line;

/// Stretches in which a resource must have been read.
const READ_MIN: usize = 12;
/// Part of its places that must have been in use at least once: one that idles is far from its end.
const USED_MIN: f64 = 0.05;
/// Part of its places from which on it is full, and in how many stretches it must have been where nothing else tells.
const FULL: f64 = 0.95;
const FULL_MIN: usize = 4;
/// Part of the stretches, those of the lowest load, that says how long something is held while nobody has to wait for anything else.
const LOW: usize = 3;
/// How many times more or less than the ceiling an end of its interval may be. Beyond it, the demand is not known.
const WIDE: f64 = 2.0;

/// The throughput at which a resource would be full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceCeiling {
    /// Name of the signal.
    pub resource: String,
    /// The same in words: `the 2 cores of "shop"`.
    pub what: String,
    /// Cores, members, bytes per second; 1 where only a share of the time is known.
    pub places: f64,
    /// Of how much of it each request has need.
    pub each: f64,
    /// Requests per second, with the 95 % interval of a block bootstrap (Künsch 1989).
    pub throughput_max: CapacityInterval,
}

/// A resource that was observed and used, and of which nobody can say where it would be full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnknownCeiling {
    /// Name of the signal.
    pub resource: String,
    pub what: String,
    pub why: String,
}

/// All that is known, the lowest first; and what is not.
#[derive(Debug, Default)]
pub(super) struct Ceilings {
    pub(super) known: Vec<DrawnCeiling>,
    pub(super) unknown: Vec<UnknownCeiling>,
    /// Enough stretches ended as much as came in.
    pub(super) is_balanced: bool,
    /// How many were drawn from.
    pub(super) stretches: usize,
}

/// A ceiling, and what it is in each resample; `None` where that does not say.
#[derive(Debug)]
pub(super) struct DrawnCeiling {
    pub(super) told: ResourceCeiling,
    pub(super) drawn: Vec<Option<f64>>,
}

/// What one stretch says of one resource.
#[derive(Debug, Clone, Copy)]
struct Point {
    used: f64,
    ended: f64,
    beside: f64,
    is_low: bool,
    is_full: bool,
}

impl Ceilings {
    pub(super) fn of(run: &Run, stretches: &[RampStretch]) -> Self {
        let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else { return Self::default() };
        let signals = ObservedSignals::of(&run.signals);
        let path = Path::of(&signals, run);
        let resources = next_limits::resources(&path, (first.from, last.to));
        let fit = RampFit::of(stretches);
        let mut ceilings = Self { is_balanced: fit.is_balanced, stretches: fit.used.len(), ..Self::default() };
        for resource in &resources {
            let (name, what) = (resource.used.name(), resource.words());
            match fit.ceiling(resource) {
                Ok(Some(Fitted { each, throughput_max, drawn })) => {
                    let told = ResourceCeiling { resource: name, what, places: resource.places, each, throughput_max };
                    ceilings.known.push(DrawnCeiling { told, drawn });
                }
                Ok(None) => {}
                Err(why) => ceilings.unknown.push(UnknownCeiling { resource: name, what, why }),
            }
        }
        ceilings.known.sort_by(|a, b| a.told.throughput_max.value.total_cmp(&b.told.throughput_max.value));
        ceilings
    }
}

/// The stretches that say what a request needs, and how they are drawn: once for all resources, so that these can be compared with each other.
struct RampFit<'a> {
    all: &'a [RampStretch],
    used: Vec<&'a RampStretch>,
    /// There are enough in which as much ended as came in. Failing that they are all used, and only what was full itself can be told.
    is_balanced: bool,
    /// The throughput of low load.
    low: f64,
    draws: Vec<Vec<usize>>,
    carried: f64,
}

impl<'a> RampFit<'a> {
    fn of(all: &'a [RampStretch]) -> Self {
        let balanced: Vec<&RampStretch> = all.iter().filter(|stretch| stretch.is_balanced).collect();
        let is_balanced = balanced.len() >= READ_MIN;
        let used = if is_balanced { balanced } else { all.iter().collect() };
        let mut ended: Vec<f64> = used.iter().map(|stretch| stretch.block.1).collect();
        ended.sort_by(f64::total_cmp);
        let low = ended.get(ended.len() / LOW).copied().unwrap_or(0.0);
        let draws = draws(used.len()).collect();
        Self { all, used, is_balanced, low, draws, carried: carried(all) }
    }

    /// `Ok(None)`: it idles.
    fn ceiling(&self, resource: &LimitedResource<'_, '_>) -> Result<Option<Fitted>, String> {
        let LimitedResource { places, is_held, used, .. } = *resource;
        let in_use: Vec<f64> = self.all.iter().filter_map(|stretch| used.mean(stretch.from, stretch.to)).collect();
        let full = in_use.iter().filter(|used| **used >= FULL * places).count();
        if in_use.iter().all(|used| *used < USED_MIN * places) {
            return Ok(None);
        }
        if !self.is_balanced && (is_held || full < FULL_MIN) {
            return Err("in too few stretches as much ended as came in: the load rose too fast".to_owned());
        }
        let point = |stretch: &&RampStretch| {
            let (ended, beside) = (stretch.block.1, stretch.ended_beside);
            let used = used.mean(stretch.from, stretch.to)?;
            Some(Point { used, ended, beside, is_low: ended <= self.low, is_full: used >= FULL * places })
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
            return Err(format!("its use at lower load would have it full at {full}, and {carried} and more were carried"));
        }
        Ok(Some(fitted))
    }
}

/// What is in use whatever the load is, and of how much of it each request has need; `None` where it is none.
type UseLine = fn(&[Point]) -> Option<(f64, f64)>;

/// The demand of a request, and the ceiling.
#[derive(Debug)]
struct Fitted {
    each: f64,
    throughput_max: CapacityInterval,
    drawn: Vec<Option<f64>>,
}

/// Or why it is not known.
fn of_points(points: &[Option<Point>], places: f64, line: UseLine, draws: &[Vec<usize>]) -> Result<Fitted, String> {
    let read: Vec<Point> = points.iter().flatten().copied().collect();
    if read.len() < READ_MIN {
        return Err(format!("it was read in {} of {} stretches", read.len(), points.len()));
    }
    let follows_not = || "what is in use of it does not grow with the load".to_owned();
    let (always, each) = line(&read).ok_or_else(follows_not)?;
    if always >= places {
        return Err("it is full whatever the load is".to_owned());
    }
    let full_at = |drawn: &Vec<usize>| {
        let drawn: Vec<Point> = drawn.iter().filter_map(|index| points[*index]).collect();
        Some(line(&drawn).map_or(f64::INFINITY, |(always, each)| (places - always) / each)).filter(|_| !drawn.is_empty())
    };
    let drawn: Vec<Option<f64>> = draws.iter().map(full_at).collect();
    let throughput_max = interval((places - always) / each, &drawn, points.len()).ok_or_else(follows_not)?;
    let CapacityInterval { value, low, high } = throughput_max;
    if high > WIDE * value || low * WIDE < value {
        let (low, high) = (loadstone_units::rate(low), loadstone_units::rate(high));
        return Err(format!("what a request needs of it is not known well enough: it may be full anywhere from {low} to {high}"));
    }
    Ok(Fitted { each, throughput_max, drawn })
}

/// `U = a + D·X` with `a` not below 0; `None` where D is not above it.
fn line(points: &[Point]) -> Option<(f64, f64)> {
    let (always, each) = instrumental_line(&points.iter().map(|point| (point.ended, point.used, point.beside)).collect::<Vec<_>>());
    let (always, each) = if always >= 0.0 { (always, each) } else { ratio(points.iter())? };
    (each.is_finite() && each > 0.0).then_some((always, each))
}

/// Of what is held while something else is waited for: under low load, where nobody waits.
fn held(points: &[Point]) -> Option<(f64, f64)> {
    ratio(points.iter().filter(|point| point.is_low))
}

/// What ended while it was full is what it lets pass.
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

    /// From 10 to 400 per second; noise of ±2.5 %.
    fn points(used: impl Fn(f64) -> f64) -> Vec<Option<Point>> {
        let noisy = |index: usize| 1.0 + ((index * 7919 + 13) % 101) as f64 / 2_000.0 - 0.025;
        let point = |index: usize| {
            let ended = 10.0 * index as f64;
            Some(Point { used: used(ended) * noisy(index), ended, beside: ended, is_low: index <= 13, is_full: false })
        };
        (1..=40).map(point).collect()
    }

    fn of(used: impl Fn(f64) -> f64) -> Result<Fitted, String> {
        of_points(&points(used), 2.0, line, &draws(40).collect::<Vec<_>>())
    }

    /// Two cores, 4 ms of them each, and a tenth of a core whatever the load: full at 1.9 / 0.004 = 475 per second.
    #[test]
    fn the_demand_of_a_request_says_where_a_resource_is_full() {
        let Fitted { each, throughput_max: ceiling, .. } = of(|ended| 0.1 + 0.004 * ended).unwrap();
        assert!((each / 0.004 - 1.0).abs() < 0.02, "{each}");
        assert!(ceiling.low <= 475.0 && 475.0 <= ceiling.high && ceiling.precision() < 0.03, "{ceiling:?}");
    }

    #[test]
    fn what_does_not_follow_the_load_has_no_ceiling_and_says_why() {
        for (used, why) in [
            ((|_| 0.5) as fn(f64) -> f64, "not known well enough"),
            (|ended| 1.0 - 0.001 * ended, "does not grow with the load"),
            (|ended| 3.0 + 0.001 * ended, "full whatever the load is"),
        ] {
            let told = of(used).unwrap_err();
            assert!(told.contains(why) || told.contains("does not grow"), "{told}");
        }
        let mut few = points(|ended| 0.004 * ended);
        few.iter_mut().skip(11).for_each(|point| *point = None);
        let told = of_points(&few, 2.0, line, &draws(40).collect::<Vec<_>>()).unwrap_err();
        assert_eq!(told, "it was read in 11 of 40 stretches");
    }

    /// Who waits for something else holds on to it: only low load says for how long a request has need of it.
    #[test]
    fn what_is_held_is_judged_by_low_load() {
        let waits = points(|ended| 0.004 * ended / (1.0 - ended / 500.0));
        let draws: Vec<Vec<usize>> = draws(40).collect();
        let at = |line: UseLine| of_points(&waits, 2.0, line, &draws).map_or(0.0, |fitted| fitted.throughput_max.value);
        // 500 per second, less what is waited for at a quarter of that.
        assert!((400.0..500.0).contains(&at(held)) && at(line) < 350.0, "{} {}", at(held), at(line));
    }
}
