//! Did the tool start the load that it was asked for?

use super::super::check::{CheckInfo, CheckInput, grade_of};
use crate::{Grade, ValidityCheck};

const INFO: CheckInfo = CheckInfo {
    id: "dropped-iterations",
    title: "Dropped iterations",
    limits: "suspect when the tool dropped more than 1 % of its iterations, invalid above 5 %",
};

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let dropped = input.tally.record().map_or(0, |record| record.dropped);
    // Only open load drops iterations.
    let leaves = input.plan.load.leaves();
    let is_open = |leaf: u32| leaves.get(leaf as usize).is_none_or(|run| run.profile.is_open());
    let has_open = leaves.iter().any(|run| run.profile.is_open());
    let started: u64 = input.tally.leaves().iter().filter(|leaf| !has_open || is_open(leaf.leaf)).map(|leaf| leaf.started).sum();
    if dropped == 0 {
        return INFO.nothing("the record has no dropped iteration");
    }
    let share = dropped as f64 / (started + dropped) as f64;
    let evidence = format!(
        "{} dropped {} of {} iterations, because no virtual user was free: those requests, which would have waited, are in no number",
        super::tool(input),
        loadstone_units::count(dropped),
        loadstone_units::count(started + dropped)
    );
    let advice = "Allow more virtual users (`maxVUs` in k6), or lower the rate. As long as iterations are dropped, percentiles look better than what \
                  users of this load would see.";
    let grade = grade_of(share, 0.01, 0.05);
    INFO.with(Some(grade), evidence, if grade == Grade::Valid { "" } else { advice })
}
