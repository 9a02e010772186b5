//! The next step of a search: a ladder until one load holds and one fails, then probes at the probable capacity, then just below and above
//! it.

use serde::{Deserialize, Serialize};

use super::belief::Belief;
use super::model::{CapacityInterval, CapacityProbe, LoadUnit, ProbeLean};

/// Ratio between the loads of the ladder.
const LADDER_RATIO: f64 = 2.0;
/// The search stops after this many halvings of the first load.
const HALVINGS_MAX: i32 = 8;
/// Ratio by which the grid extends beyond the loads that held and failed: either may have been chance.
const GRID_MARGIN: f64 = 1.6;
/// Below this precision, probes run on both sides of the answer: they confirm it, and determine the steepness of the curve.
const BOTH_SIDES_PRECISION_MAX: f64 = 0.12;
/// Relative distance of these probes from the answer, and the maximum distance at which a probe confirms it.
const CONFIRM_DISTANCE: f64 = 0.05;
const CONFIRM_DISTANCE_MAX: f64 = 0.1;
/// An interval with a larger ratio between its ends has little information. Later probes are then longer by this factor: near saturation, a
/// queue needs long to show its behaviour.
const WIDE_INTERVAL_RATIO_MIN: f64 = 3.3;
const LONG_PROBE_FACTOR: f64 = 2.0;
/// A search ends after this many probes, regardless of the time.
const PROBES_MAX: usize = 60;

