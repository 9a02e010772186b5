//! Every iteration that started must have ended, been interrupted, or be in progress.

use super::check::{CheckInfo, CheckInput, RunStage};
use crate::{Grade, ValidityCheck};

const INFO: CheckInfo = CheckInfo {
    id: "conservation",
    title: "Counts conserved",
    limits: "invalid when started ≠ ended + interrupted + active for any scenario",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let started: u64 = input.tally.leaves().iter().map(|leaf| leaf.started).sum();
    if started == 0 {
        return INFO.nothing("no iteration was started");
    }
    if !matches!(input.stage, RunStage::Over(Some(_))) || input.tally.missing_slices() > 0 {
        return INFO.nothing("not judged: the record does not have every second of the run");
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
            return INFO.graded(Grade::Invalid, evidence, "Loadstone lost iterations. Please report this run as a bug.");
        }
    }
    INFO.graded(Grade::Valid, format!("all {} iterations that started are accounted for", loadstone_units::count(started)), "")
}
