//! Did every name get its own series?

use super::check::{CheckInfo, CheckInput};
use crate::{Grade, ValidityCheck};

const INFO: CheckInfo = CheckInfo {
    id: "series",
    title: "One series per name",
    limits: "suspect when the run had more names than the limit on series allows, so that further names share the series `(other)`; or \
     more sets of tags, so that further sets are missing from the breakdown by tags",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    match input.tally.series_overflow() {
        0 if input.tally.series().is_empty() => INFO.nothing("nothing was measured"),
        0 if input.tally.tags_overflow() > 0 => INFO.graded(
            Grade::Suspect,
            format!(
                "{} had a new set of tags after the limit of {} sets was reached: they count in the totals, but not in the breakdown by \
                 tags",
                loadstone_units::counted(input.tally.tags_overflow(), "sample"),
                input.plan.options.series_max
            ),
            match input.plan.recorded {
                Some(_) => "Use tags with few values and without ids, or raise the limit with `--series-max`.",
                None => "Use tags with few values and without ids, or raise `seriesMax`.",
            },
        ),
        0 => INFO.graded(Grade::Valid, format!("{} series", loadstone_units::count(input.tally.series().len() as u64)), ""),
        over => INFO.graded(
            Grade::Suspect,
            format!(
                "{} had a name beyond the limit of {} series: they count in the totals, but share the series `(other)`",
                loadstone_units::counted(over, "sample"),
                input.plan.options.series_max
            ),
            match input.plan.recorded {
                Some(_) => "Give requests names without ids or other variable parts, or raise the limit with `--series-max`.",
                None => "Give requests a `name` without ids or other variable parts, or raise `seriesMax`.",
            },
        ),
    }
}
