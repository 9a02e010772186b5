//! Open load: did as many arrivals start as came due, and as many come due as the plan asks for?

use super::check::{CheckInfo, CheckInput, RunStage, grade_of};
use crate::{Grade, ValidityCheck};
use plan::{LoadProfile, OpenStage, Timing};
use run_directory::RunEnd;

const INFO: CheckInfo = CheckInfo {
    id: "offered-rate",
    title: "Offered rate",
    limits: "suspect when more than 1 % of a scenario's arrivals did not start, invalid above 5 % (one arrival is always tolerated; \
     those that waited for a free user count under \"Users for open load\"); once a scenario's data is used up, no more are asked for",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let leaves = input.plan.load.leaves();
    let mut worst: Option<(f64, u64, u64, &str)> = None;
    for leaf in input.tally.leaves() {
        let Some(LoadProfile::Open { stages }) = leaves.get(leaf.leaf as usize).map(|run| &run.profile) else { continue };
        let due = leaf.arrivals_due.max(if leaf.exhausted_at.is_some() { 0 } else { asked(input, stages) });
        if due == 0 {
            continue;
        }
        let missing = due.saturating_sub(leaf.started + leaf.waiting);
        let excess = leaf.started.saturating_sub(due);
        let share = missing.max(excess).saturating_sub(1) as f64 / due as f64;
        if worst.as_ref().is_none_or(|worst| share > worst.0) {
            worst = Some((share, due, leaf.started, input.scenario(leaf.leaf)));
        }
    }
    let Some((share, due, started, scenario)) = worst else { return INFO.nothing("no open load") };
    let total = |of: fn(&crate::LeafTally) -> u64| input.tally.leaves().iter().filter(|leaf| leaf.arrivals_due > 0).map(of).sum::<u64>();
    let evidence = match grade_of(share, 0.01, 0.05) {
        Grade::Valid => format!(
            "{} of {} arrivals that came due were started",
            units::count(total(|leaf| leaf.started)),
            units::count(total(|leaf| leaf.arrivals_due))
        ),
        _ => format!("scenario \"{scenario}\" asked for {} arrivals and {} were started", units::count(due), units::count(started)),
    };
    if let Some(warning) = used_up(input).filter(|_| grade_of(share, 0.01, 0.05) == Grade::Valid) {
        return INFO.with(Some(Grade::Valid), format!("{evidence}; {}", warning.0), &warning.1);
    }
    let advice = "The generator could not produce the load that was asked for. Ask for less, give it more cores (--workers), or move \
     it off the target's machine.";
    INFO.graded(grade_of(share, 0.01, 0.05), evidence, advice)
}

/// A scenario that ended early because its data was used up: as the test says, but not for as long as its duration promises.
fn used_up(input: &CheckInput<'_>) -> Option<(String, String)> {
    let leaf = input.tally.leaves().iter().find(|leaf| leaf.exhausted_at.is_some())?;
    let (scenario, at) = (input.scenario(leaf.leaf), units::seconds(leaf.exhausted_at? as f64 / 1e9));
    let advice = "Give the feeder more rows, or let it start over (`circular()`, `random()`), if the load should go on.";
    Some((format!("the data of scenario \"{scenario}\" was used up by {at} and its load ended there"), advice.to_owned()))
}

/// What the plan asks for in a run that completed; a Poisson process may fall short by four standard deviations.
fn asked(input: &CheckInput<'_>, stages: &[OpenStage]) -> u64 {
    if input.stage != RunStage::Over(Some(&RunEnd::Completed)) {
        return 0;
    }
    let arrivals: f64 = stages.iter().map(OpenStage::arrivals).sum();
    let is_poisson = stages.iter().any(|stage| matches!(stage, OpenStage::Rate { timing: Timing::Poisson, .. }));
    let slack = if is_poisson { 4.0 * arrivals.sqrt() } else { 1.0 };
    (arrivals - slack).max(0.0).floor() as u64
}
