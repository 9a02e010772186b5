//! Were all names kept apart?

use super::check::{CheckInfo, CheckInput};
use crate::{Grade, ValidityCheck};

const INFO: CheckInfo = CheckInfo {
    id: "series",
    title: "Names kept apart",
    limits: "suspect when more names turned up than the limit on series allows, and the rest share one series, `(other)`; or more sets of tags, and the \
             rest are in no part by tags",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    match input.tally.series_overflow() {
        0 if input.tally.series().is_empty() => INFO.nothing("nothing was measured"),
        0 if input.tally.tags_overflow() > 0 => INFO.graded(
            Grade::Suspect,
            format!(
                "{} carried tags that came after the limit of {} sets of tags was reached: they are in the whole, and in no part by tags",
                loadstone_units::counted(input.tally.tags_overflow(), "sample"),
                input.plan.options.series_max
            ),
            "Give tags a few values each, without ids, or raise `seriesMax`.",
        ),
        0 => INFO.graded(Grade::Valid, format!("{} series", loadstone_units::count(input.tally.series().len() as u64)), ""),
        over => INFO.graded(
            Grade::Suspect,
            format!(
                "{} times a new name came after the limit of {} series was reached",
                loadstone_units::count(over),
                input.plan.options.series_max
            ),
            "Give requests a `name` without ids or other parts that change every time, or raise `seriesMax`.",
        ),
    }
}
