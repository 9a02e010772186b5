//! Did the generator refuse to send any request?

use super::check::{CheckInfo, CheckInput};
use crate::summary::outcome;
use crate::{Grade, ValidityCheck};
use loadstone_metrics::{Outcome, SeriesKind};

const INFO: CheckInfo = CheckInfo {
    id: "unsendable",
    title: "Requests could be sent",
    limits: "invalid when the generator refused to send any request, for example because of an invalid header",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let refused: u64 = input.tally.of_kind(SeriesKind::Request).map(|series| outcome(&series.merged, Outcome::Unsendable)).sum();
    if refused > 0 {
        let evidence = format!("the generator refused to send {}", loadstone_units::counted(refused, "request"));
        return INFO.graded(Grade::Invalid, evidence, "The errors below name the part of each request that cannot be sent. Fix the test.");
    }
    if input.requests() == 0 {
        return INFO.nothing("no request ended");
    }
    INFO.graded(Grade::Valid, "the generator refused no request", "")
}
