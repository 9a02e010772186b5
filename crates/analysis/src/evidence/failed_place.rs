//! The place where requests fail inside the system, in sentences.

use crate::facts::failed_spans::{FailedAt, FailedPlace};

/// The end of a claim about failed requests.
pub(crate) fn claim(place: &FailedPlace<'_>) -> String {
    let (name, service) = (&place.span.name, &place.span.service);
    match place.at {
        FailedAt::Service => format!("\"{service}\" fails as often, in `{name}`"),
        FailedAt::Unanswered(Some(called)) => format!("the calls `{name}` of \"{service}\" fail as often and do not reach \"{called}\""),
        FailedAt::Unanswered(None) => format!("the calls `{name}` of \"{service}\" fail as often, without a span of the called side"),
        FailedAt::Answered(called) => format!("the calls `{name}` of \"{service}\" fail as often, while \"{called}\" reports no failure"),
    }
}

pub(crate) fn evidence(place: &FailedPlace<'_>, request: &str) -> String {
    let what = if place.span.kind.is_call() { "the call " } else { "" };
    format!(
        "{what}`{}` of \"{}\" failed in {} of {} traces of \"{request}\", and no span below it as often",
        place.span.name,
        place.span.service,
        loadstone_units::count(place.failed),
        loadstone_units::count(place.traces)
    )
}

/// What to do. `when` is empty, or an instant: ` at 0:30`.
pub(crate) fn next(place: &FailedPlace<'_>, when: &str) -> String {
    let (name, service) = (&place.span.name, &place.span.service);
    match place.at {
        FailedAt::Service => format!("Read the log of \"{service}\" for the first failure of `{name}`{when}."),
        FailedAt::Unanswered(Some(called)) => {
            format!("Check whether \"{called}\" was up{when}, and whether \"{service}\" has the right address and a network path to it.")
        }
        FailedAt::Unanswered(None) => format!(
            "Check whether the service behind `{name}` was up{when}, and whether \"{service}\" has the right address and a network path to it."
        ),
        FailedAt::Answered(called) => format!(
            "Compare the time limit that \"{service}\" has for `{name}` with the time that \"{called}\" takes, and read the log of \"{service}\" for the first \
             failure{when}."
        ),
    }
}
