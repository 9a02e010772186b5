//! Was every second of the run recorded?

use loadstone_metrics::{ErrorGroup, Outcome};

use super::check::{CheckInfo, CheckInput, RunStage, grade_of};
use crate::{Grade, ValidityCheck};

/// What the error of a script says that kept its worker from everything else.
const UNYIELDING: &str = "without yielding";

const INFO: CheckInfo = CheckInfo {
    id: "slices",
    title: "Complete record",
    limits: "suspect when seconds are missing or the run was killed, invalid when more than 5 % are missing",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let (there, missing) = (input.tally.recorded_seconds(), input.tally.missing_slices());
    if input.stage == RunStage::Running {
        return INFO.nothing("the run is still going on");
    }
    if missing > 0 {
        let share = missing as f64 / (there + missing) as f64;
        let evidence = format!("{} of {} seconds are missing", loadstone_units::count(missing), loadstone_units::count(there + missing));
        let is_stuck = |error: &ErrorGroup| error.outcome == Outcome::Script && error.message.contains(UNYIELDING);
        let advice = if input.tally.errors().iter().any(is_stuck) {
            "A script did not yield, so that nothing else was done or counted meanwhile: the errors of the report have its line."
        } else {
            "The disk did not take them, or lines were removed: the run's warnings say which."
        };
        return INFO.graded(grade_of(share, 0.0, 0.05), evidence, advice);
    }
    match input.stage {
        RunStage::Over(None) => INFO.graded(
            Grade::Suspect,
            format!("the run was cut off after {}", loadstone_units::seconds(input.tally.duration_seconds())),
            "The process was killed; what was in flight then is not counted. Read the numbers as those of a shorter run.",
        ),
        _ => INFO.graded(Grade::Valid, format!("all {} seconds were recorded", loadstone_units::count(there)), ""),
    }
}
