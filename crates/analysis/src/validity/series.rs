//! Were all names kept apart?

use super::{Ground, Sheet};
use crate::{Grade, ValidityCheck};

const SHEET: Sheet = Sheet {
    id: "series",
    title: "Names kept apart",
    limits: "suspect when more names turned up than the bound on series allows; the rest share one series `(other)`",
};

pub(super) fn check(ground: &Ground<'_>) -> ValidityCheck {
    match ground.tally.series_overflow() {
        0 if ground.tally.series().is_empty() => SHEET.nothing("nothing was measured"),
        0 => SHEET.graded(Grade::Valid, format!("{} series", units::count(ground.tally.series().len() as u64)), ""),
        over => SHEET.graded(
            Grade::Suspect,
            format!(
                "{} times a new name came after the bound of {} series was reached",
                units::count(over),
                ground.plan.options.series_max
            ),
            "Give requests a `name` without ids or other parts that differ each time, or raise `seriesMax`.",
        ),
    }
}
