//! Was every second of the run recorded?

use loadstone_metrics::{ErrorCause, ErrorGroup};

use super::check::{CheckInfo, CheckInput, RunStage, grade_of};
use crate::{Grade, ValidityCheck};

const INFO: CheckInfo = CheckInfo {
    id: "slices",
    title: "Complete record",
    limits: "suspect when seconds are missing or the run was killed, invalid when more than 5 % are missing",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let (recorded, missing) = (input.tally.recorded_seconds(), input.tally.missing_slices());
    if input.stage == RunStage::Running {
        return INFO.nothing("not judged: the run is in progress");
    }
    if missing > 0 {
        let share = missing as f64 / (recorded + missing) as f64;
        let evidence = format!("{} of {} seconds are missing", loadstone_units::count(missing), loadstone_units::count(recorded + missing));
        let is_stuck = |error: &ErrorGroup| error.cause == Some(ErrorCause::Unyielding);
        let advice = if input.tally.errors().iter().any(is_stuck) {
            "A script did not yield and blocked its worker, which recorded nothing meanwhile. The errors of the report show the line of \
             the script."
        } else {
            "The process was stopped meanwhile (SIGSTOP, a suspended machine), or the disk did not store them. The run's warnings show which."
        };
        return INFO.graded(grade_of(share, 0.0, 0.05), evidence, advice);
    }
    match input.stage {
        RunStage::Over(None) => INFO.graded(
            Grade::Suspect,
            format!("the run was cut off after {}", loadstone_units::seconds(input.tally.duration_seconds())),
            "The process was killed, and requests that were in flight are not counted. The numbers describe the run up to that time.",
        ),
        _ => INFO.graded(Grade::Valid, format!("all {} seconds were recorded", loadstone_units::count(recorded)), ""),
    }
}
