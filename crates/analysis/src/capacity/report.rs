//! The result of a search.

use super::model::{Capacity, CapacityInterval, CapacityProbe, CapacityVerdict, LoadUnit, ProbeLean};
use super::search::{CapacityEnd, CapacitySettings, SearchState};

/// Probes contradict each other if a load that held is higher than one that failed by more than this share. Less is chance.
const CONTRADICTION_SHARE_MIN: f64 = 0.1;

impl Capacity {
    pub const SCHEMA: u32 = 1;

    /// The result of these probes. `end`: why the search ended; `None`: it was interrupted.
    pub fn of(test: &str, settings: &CapacitySettings, objectives: &[String], probes: &[CapacityProbe], end: Option<CapacityEnd>) -> Self {
        let unit = settings.unit;
        let state = SearchState::of(unit, probes);
        let capacity = state.found.map(|(interval, _)| shown(unit, interval));
        let verdict = match (&state, end) {
            (SearchState { found: Some(_), .. }, Some(CapacityEnd::Precise)) => CapacityVerdict::Found,
            (SearchState { found: Some(_), .. }, _) => CapacityVerdict::Rough,
            (SearchState { highest_held: Some(_), .. }, _) => CapacityVerdict::AtLeast,
            (SearchState { lowest_failed: Some(_), .. }, _) if has_undisturbed_failure(probes) => CapacityVerdict::Below,
            _ => CapacityVerdict::CannotTell,
        };
        let above = capacity.map_or_else(|| nearest_failed(probes, 0.0), |capacity| nearest_failed(probes, capacity.value));
        let binding = above.and_then(|probe| binding(probe, state.found.map(|(_, which)| which)));
        let is_unexplained = verdict != CapacityVerdict::Found || above.is_some_and(|probe| probe.findings.is_empty());
        let mut result = Self {
            schema: Self::SCHEMA,
            test: test.to_owned(),
            unit,
            objectives: objectives.to_vec(),
            verdict,
            headline: String::new(),
            capacity,
            highest_held: state.highest_held,
            lowest_failed: state.lowest_failed,
            binding,
            limited_by: above.and_then(|probe| probe.findings.first().cloned()),
            next_limit: above.and_then(|probe| probe.next_limit.clone()),
            limit_run: above.map(|probe| probe.run.clone()),
            disturbed_by: is_unexplained.then(|| disturbed_by(unit, probes)).flatten(),
            cost_seconds: probes.iter().map(|probe| probe.cost_seconds).sum(),
            probes: probes.to_vec(),
        };
        result.headline = result.sentence(end);
        result
    }

    /// The answer with the cause that a ramp through the capacity shows.
    #[must_use]
    pub fn explained_by(mut self, ramp: &CapacityProbe) -> Self {
        self.cost_seconds += ramp.cost_seconds;
        if let Some(claim) = ramp.findings.first() {
            self.limited_by = Some(claim.clone());
            self.next_limit.clone_from(&ramp.next_limit);
            self.limit_run = Some(ramp.run.clone());
            self.disturbed_by = self.disturbed_by.filter(|_| self.verdict != CapacityVerdict::Found);
        }
        self
    }

    fn sentence(&self, end: Option<CapacityEnd>) -> String {
        let words = |load: f64| self.unit.words(load);
        let within = |of: CapacityInterval| format!("{} (95 % interval {} to {})", words(of.value), words(of.low), words(of.high));
        let why = match end {
            Some(CapacityEnd::Budget) => "the time budget was used up",
            Some(CapacityEnd::Generator) => "the load generator could not generate more",
            Some(_) => "",
            // Stopped by the user, or still in progress.
            None => "the search is not complete",
        };
        match (self.verdict, self.capacity) {
            (CapacityVerdict::Found, Some(of)) => format!("the capacity is {}", within(of)),
            (_, Some(of)) => {
                let why = if why.is_empty() { "it is not confirmed" } else { why };
                format!("the capacity is about {}; {why}", within(of))
            }
            (CapacityVerdict::AtLeast, _) => {
                let held = words(self.highest_held.unwrap_or(0.0));
                let why = if why.is_empty() { "this is the highest load that the search may use" } else { why };
                format!("the capacity is at least {held}: {why}")
            }
            (CapacityVerdict::Below, _) => {
                format!("the capacity is less than {}: the lowest tested load fails", words(self.lowest_failed.unwrap_or(0.0)))
            }
            _ if self.lowest_failed.is_some() => {
                "the capacity is unknown: no load held, and the load generator was disturbed in every probe that failed".to_owned()
            }
            _ if why.is_empty() => "the capacity is unknown: no measurement was usable".to_owned(),
            _ => format!("the capacity is unknown: {why} before a measurement was usable"),
        }
    }
}

