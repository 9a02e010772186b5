//! Late sends: a tool that sends at a rate measures from the instant at which it sent. A request that it sent late looks faster than a user of this load
//! would have found it.

use loadstone_metrics::{Histogram, SeriesKind};

use super::super::check::{CheckInfo, CheckInput};
use crate::{Grade, ValidityCheck};

/// Factor between the p99 from the due instant and the p99 from the send, from which the tool's times are suspect.
const P99_FACTOR_MIN: f64 = 1.25;
/// The same from which they are invalid.
const P99_FACTOR_INVALID: f64 = 3.0;
/// p99 of the lateness below which nothing is judged. Seconds.
const LATE_S_MIN: f64 = 0.001;

const INFO: CheckInfo = CheckInfo {
    id: "late-sends",
    title: "Late sends",
    limits: "suspect when the p99 counted from the instant at which requests were due is over 25 % higher than counted from their send, invalid when it is \
     over three times as high; for starts of iterations against a planned rate, the p99 of their lateness is added",
};

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    if let Some(starts) = input.tally.record().map(|record| &record.late_starts).filter(|starts| !starts.is_empty()) {
        return of_starts(input, starts);
    }
    if !input.plan.recorded.as_ref().is_some_and(|recorded| recorded.knows_schedule) {
        return INFO.nothing("not judged: the record does not show when a request was due");
    }
    let Some(all) = input.tally.together(SeriesKind::Request).filter(|all| !all.service.is_empty()) else {
        return INFO.nothing("no request ended");
    };
    let p99 = |times: &Histogram| times.quantile(0.99).unwrap_or(0) as f64 / 1e9;
    let (from_send, from_due, late) = (p99(&all.service), p99(&all.response), p99(&all.lag));
    let tool = super::tool(input);
    let factor = from_due / from_send.max(1e-9);
    if late < LATE_S_MIN || factor <= P99_FACTOR_MIN {
        return INFO.graded(Grade::Valid, format!("{tool} sent 99 % of its requests at most {} late", loadstone_units::seconds(late)), "");
    }
    let evidence = format!(
        "{tool} sent 1 % of its requests over {} late; p99 is {} from the send, which {tool} states, and {} from the instant at which requests were due",
        loadstone_units::seconds(late),
        loadstone_units::seconds(from_send),
        loadstone_units::seconds(from_due)
    );
    let advice = "The report counts from the instant at which requests were due. The tool had too few workers or too little CPU time: allow more \
                  (`-max-workers` in vegeta), or lower the rate.";
    INFO.graded(if factor > P99_FACTOR_INVALID { Grade::Invalid } else { Grade::Suspect }, evidence, advice)
}

/// Starts of iterations against the tool's plan: which requests they delayed is unknown.
fn of_starts(input: &CheckInput<'_>, starts: &Histogram) -> ValidityCheck {
    let tool = super::tool(input);
    let Some(all) = input.tally.together(SeriesKind::Request).filter(|all| !all.service.is_empty()) else {
        return INFO.nothing("no request ended");
    };
    let p99 = |times: &Histogram| times.quantile(0.99).unwrap_or(0) as f64 / 1e9;
    let (late, from_send) = (p99(starts), p99(&all.service));
    let in_time = starts.count_at_or_below(0);
    let counts = format!("{} of {}", loadstone_units::count(in_time), loadstone_units::counted(starts.count(), "iteration"));
    let factor = (from_send + late) / from_send.max(1e-9);
    if factor <= P99_FACTOR_MIN {
        let longest = if in_time < starts.count() {
            format!("; the latest was {} late", loadstone_units::seconds(starts.max() as f64 / 1e9))
        } else {
            String::new()
        };
        return INFO.graded(Grade::Valid, format!("{tool} started {counts} as planned{longest}"), "");
    }
    let evidence = format!(
        "{tool} started only {counts} as planned, and 1 % over {} late, up to {}; p99 is {} from the send, and up to {} from the instant at which \
         iterations were due",
        loadstone_units::seconds(late),
        loadstone_units::seconds(starts.max() as f64 / 1e9),
        loadstone_units::seconds(from_send),
        loadstone_units::seconds(from_send + late)
    );
    let advice = "No number contains this wait. The tool had too little CPU time, or was stopped for a while: give it more cores or another machine, or \
                  lower the rate.";
    INFO.graded(if factor > P99_FACTOR_INVALID { Grade::Invalid } else { Grade::Suspect }, evidence, advice)
}
