//! Every iteration that started must have ended, been interrupted, or still run.

use super::{Ground, RunStage, Sheet};
use crate::{Grade, ValidityCheck};

const SHEET: Sheet = Sheet {
    id: "conservation",
    title: "Counts conserved",
    limits: "invalid when started ≠ ended + interrupted + still active for any scenario",
};

pub(super) fn check(ground: &Ground<'_>) -> ValidityCheck {
    let started: u64 = ground.tally.leaves().iter().map(|leaf| leaf.started).sum();
    if started == 0 {
        return SHEET.nothing("no iteration was started");
    }
    if !matches!(ground.stage, RunStage::Over(Some(_))) || ground.tally.missing_slices() > 0 {
        return SHEET.nothing("only judged when every second of the run is there");
    }
    for leaf in ground.tally.leaves() {
        if leaf.started != leaf.ended + leaf.interrupted + leaf.users_active {
            let evidence = format!(
                "scenario \"{}\": {} started, but {} ended, {} interrupted and {} active",
                ground.scenario(leaf.leaf),
                units::count(leaf.started),
                units::count(leaf.ended),
                units::count(leaf.interrupted),
                units::count(leaf.users_active)
            );
            return SHEET.graded(Grade::Invalid, evidence, "Iterations were lost: please report this run.");
        }
    }
    SHEET.graded(Grade::Valid, format!("all {} iterations that started are accounted for", units::count(started)), "")
}