/// Whether the target failed in a probe that the generator did not disturb. If no load held and the generator disturbed every failure, the failures may be
/// the generator's own.
fn has_undisturbed_failure(probes: &[CapacityProbe]) -> bool {
    probes.iter().any(|probe| probe.lean == ProbeLean::Fails && probe.reading.disturbances.is_empty())
}

/// The number of users is whole, and rounded down, since too high a number is useless for planning.
fn shown(unit: LoadUnit, interval: CapacityInterval) -> CapacityInterval {
    if unit != LoadUnit::Users {
        return interval;
    }
    let CapacityInterval { value, low, high } = interval;
    CapacityInterval { value: value.floor().max(1.0), low: low.floor().max(1.0), high: high.floor().max(1.0) }
}

/// The lowest failed load at or above `from` that has a finding; otherwise the lowest failed load at or above it, otherwise the lowest
/// failed load.
fn nearest_failed(probes: &[CapacityProbe], from: f64) -> Option<&CapacityProbe> {
    let failed = || probes.iter().filter(|probe| probe.lean == ProbeLean::Fails);
    let above = || failed().filter(|probe| probe.load >= from);
    let lowest = |a: &&CapacityProbe, b: &&CapacityProbe| a.load.total_cmp(&b.load).then(b.seconds.total_cmp(&a.seconds));
    let explained = above().filter(|probe| !probe.findings.is_empty()).min_by(lowest);
    explained.or_else(|| above().min_by(lowest)).or_else(|| failed().min_by(lowest))
}

/// The disturbance of the generator in most probes; otherwise a contradiction between probes.
fn disturbed_by(unit: LoadUnit, probes: &[CapacityProbe]) -> Option<String> {
    let all = || probes.iter().flat_map(|probe| &probe.reading.disturbances);
    let count = |what: &str| all().filter(|of| of.what == what).count();
    if let Some(most) = all().max_by_key(|of| count(&of.what)) {
        // The last example is closest to the answer.
        let example = all().rfind(|of| of.what == most.what).map_or("", |of| of.evidence.as_str());
        let (times, of) = (count(&most.what), loadstone_units::counted(probes.len() as u64, "probe"));
        return Some(format!("the generator's machine, in {times} of {of}: {} ({example})", most.what.to_lowercase()));
    }
    let of = |lean: ProbeLean| probes.iter().filter(move |probe| probe.lean == lean).map(|probe| probe.load);
    let (held, failed) = (of(ProbeLean::Holds).reduce(f64::max)?, of(ProbeLean::Fails).reduce(f64::min)?);
    let apart = held > failed * (1.0 + CONTRADICTION_SHARE_MIN);
    apart.then(|| format!("the probes contradict each other: {} held, {} failed", unit.words(held), unit.words(failed)))
}

/// The objective that failed in the probe; of several, the one with the lowest capacity.
fn binding(probe: &CapacityProbe, least: Option<usize>) -> Option<String> {
    let failed = |which: usize| probe.reading.objectives.get(which).filter(|objective| !objective.holds);
    let first = || probe.reading.objectives.iter().find(|objective| !objective.holds);
    least.and_then(failed).or_else(first).map(|objective| objective.objective.clone())
}
