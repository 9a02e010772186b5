//! Were all names kept apart?

use super::check::{CheckInfo, CheckInput};
use crate::{Grade, ValidityCheck};

const INFO: CheckInfo = CheckInfo {
    id: "series",
    title: "Names kept apart",
    limits: "suspect when more names turned up than the limit on series allows; the rest share one series, `(other)`",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    match input.tally.series_overflow() {
        0 if input.tally.series().is_empty() => INFO.nothing("nothing was measured"),
        0 => INFO.graded(Grade::Valid, format!("{} series", units::count(input.tally.series().len() as u64)), ""),
        over => INFO.graded(
            Grade::Suspect,
            format!("{} times a new name came after the limit of {} series was reached", units::count(over), input.plan.options.series_max),
            "Give requests a `name` without ids or other parts that change every time, or raise `seriesMax`.",
        ),
    }
}