/// The settings of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacitySettings {
    pub unit: LoadUnit,
    /// The first load of the ladder, and the highest load that the search may use.
    pub first: f64,
    pub most: f64,
    /// The search ends when half of the interval's width, relative to the value, is at most this.
    pub precision: f64,
    /// Length of a probe of the ladder and of a later probe, including the warm-up.
    pub ladder_seconds: f64,
    pub probe_seconds: f64,
    /// Minimum number of arrivals for a high percentile: at low rates probes take longer.
    pub arrivals_needed: f64,
    /// Time between two probes.
    pub pause_seconds: f64,
    /// Time budget of the search, including pauses.
    pub budget_seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeReason {
    /// To find a load that fails, or one that holds.
    Ladder,
    /// At the probable capacity.
    Narrow,
    /// Just below or above the capacity.
    Confirm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityEnd {
    Precise,
    /// The next probe would exceed the time budget.
    Budget,
    /// Even the highest load that the search may use holds.
    Highest,
    /// The generator could not generate more load.
    Generator,
    /// Even the lowest load fails.
    Lowest,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CapacityStep {
    Probe { load: f64, seconds: f64, reason: ProbeReason },
    End(CapacityEnd),
}

/// The state of the search after the probes so far.
pub(super) struct SearchState {
    pub(super) highest_held: Option<f64>,
    pub(super) lowest_failed: Option<f64>,
    /// The lowest load with an unusable measurement.
    pub(super) unusable: Option<f64>,
    /// Present if one load held and one failed; with the index of the objective that fails first.
    pub(super) found: Option<(CapacityInterval, usize)>,
}

impl SearchState {
    pub(super) fn of(unit: LoadUnit, probes: &[CapacityProbe]) -> Self {
        let loads = |lean: ProbeLean| probes.iter().filter(move |probe| probe.lean == lean).map(|probe| probe.load);
        let highest_held = loads(ProbeLean::Holds).reduce(f64::max);
        let lowest_failed = loads(ProbeLean::Fails).reduce(f64::min);
        let found = highest_held.zip(lowest_failed).map(|(held, failed)| locate(unit, (held, failed), probes));
        Self { highest_held, lowest_failed, unusable: loads(ProbeLean::Unusable).reduce(f64::min), found }
    }
}

/// The lowest of the capacities for the single objectives, and the index of that objective.
fn locate(unit: LoadUnit, (held, failed): (f64, f64), probes: &[CapacityProbe]) -> (CapacityInterval, usize) {
    let usable: Vec<&CapacityProbe> = probes.iter().filter(|probe| probe.lean != ProbeLean::Unusable).collect();
    let span = (held.min(failed) / GRID_MARGIN, held.max(failed) * GRID_MARGIN);
    let objectives = usable.first().map_or(0, |probe| probe.reading.objectives.len()).max(1);
    let of: Vec<CapacityInterval> = (0..objectives).map(|which| Belief::of(unit, span, &usable, which).interval()).collect();
    let least = (0..objectives).min_by(|a, b| of[*a].value.total_cmp(&of[*b].value)).unwrap_or(0);
    let low = of.iter().map(|interval| interval.low).fold(f64::INFINITY, f64::min);
    let high = of.iter().map(|interval| interval.high).fold(f64::INFINITY, f64::min);
    (CapacityInterval { value: of[least].value, low, high: high.max(of[least].value) }, least)
}

/// The step after these probes. The same probes always give the same answer.
pub fn next_step(settings: &CapacitySettings, probes: &[CapacityProbe]) -> CapacityStep {
    let spent: f64 = probes.iter().map(|probe| probe.cost_seconds).sum();
    let unit = settings.unit;
    let affordable = |load: f64, seconds: f64, reason: ProbeReason| {
        let seconds = settings.long_enough(load, seconds);
        let fits = spent + seconds + settings.pause_seconds <= settings.budget_seconds && probes.len() < PROBES_MAX;
        if fits { CapacityStep::Probe { load, seconds, reason } } else { CapacityStep::End(CapacityEnd::Budget) }
    };
    let ladder = |load: f64| affordable(unit.rounded(load), settings.ladder_seconds, ProbeReason::Ladder);
    let state = SearchState::of(unit, probes);
    match (state.highest_held, state.lowest_failed) {
        (None, None) if state.unusable.is_some_and(|load| load < settings.first / LADDER_RATIO.powi(HALVINGS_MAX)) => {
            CapacityStep::End(CapacityEnd::Generator)
        }
        (None, None) => ladder(state.unusable.map_or(settings.first, |load| load / LADDER_RATIO)),
        (Some(held), None) if held >= settings.most => CapacityStep::End(CapacityEnd::Highest),
        (Some(held), None) => match state.unusable {
            Some(unusable)
                if unusable <= held * (1.0 + CONFIRM_DISTANCE_MAX)
                    || probes.last().is_some_and(|last| last.lean == ProbeLean::Unusable) =>
            {
                CapacityStep::End(CapacityEnd::Generator)
            }
            _ => ladder((held * LADDER_RATIO).min(settings.most)),
        },
        (None, Some(failed)) => {
            let next = unit.rounded(failed / LADDER_RATIO);
            let is_least = next >= failed || next < settings.first / LADDER_RATIO.powi(HALVINGS_MAX);
            if is_least { CapacityStep::End(CapacityEnd::Lowest) } else { ladder(next) }
        }
        (Some(_), Some(_)) => match narrowed(settings, &state, probes) {
            Some((load, reason)) => {
                let seconds = settings.probe_seconds * if intervals_are_wide(settings, probes) { LONG_PROBE_FACTOR } else { 1.0 };
                affordable(unit.rounded(load).min(settings.most), seconds, reason)
            }
            None => CapacityStep::End(CapacityEnd::Precise),
        },
    }
}

/// Most of the longer probes near a bound have wide intervals.
fn intervals_are_wide(settings: &CapacitySettings, probes: &[CapacityProbe]) -> bool {
    let long = probes.iter().filter(|probe| probe.seconds >= settings.probe_seconds && probe.lean != ProbeLean::Unusable);
    let times = long.flat_map(|probe| &probe.reading.objectives).filter(|objective| objective.is_time);
    let near = times.filter(|of| {
        of.measured.is_some_and(|measured| measured < of.bound * WIDE_INTERVAL_RATIO_MIN && measured * WIDE_INTERVAL_RATIO_MIN > of.bound)
    });
    let (count, wide) = near.fold((0, 0), |(count, wide), of| {
        let ratio = of.low.zip(of.high).map_or(f64::INFINITY, |(low, high)| high / low.max(1e-12));
        (count + 1, wide + u32::from(ratio > WIDE_INTERVAL_RATIO_MIN))
    });
    count >= 2 && wide * 2 > count
}

/// The next load after the capacity is bracketed; `None`: it is precise enough, and confirmed.
fn narrowed(settings: &CapacitySettings, state: &SearchState, probes: &[CapacityProbe]) -> Option<(f64, ProbeReason)> {
    let (interval, _) = state.found?;
    let is_whole = settings.unit == LoadUnit::Users && interval.high - interval.low <= 1.0;
    let long = || probes.iter().filter(|probe| probe.seconds >= settings.probe_seconds);
    let on_side = |side: f64| {
        let from = interval.value * (1.0 + side * CONFIRM_DISTANCE_MAX);
        // The number of users is whole: the next number counts as close.
        let from = if settings.unit == LoadUnit::Users { interval.value + side * (from - interval.value).abs().max(1.0) } else { from };
        long().filter(move |probe| (probe.load - interval.value) * side >= 0.0 && (probe.load - from) * side <= 0.0)
    };
    let confirmed = |side: f64, lean: ProbeLean| on_side(side).any(|probe| probe.lean == lean);
    let (below, above) = (confirmed(-1.0, ProbeLean::Holds), confirmed(1.0, ProbeLean::Fails));
    let is_precise = interval.precision() <= settings.precision || is_whole;
    if is_precise && below && above {
        return None;
    }
    if !is_precise && interval.precision() > BOTH_SIDES_PRECISION_MAX {
        return Some((interval.value, ProbeReason::Narrow));
    }
    let (probes_below, probes_above) = (on_side(-1.0).count(), on_side(1.0).count());
    let side = match (below, above) {
        (false, true) => -1.0,
        (true, false) => 1.0,
        _ if probes_below <= probes_above => -1.0,
        _ => 1.0,
    };
    let reason = if is_precise { ProbeReason::Confirm } else { ProbeReason::Narrow };
    // At most half of the uncertainty away: where a probe only gives its side, this halves the uncertainty.
    let by = interval.value * CONFIRM_DISTANCE.min(interval.precision() / 2.0);
    let by = if settings.unit == LoadUnit::Users { by.max(1.0) } else { by };
    Some((interval.value + side * by, reason))
}

impl CapacitySettings {
    /// Length of a probe at this load. `seconds`: its length at a high load.
    fn long_enough(&self, load: f64, seconds: f64) -> f64 {
        let share = seconds / self.probe_seconds;
        let needed = if self.unit == LoadUnit::Arrivals { self.arrivals_needed * share / load } else { 0.0 };
        seconds.max(needed.min(self.budget_seconds / 6.0)).ceil()
    }

    /// The usual time of a search: three probes of the ladder and eight more, but at most its budget. Seconds.
    pub fn usual_seconds(&self) -> f64 {
        let of = |count: f64, seconds: f64| count * (seconds + self.pause_seconds);
        (of(3.0, self.ladder_seconds) + of(8.0, self.probe_seconds)).min(self.budget_seconds)
    }
}
