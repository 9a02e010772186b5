//! How exactly the times of the record map to the clock of the observers.

use super::super::check::{CheckInfo, CheckInput};
use crate::{Grade, ValidityCheck};

/// Resolution from which sub-second causes cannot be placed. Nanoseconds.
const COARSE_NS_MIN: u64 = 1_000_000_000;

const INFO: CheckInfo = CheckInfo {
    id: "record-clock",
    title: "Clock of the record",
    limits: "suspect when the wall clock was set during the run, or when more than 1 % of the entries lie outside of the run; invalid when most do",
};

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let (Some(record), Some(recorded)) = (input.tally.record(), &input.plan.recorded) else { return INFO.nothing("nothing was read") };
    let resolution = loadstone_units::seconds(recorded.resolution_ns as f64 / 1e9);
    let all = record.entries + record.outside;
    let share = record.outside as f64 / all.max(1) as f64;
    if share > 0.01 {
        let evidence = format!(
            "{} of {} entries lie before the start of the run or in the future",
            loadstone_units::count(record.outside),
            loadstone_units::count(all)
        );
        let advice = "The record's times differ from this machine's clock: another machine or another time zone wrote it, or the log has old entries. \
                      Run the watch on the machine that writes the record, and set its clock by NTP.";
        return INFO.graded(if share > 0.5 { Grade::Invalid } else { Grade::Suspect }, evidence, advice);
    }
    if record.clock_step_ns > 0 {
        let evidence =
            format!("the wall clock was set by {} in total during the run", loadstone_units::seconds(record.clock_step_ns as f64 / 1e9));
        let advice = "Requests within a second of a step may appear at the wrong time. Times of requests that the tool measured with the wall clock are \
                      wrong at the step. Run again with a clock that NTP only slews.";
        return INFO.graded(Grade::Suspect, evidence, advice);
    }
    let coarse = if recorded.resolution_ns >= COARSE_NS_MIN { ": causes cannot be placed within a second" } else { "" };
    INFO.graded(Grade::Valid, format!("times are exact to {resolution}{coarse}; the wall clock was not set"), "")
}
