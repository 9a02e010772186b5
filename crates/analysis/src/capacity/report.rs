//! What a search comes to.

use super::model::{Capacity, CapacityInterval, CapacityProbe, CapacityVerdict, LoadUnit, ProbeLean};
use super::search::{CapacityEnd, CapacitySettings, SearchStanding};

/// How far above one that failed a load must have held before probes are said to contradict each other: less is what chance does.
const CONTRADICTION: f64 = 0.1;

impl Capacity {
    pub const SCHEMA: u32 = 1;

    /// What these probes say. `end`: why the search ended; `None`: it was interrupted.
    pub fn of(test: &str, settings: &CapacitySettings, objectives: &[String], probes: &[CapacityProbe], end: Option<CapacityEnd>) -> Self {
        let unit = settings.unit;
        let standing = SearchStanding::of(unit, probes);
        let capacity = standing.found.map(|(interval, _)| shown(unit, interval));
        let verdict = match (&standing, end) {
            (SearchStanding { found: Some(_), .. }, Some(CapacityEnd::Precise)) => CapacityVerdict::Found,
            (SearchStanding { found: Some(_), .. }, _) => CapacityVerdict::Rough,
            (SearchStanding { highest_held: Some(_), .. }, _) => CapacityVerdict::AtLeast,
            (SearchStanding { lowest_failed: Some(_), .. }, _) => CapacityVerdict::Below,
            _ => CapacityVerdict::CannotTell,
        };
        let above = capacity.map_or_else(|| nearest_failed(probes, 0.0), |capacity| nearest_failed(probes, capacity.value));
        let binding = above.and_then(|probe| binding(probe, standing.found.map(|(_, which)| which)));
        let is_unexplained = verdict != CapacityVerdict::Found || above.is_some_and(|probe| probe.findings.is_empty());
        let mut result = Self {
            schema: Self::SCHEMA,
            test: test.to_owned(),
            unit,
            objectives: objectives.to_vec(),
            verdict,
            headline: String::new(),
            capacity,
            highest_held: standing.highest_held,
            lowest_failed: standing.lowest_failed,
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

    fn sentence(&self, end: Option<CapacityEnd>) -> String {
        let words = |load: f64| self.unit.words(load);
        let within = |of: CapacityInterval| format!("{} (95 % interval {} to {})", words(of.value), words(of.low), words(of.high));
        let why = match end {
            Some(CapacityEnd::Budget) => "the time was up",
            Some(CapacityEnd::Generator) => "the load generator could not make more",
            Some(_) => "",
            None => "it was stopped",
        };
        match (self.verdict, self.capacity) {
            (CapacityVerdict::Found, Some(of)) => format!("it takes {}", within(of)),
            (_, Some(of)) => {
                let why = if why.is_empty() { "it is not confirmed" } else { why };
                format!("it takes about {}; {why}", within(of))
            }
            (CapacityVerdict::AtLeast, _) => {
                let held = words(self.highest_held.unwrap_or(0.0));
                let why = if why.is_empty() { "no more was to be asked for" } else { why };
                format!("it takes at least {held}: {why}")
            }
            (CapacityVerdict::Below, _) => {
                format!("it takes less than {}: the lowest load that was tried fails", words(self.lowest_failed.unwrap_or(0.0)))
            }
            _ if why.is_empty() => "cannot tell: no measurement was usable".to_owned(),
            _ => format!("cannot tell: {why} before a measurement was usable"),
        }
    }
}

/// Users are whole, and a number that may be too high is none to plan with: the lower one.
fn shown(unit: LoadUnit, interval: CapacityInterval) -> CapacityInterval {
    if unit != LoadUnit::Users {
        return interval;
    }
    let CapacityInterval { value, low, high } = interval;
    CapacityInterval { value: value.floor().max(1.0), low: low.floor().max(1.0), high: high.floor().max(1.0) }
}

/// The lowest failed load at or above, of those in which a cause was found; failing that, any of them, and the lowest of all.
fn nearest_failed(probes: &[CapacityProbe], from: f64) -> Option<&CapacityProbe> {
    let failed = || probes.iter().filter(|probe| probe.lean == ProbeLean::Fails);
    let above = || failed().filter(|probe| probe.load >= from);
    let lowest = |a: &&CapacityProbe, b: &&CapacityProbe| a.load.total_cmp(&b.load).then(b.seconds.total_cmp(&a.seconds));
    let explained = above().filter(|probe| !probe.findings.is_empty()).min_by(lowest);
    explained.or_else(|| above().min_by(lowest)).or_else(|| failed().min_by(lowest))
}

/// What kept the generator from its work in most probes; failing that, that probes contradict each other.
fn disturbed_by(unit: LoadUnit, probes: &[CapacityProbe]) -> Option<String> {
    let all = || probes.iter().flat_map(|probe| &probe.reading.disturbances);
    let count = |what: &str| all().filter(|of| of.what == what).count();
    if let Some(most) = all().max_by_key(|of| count(&of.what)) {
        // The loudest example is the last: it was made where the answer lies.
        let example = all().rfind(|of| of.what == most.what).map_or("", |of| of.evidence.as_str());
        let (times, of) = (count(&most.what), loadstone_units::counted(probes.len() as u64, "probe"));
        return Some(format!("the machine of the generator, in {times} of {of}: {} ({example})", most.what.to_lowercase()));
    }
    let of = |lean: ProbeLean| probes.iter().filter(move |probe| probe.lean == lean).map(|probe| probe.load);
    let (held, failed) = (of(ProbeLean::Holds).reduce(f64::max)?, of(ProbeLean::Fails).reduce(f64::min)?);
    let apart = held > failed * (1.0 + CONTRADICTION);
    apart.then(|| format!("what the system takes differs from probe to probe: {} held, {} did not", unit.words(held), unit.words(failed)))
}

/// The objective that failed there; of several, the one whose capacity is the lowest.
fn binding(probe: &CapacityProbe, least: Option<usize>) -> Option<String> {
    let failed = |which: usize| probe.reading.objectives.get(which).filter(|objective| !objective.holds);
    let first = || probe.reading.objectives.iter().find(|objective| !objective.holds);
    least.and_then(failed).or_else(first).map(|objective| objective.objective.clone())
}
