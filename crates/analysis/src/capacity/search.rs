//! What to do next: a ladder until one load holds and one fails, then probes where the capacity probably lies, then just below and above it.

use serde::{Deserialize, Serialize};

use super::belief::Belief;
use super::model::{CapacityInterval, CapacityProbe, LoadUnit, ProbeLean};

/// Step of the ladder.
const STEP: f64 = 2.0;
/// Halvings of the first load after which it is given up.
const HALVINGS_MAX: i32 = 8;
/// How far the grid reaches beyond what held and what failed: either may have been chance.
const BEYOND: f64 = 1.6;
/// Precision from which on probes are made on both sides of the answer: they confirm it, and tell how steep the curve is.
const AROUND_FROM: f64 = 0.12;
/// Where these are made, relative to it, and how far off a probe still confirms.
const BESIDE: f64 = 0.05;
const BESIDE_MAX: f64 = 0.1;
/// Ratio of both ends of an interval from which on a probe says little, and how much longer those after it take then: near saturation a queue needs long to
/// show what it does.
const RESTLESS: f64 = 3.3;
const LONGER: f64 = 2.0;
/// Probes after which a search ends, whatever the time.
const PROBES_MAX: usize = 60;

/// What is asked of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacitySettings {
    pub unit: LoadUnit,
    /// Where the ladder begins, and the highest load that may be asked for.
    pub first: f64,
    pub most: f64,
    /// Half of the interval's width, relative, at which it is precise enough.
    pub precision: f64,
    /// Length of a probe of the ladder and of one after it, warm-up included.
    pub ladder_seconds: f64,
    pub probe_seconds: f64,
    /// Arrivals without which a probe says little of a high percentile: at low rates probes take longer.
    pub arrivals_needed: f64,
    /// Time between two probes.
    pub pause_seconds: f64,
    /// All that it may cost, pauses included.
    pub budget_seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeReason {
    /// Looking for a load that fails, or one that holds.
    Ladder,
    /// Where the capacity probably lies.
    Narrow,
    /// Just below or above it.
    Confirm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityEnd {
    Precise,
    /// The next probe would not fit.
    Budget,
    /// All up to the highest load that may be asked for hold.
    Highest,
    /// The generator could not make more.
    Generator,
    /// Even the lowest fails.
    Lowest,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CapacityStep {
    Probe { load: f64, seconds: f64, reason: ProbeReason },
    End(CapacityEnd),
}

/// What the probes so far say.
pub(super) struct SearchStanding {
    pub(super) highest_held: Option<f64>,
    pub(super) lowest_failed: Option<f64>,
    /// The lowest load at which the measurement was not usable.
    pub(super) unusable: Option<f64>,
    /// Once one load held and one failed, with the objective that gives way first.
    pub(super) found: Option<(CapacityInterval, usize)>,
}

impl SearchStanding {
    pub(super) fn of(unit: LoadUnit, probes: &[CapacityProbe]) -> Self {
        let loads = |lean: ProbeLean| probes.iter().filter(move |probe| probe.lean == lean).map(|probe| probe.load);
        let highest_held = loads(ProbeLean::Holds).reduce(f64::max);
        let lowest_failed = loads(ProbeLean::Fails).reduce(f64::min);
        let found = highest_held.zip(lowest_failed).map(|(held, failed)| locate(unit, (held, failed), probes));
        Self { highest_held, lowest_failed, unusable: loads(ProbeLean::Unusable).reduce(f64::min), found }
    }
}

/// The lowest of the capacities with each objective alone, and which one that is.
fn locate(unit: LoadUnit, (held, failed): (f64, f64), probes: &[CapacityProbe]) -> (CapacityInterval, usize) {
    let usable: Vec<&CapacityProbe> = probes.iter().filter(|probe| probe.lean != ProbeLean::Unusable).collect();
    let span = (held.min(failed) / BEYOND, held.max(failed) * BEYOND);
    let objectives = usable.first().map_or(0, |probe| probe.reading.objectives.len()).max(1);
    let of: Vec<CapacityInterval> = (0..objectives).map(|which| Belief::of(unit, span, &usable, which).interval()).collect();
    let least = (0..objectives).min_by(|a, b| of[*a].value.total_cmp(&of[*b].value)).unwrap_or(0);
    let low = of.iter().map(|interval| interval.low).fold(f64::INFINITY, f64::min);
    let high = of.iter().map(|interval| interval.high).fold(f64::INFINITY, f64::min);
    (CapacityInterval { value: of[least].value, low, high: high.max(of[least].value) }, least)
}

/// What to do after these probes. The same probes always give the same answer.
pub fn next_step(settings: &CapacitySettings, probes: &[CapacityProbe]) -> CapacityStep {
    let spent: f64 = probes.iter().map(|probe| probe.cost_seconds).sum();
    let unit = settings.unit;
    let affordable = |load: f64, seconds: f64, reason: ProbeReason| {
        let seconds = settings.long_enough(load, seconds);
        let fits = spent + seconds + settings.pause_seconds <= settings.budget_seconds && probes.len() < PROBES_MAX;
        if fits { CapacityStep::Probe { load, seconds, reason } } else { CapacityStep::End(CapacityEnd::Budget) }
    };
    let ladder = |load: f64| affordable(unit.rounded(load), settings.ladder_seconds, ProbeReason::Ladder);
    let standing = SearchStanding::of(unit, probes);
    match (standing.highest_held, standing.lowest_failed) {
        (None, None) if standing.unusable.is_some_and(|load| load < settings.first / STEP.powi(HALVINGS_MAX)) => {
            CapacityStep::End(CapacityEnd::Generator)
        }
        (None, None) => ladder(standing.unusable.map_or(settings.first, |load| load / STEP)),
        (Some(held), None) if held >= settings.most => CapacityStep::End(CapacityEnd::Highest),
        (Some(held), None) => match standing.unusable {
            Some(unusable)
                if unusable <= held * (1.0 + BESIDE_MAX) || probes.last().is_some_and(|last| last.lean == ProbeLean::Unusable) =>
            {
                CapacityStep::End(CapacityEnd::Generator)
            }
            _ => ladder((held * STEP).min(settings.most)),
        },
        (None, Some(failed)) => {
            let next = unit.rounded(failed / STEP);
            let is_least = next >= failed || next < settings.first / STEP.powi(HALVINGS_MAX);
            if is_least { CapacityStep::End(CapacityEnd::Lowest) } else { ladder(next) }
        }
        (Some(_), Some(_)) => match narrowed(settings, &standing, probes) {
            Some((load, reason)) => {
                let seconds = settings.probe_seconds * if is_restless(settings, probes) { LONGER } else { 1.0 };
                affordable(unit.rounded(load).min(settings.most), seconds, reason)
            }
            None => CapacityStep::End(CapacityEnd::Precise),
        },
    }
}

/// Most of the longer probes near a bound have intervals that say little.
fn is_restless(settings: &CapacitySettings, probes: &[CapacityProbe]) -> bool {
    let long = probes.iter().filter(|probe| probe.seconds >= settings.probe_seconds && probe.lean != ProbeLean::Unusable);
    let times = long.flat_map(|probe| &probe.reading.objectives).filter(|objective| objective.is_time);
    let near = times.filter(|of| of.measured.is_some_and(|measured| measured < of.bound * RESTLESS && measured * RESTLESS > of.bound));
    let (count, wide) = near.fold((0, 0), |(count, wide), of| {
        let ratio = of.low.zip(of.high).map_or(f64::INFINITY, |(low, high)| high / low.max(1e-12));
        (count + 1, wide + u32::from(ratio > RESTLESS))
    });
    count >= 2 && wide * 2 > count
}

/// Where to measure next, once the capacity is bracketed; `None`: it is known precisely enough, and confirmed.
fn narrowed(settings: &CapacitySettings, standing: &SearchStanding, probes: &[CapacityProbe]) -> Option<(f64, ProbeReason)> {
    let (interval, _) = standing.found?;
    let is_whole = settings.unit == LoadUnit::Users && interval.high - interval.low <= 1.0;
    let long = || probes.iter().filter(|probe| probe.seconds >= settings.probe_seconds);
    let beside = |side: f64| {
        let from = interval.value * (1.0 + side * BESIDE_MAX);
        // Users are whole: the next number counts as beside it.
        let from = if settings.unit == LoadUnit::Users { interval.value + side * (from - interval.value).abs().max(1.0) } else { from };
        long().filter(move |probe| (probe.load - interval.value) * side >= 0.0 && (probe.load - from) * side <= 0.0)
    };
    let confirmed = |side: f64, lean: ProbeLean| beside(side).any(|probe| probe.lean == lean);
    let (below, above) = (confirmed(-1.0, ProbeLean::Holds), confirmed(1.0, ProbeLean::Fails));
    let is_precise = interval.precision() <= settings.precision || is_whole;
    if is_precise && below && above {
        return None;
    }
    if !is_precise && interval.precision() > AROUND_FROM {
        return Some((interval.value, ProbeReason::Narrow));
    }
    let (made_below, made_above) = (beside(-1.0).count(), beside(1.0).count());
    let side = match (below, above) {
        (false, true) => -1.0,
        (true, false) => 1.0,
        _ if made_below <= made_above => -1.0,
        _ => 1.0,
    };
    let reason = if is_precise { ProbeReason::Confirm } else { ProbeReason::Narrow };
    // No further away than half of what is not known: where a side is all that a probe tells, this halves it.
    let by = interval.value * BESIDE.min(interval.precision() / 2.0);
    let by = if settings.unit == LoadUnit::Users { by.max(1.0) } else { by };
    Some((interval.value + side * by, reason))
}

impl CapacitySettings {
    /// Length of a probe at this load, if it would be so long at a high one.
    fn long_enough(&self, load: f64, seconds: f64) -> f64 {
        let share = seconds / self.probe_seconds;
        let needed = if self.unit == LoadUnit::Arrivals { self.arrivals_needed * share / load } else { 0.0 };
        seconds.max(needed.min(self.budget_seconds / 6.0)).ceil()
    }

    /// What a search usually costs: three probes of the ladder and eight more, but no more than it may. Seconds.
    pub fn usual_seconds(&self) -> f64 {
        let of = |count: f64, seconds: f64| count * (seconds + self.pause_seconds);
        (of(3.0, self.ladder_seconds) + of(8.0, self.probe_seconds)).min(self.budget_seconds)
    }
}
