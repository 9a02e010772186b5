//! Lines of an access log that are no request. A few are scans of the port. Many may hide requests: of clients that the server refused as malformed.

use super::super::check::{CheckInfo, CheckInput, grade_of};
use crate::{Grade, ValidityCheck};

/// Share of all lines from which requests may be missing.
const SUSPECT_SHARE_MIN: f64 = 0.01;
/// The same from which the record does not describe what clients sent.
const INVALID_SHARE_MIN: f64 = 0.5;

const INFO: CheckInfo = CheckInfo {
    id: "lines-without-request",
    title: "Lines without a request",
    limits: "suspect when more than 1 % of the lines are no request that the server could read, invalid above 50 %",
};

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let Some(record) = input.tally.record().filter(|record| record.no_requests > 0) else {
        return INFO.nothing("the record has no line of a server that received no request");
    };
    let all = record.entries + record.unreadable;
    let share = record.no_requests as f64 / all.max(1) as f64;
    let evidence = format!(
        "{} of {} ({}) {} no request, such as \"{}\": the numbers do not contain them",
        loadstone_units::count(record.no_requests),
        loadstone_units::counted(all, "line"),
        loadstone_units::share(share),
        if record.no_requests == 1 { "is" } else { "are" },
        record.no_request_line.as_deref().unwrap_or_default()
    );
    let advice = "The server refused what it received, or the client closed the connection first: TLS on a plain port, headers that are too large, health \
                  checks or scans of the port. Requests of your clients may be among them: find out who sends them.";
    let grade = grade_of(share, SUSPECT_SHARE_MIN, INVALID_SHARE_MIN);
    INFO.with(Some(grade), evidence, if grade == Grade::Valid { "" } else { advice })
}
