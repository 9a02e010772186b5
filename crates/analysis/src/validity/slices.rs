//! Is every second of the run there?

use super::{Ground, RunStage, Sheet, grade_of};
use crate::{Grade, ValidityCheck};

const SHEET: Sheet = Sheet {
    id: "slices",
    title: "Complete record",
    limits: "suspect when seconds are missing or the run was killed, invalid when more than 5 % are missing or nothing was measured",
};

pub(super) fn check(ground: &Ground<'_>) -> ValidityCheck {
    let (there, missing) = (ground.tally.seconds().len() as u64, ground.tally.missing_slices());
    if ground.stage == RunStage::Running {
        return SHEET.nothing("the run goes on");
    }
    if ground.tally.series().is_empty() {
        return SHEET.graded(
            Grade::Invalid,
            "nothing was measured",
            "No request, group or iteration ended before the run did. Run longer.",
        );
    }
    if missing > 0 {
        let share = missing as f64 / (there + missing) as f64;
        let evidence = format!("{} of {} seconds are missing", units::count(missing), units::count(there + missing));
        return SHEET.graded(
            grade_of(share, 0.0, 0.05),
            evidence,
            "The disk did not take them, or lines were removed. Look into console.log.",
        );
    }
    match ground.stage {
        RunStage::Over(None) => SHEET.graded(
            Grade::Suspect,
            format!("the run was cut off after {}", units::seconds(ground.tally.duration_seconds())),
            "The process was killed; what was in flight then is not counted. Read the numbers as those of a shorter run.",
        ),
        _ => SHEET.graded(Grade::Valid, format!("all {} seconds are there", units::count(there)), ""),
    }
}
