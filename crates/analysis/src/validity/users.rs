//! Were there as many users as the load needed?

use super::check::{CheckInfo, CheckInput, grade_of};
use crate::{Grade, ValidityCheck, advice_terms};
use loadstone_plan::{LoadProfile, ScenarioRun};

const OPEN: CheckInfo = CheckInfo {
    id: "users-max",
    title: "Users for open load",
    limits: "suspect when arrivals waited because the maximum number of concurrent users was reached",
};

/// Open load: arrivals wait when `users_max` users are busy. Their wait counts in the response time, but the load is no longer the
/// requested open load.
pub(super) fn open(input: &CheckInput<'_>) -> ValidityCheck {
    let leaves = input.plan.load.leaves();
    let is_open = |run: &&&ScenarioRun| run.profile.is_open();
    let mut any = false;
    for leaf in input.tally.leaves() {
        let Some(run) = leaves.get(leaf.leaf as usize).filter(is_open) else { continue };
        any = true;
        let users_max = run.users_max.unwrap_or(ScenarioRun::DEFAULT_USERS_MAX);
        if leaf.waiting_max > 0 && leaf.users_active_max * 10 >= users_max * 9 {
            let evidence = format!(
                "scenario \"{}\": all {} users were busy, and up to {} arrivals waited for a free user",
                input.scenario(leaf.leaf),
                loadstone_units::count(users_max),
                loadstone_units::count(leaf.waiting_max)
            );
            let advice = format!(
                "The target responds more slowly than users arrive. If this overload is intended, use the throughput instead of the percentiles. \
                 Otherwise lower the rate, or raise {}.",
                advice_terms::users_max(input.plan)
            );
            return OPEN.graded(Grade::Suspect, evidence, &advice);
        }
    }
    if any { OPEN.graded(Grade::Valid, "no arrival waited for a free user", "") } else { OPEN.nothing("no open load") }
}

const CLOSED: CheckInfo = CheckInfo {
    id: "closed-users",
    title: "Users of closed load",
    limits: "suspect when on average more than 1 % of the requested users were missing, invalid above 5 %",
};

/// Closed load: compares the requested users with the users that had an iteration in progress, at the end of every second.
pub(super) fn closed(input: &CheckInput<'_>) -> ValidityCheck {
    let leaves = input.plan.load.leaves();
    let mut worst: Option<(f64, f64, f64, &str)> = None;
    for leaf in input.tally.leaves().iter().filter(|leaf| leaf.slices_asked > 0) {
        if !leaves.get(leaf.leaf as usize).is_some_and(|run| matches!(run.profile, LoadProfile::Closed { .. })) {
            continue;
        }
        let mean = |sum: u64| sum as f64 / leaf.slices_asked as f64;
        let (requested, active) = (mean(leaf.users_asked_sum), mean(leaf.users_active_sum));
        let missing = ((requested - active) / requested).max(0.0);
        if worst.as_ref().is_none_or(|worst| missing > worst.0) {
            worst = Some((missing, requested, active, input.scenario(leaf.leaf)));
        }
    }
    let Some((missing, requested, active, scenario)) = worst else { return CLOSED.nothing("no closed load") };
    let failed_starts = input.tally.failed_starts();
    if let Some((error, count)) = failed_starts.iter().find(|(error, _)| &*error.key.name == scenario) {
        let evidence =
            format!("scenario \"{scenario}\": onStart failed for every user, {} times ({})", loadstone_units::count(*count), error.message);
        return CLOSED.graded(
            Grade::Invalid,
            evidence,
            "No user began an iteration. Fix what onStart needs: the errors below have the details.",
        );
    }
    let evidence = format!(
        "scenario \"{scenario}\": {} of {} users active on average",
        loadstone_units::number(active),
        loadstone_units::number(requested)
    );
    let advice = "Users started late or stopped early. Check for script errors that end users, or give the generator more cores \
     (--workers).";
    CLOSED.graded(grade_of(missing, 0.01, 0.05), evidence, advice)
}
