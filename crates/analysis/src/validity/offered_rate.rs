//! Open load: did all arrivals that were due start, and were as many due as the plan asks for?

use super::check::{CheckInfo, CheckInput, RunStage, grade_of};
use crate::{Grade, LeafTally, ValidityCheck};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::RunEnd;

const INFO: CheckInfo = CheckInfo {
    id: "offered-rate",
    title: "Offered rate",
    limits: "suspect when more than 1 % of a scenario's arrivals did not start while its load lasted, invalid above 5 % (one missing \
     arrival is always tolerated; arrivals that waited for a free user count under \"Users for open load\"); after a scenario has used up \
     its data, no more arrivals are expected",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let leaves = input.plan.load.leaves();
    let mut worst: Option<(f64, u64, u64, &LeafTally)> = None;
    for leaf in input.tally.leaves() {
        let Some(LoadProfile::Open { stages }) = leaves.get(leaf.leaf as usize).map(|run| &run.profile) else { continue };
        // The arrivals of a lost agent are no limit of the remaining agents: the agents check reports them.
        let is_counted = leaf.exhausted_at.is_none() && !input.tally.agents().iter().any(|agent| agent.lost);
        let due = leaf.arrivals_due.max(if is_counted { requested(input, leaf, stages) } else { 0 });
        if due == 0 {
            continue;
        }
        let in_time = leaf.started.saturating_sub(leaf.late);
        let missing = due.saturating_sub(in_time + leaf.waiting);
        let excess = leaf.started.saturating_sub(due);
        let share = missing.max(excess).saturating_sub(1) as f64 / due as f64;
        if worst.as_ref().is_none_or(|worst| share > worst.0) {
            worst = Some((share, due, in_time, leaf));
        }
    }
    let Some((share, due, started, leaf)) = worst else { return INFO.nothing("no open load") };
    let total = |of: fn(&LeafTally) -> u64| input.tally.leaves().iter().filter(|leaf| leaf.arrivals_due > 0).map(of).sum::<u64>();
    let evidence = match grade_of(share, 0.01, 0.05) {
        Grade::Valid => format!(
            "{} of {} due arrivals {}started",
            loadstone_units::count(total(|leaf| leaf.started)),
            loadstone_units::count(total(|leaf| leaf.arrivals_due)),
            if input.tally.agents().iter().any(|agent| agent.lost) { "of the remaining agents " } else { "" }
        ),
        _ => {
            let seconds = load_seconds(input, leaf);
            format!(
                "scenario \"{}\": the generator reached its limit at {} of {} requested ({} of {} arrivals started while the load lasted)",
                input.scenario(leaf.leaf),
                loadstone_units::rate(started as f64 / seconds),
                loadstone_units::rate(due as f64 / seconds),
                loadstone_units::count(started),
                loadstone_units::count(due)
            )
        }
    };
    if let Some(warning) = used_up(input).filter(|_| grade_of(share, 0.01, 0.05) == Grade::Valid) {
        return INFO.with(Some(Grade::Valid), format!("{evidence}; {}", warning.0), &warning.1);
    }
    let advice = "The generator could not produce the requested load. Lower the rate, give the generator more cores (--workers), or move \
     it off the target's machine.";
    let check = INFO.graded(grade_of(share, 0.01, 0.05), evidence, advice);
    // The charts have the rates of all scenarios together.
    let is_only = input.tally.leaves().iter().filter(|leaf| leaf.arrivals_due > 0).count() == 1;
    if !is_only {
        return check;
    }
    let seconds = load_seconds(input, leaf);
    check.at_level("rate/asked", "requested", due as f64 / seconds).at_level("rate/achieved", "started", started as f64 / seconds)
}

/// The arrivals that the plan requests in a run that completed, and the arrivals that started.
pub(super) fn requested_and_started(input: &CheckInput<'_>) -> (u64, u64) {
    let leaves = input.plan.load.leaves();
    let open = input.tally.leaves().iter().filter_map(|leaf| match &leaves.get(leaf.leaf as usize)?.profile {
        LoadProfile::Open { stages } if leaf.exhausted_at.is_none() => Some((leaf, stages)),
        _ => None,
    });
    open.fold((0, 0), |(due, started), (leaf, stages)| (due + requested(input, leaf, stages), started + leaf.started))
}

