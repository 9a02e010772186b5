//! Every iteration that started must have ended, been interrupted, or still run.

use super::check::{CheckInfo, CheckInput, RunStage};
use crate::{Grade, ValidityCheck};

const INFO: CheckInfo = CheckInfo {
    id: "conservation",
    title: "Counts conserved",
    limits: "invalid when started ≠ ended + interrupted + still active for any scenario",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let started: u64 = input.tally.leaves().iter().map(|leaf| leaf.started).sum();
    if started == 0 {
        return INFO.nothing("no iteration was started");
    }
    if !matches!(input.stage, RunStage::Over(Some(_))) || input.tally.missing_slices() > 0 {
        return INFO.nothing("only judged when every second of the run was recorded");
    }
    for leaf in input.tally.leaves() {
        if leaf.started != leaf.ended + leaf.interrupted + leaf.users_active {
            let evidence = format!(
                "scenario \"{}\": {} started, but {} ended, {} interrupted and {} active",
                input.scenario(leaf.leaf),
                loadstone_units::count(leaf.started),
                loadstone_units::count(leaf.ended),
                loadstone_units::count(leaf.interrupted),
                loadstone_units::count(leaf.users_active)
            );
            return INFO.graded(Grade::Invalid, evidence, "Iterations were lost: please report this run.");
        }
    }
    INFO.graded(Grade::Valid, format!("all {} iterations that started are accounted for", loadstone_units::count(started)), "")
}
