//! Requests that the tool was to send, by its arguments, and that its record does not have. A tool that is out of workers, or behind at its end, drops them.

use loadstone_metrics::CommandEnd;
use loadstone_run_directory::RunEnd;

use super::super::check::{CheckInfo, CheckInput, RunStage, grade_of};
use crate::{Grade, ValidityCheck};

/// Requests that may be missing: whether the last one is due before the end depends on rounding.
const TOLERATED_MAX: u64 = 1;
const SUSPECT_SHARE_MIN: f64 = 0.005;
const INVALID_SHARE_MIN: f64 = 0.05;

const INFO: CheckInfo = CheckInfo {
    id: "planned-requests",
    title: "Planned requests",
    limits: "suspect when more than 0.5 % of the requests that the tool was to send are not in its record, invalid above 5 % (one missing request is \
     always tolerated)",
};

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let Some(planned) = input.plan.recorded.as_ref().and_then(|recorded| recorded.planned_requests) else {
        return INFO.nothing("not judged: the command does not show how many requests were planned");
    };
    let Some(record) = input.tally.record() else { return INFO.nothing("nothing was read") };
    let ended_itself = matches!(record.command_end, Some(CommandEnd::Exited(_)));
    if input.stage != RunStage::Over(Some(&RunEnd::Completed)) || !ended_itself {
        return INFO.nothing("not judged: the command did not end by itself");
    }
    // Other checks report the entries that could not be used.
    let found = record.entries + record.outside + record.unreadable;
    let tool = super::tool(input);
    let missing = planned.saturating_sub(found);
    if missing <= TOLERATED_MAX {
        let evidence = format!("the record has {} of {} planned requests", loadstone_units::count(found), loadstone_units::count(planned));
        return INFO.graded(Grade::Valid, evidence, "");
    }
    let evidence = format!(
        "{} of {} requests that {tool} was to send are not in its record: they are in no number",
        loadstone_units::count(missing),
        loadstone_units::count(planned)
    );
    let advice = "The tool did not send the load that it was asked for, so percentiles may look better than under that load. Allow more workers \
                  (`-max-workers` in vegeta), lower the rate, or read the tool's output for errors.";
    let share = missing as f64 / planned as f64;
    INFO.graded(grade_of(share, SUSPECT_SHARE_MIN, INVALID_SHARE_MIN), evidence, advice)
}