/// How long the leaf's load lasted. Records without that information use the seconds in which arrivals were due.
fn load_seconds(input: &CheckInput<'_>, leaf: &LeafTally) -> f64 {
    let lasted = leaf.began.zip(leaf.load_ended).map(|(began, ended)| ended.saturating_sub(began) as f64 / 1e9);
    let counted = || input.tally.seconds_with_arrivals().max(1.0);
    lasted.filter(|seconds| *seconds > 0.0).unwrap_or_else(counted)
}

/// A scenario that ended early because its data was used up. The test allows this, but the load did not last for the requested duration.
fn used_up(input: &CheckInput<'_>) -> Option<(String, String)> {
    let leaf = input.tally.leaves().iter().find(|leaf| leaf.exhausted_at.is_some())?;
    let (scenario, at) = (input.scenario(leaf.leaf), loadstone_units::seconds(leaf.exhausted_at? as f64 / 1e9));
    let advice = "To continue the load, give the feeder more rows or let it start over (`circular()`, `random()`).";
    Some((format!("scenario \"{scenario}\" had used up its data by {at} and ended then"), advice.to_owned()))
}

/// The arrivals that the plan requests in a run that completed, including pauses and changes of scale. A Poisson process may have fewer by
/// four standard deviations.
fn requested(input: &CheckInput<'_>, leaf: &LeafTally, stages: &[OpenStage]) -> u64 {
    if input.stage != RunStage::Over(Some(&RunEnd::Completed)) {
        return 0;
    }
    let began = leaf.began.unwrap_or(0);
    let scales: Vec<(f64, f64)> = leaf.scales.iter().map(|(at, factor)| (at.saturating_sub(began) as f64 / 1e9, *factor)).collect();
    let arrivals = scaled_arrivals(stages, &scales);
    let is_poisson = stages.iter().any(|stage| matches!(stage, OpenStage::Rate { timing: Timing::Poisson, .. }));
    let slack = if is_poisson { 4.0 * arrivals.sqrt() } else { 1.0 };
    (arrivals - slack).max(0.0).floor() as u64
}

/// Arrivals of all stages: the integral of rate × scale. Each change of scale applies from its time on. `scales`: `(seconds since the leaf
/// began, factor)`, ascending. Bursts keep their size, as in the engine.
fn scaled_arrivals(stages: &[OpenStage], scales: &[(f64, f64)]) -> f64 {
    let mut begin = 0.0;
    let mut arrivals = 0.0;
    for stage in stages {
        let OpenStage::Rate { from, to, duration_ns, .. } = stage else {
            arrivals += stage.arrivals();
            continue;
        };
        let length = *duration_ns as f64 / 1e9;
        let up_to = |seconds: f64| {
            let t = (seconds - begin).clamp(0.0, length);
            if length > 0.0 { from * t + (to - from) * t * t / (2.0 * length) } else { 0.0 }
        };
        let mut factor = 1.0;
        let mut counted = 0.0;
        for (at, next) in scales {
            arrivals += factor * (up_to(*at) - counted);
            (counted, factor) = (up_to(*at), *next);
        }
        arrivals += factor * (up_to(begin + length) - counted);
        begin += length;
    }
    arrivals
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn rate(from: f64, to: f64, seconds: u64) -> OpenStage {
        OpenStage::Rate { from, to, duration_ns: seconds * S, timing: Timing::Even }
    }

    #[test]
    fn requested_arrivals_include_every_pause_and_scale() {
        let stages = [rate(10.0, 10.0, 10), OpenStage::Burst { count: 7 }, rate(0.0, 10.0, 10)];
        assert_eq!(scaled_arrivals(&stages, &[]), 157.0);
        // Paused for four seconds of the first stage.
        assert_eq!(scaled_arrivals(&stages, &[(3.0, 0.0), (7.0, 1.0)]), 117.0);
        // Twice the load in the second half of the ramp, whose area is three quarters of it.
        assert_eq!(scaled_arrivals(&stages, &[(15.0, 2.0)]), 157.0 + 37.5);
        // A pause across the boundary of two stages, and one that does not end.
        assert_eq!(scaled_arrivals(&stages, &[(8.0, 0.0), (12.0, 1.0)]), 157.0 - 20.0 - 2.0);
        assert_eq!(scaled_arrivals(&stages, &[(0.0, 0.0)]), 7.0);
    }
}
