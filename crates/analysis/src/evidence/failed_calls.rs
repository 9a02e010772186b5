//! Dependencies that left calls unanswered while requests failed, in sentences.

use crate::facts::failed_calls::FailedCalls;
use crate::finding::Alternative;
use crate::finding::ranked::RankedFinding;

/// Dependencies that are listed.
const LISTED_MAX: usize = 3;

/// The end of a claim about failed requests.
pub(crate) fn claim(calls: &FailedCalls<'_>) -> String {
    format!("\"{}\" left as many calls unanswered", calls.endpoint)
}

/// With the calls of the first dependency as evidence, and the other dependencies as alternatives.
pub(crate) fn with_calls(found: RankedFinding, all: &[&FailedCalls<'_>]) -> RankedFinding {
    let found =
        all.iter().take(LISTED_MAX).fold(found, |found, calls| found.rests_on(sentence(calls), calls.series.clone(), calls.stretch));
    let others: Vec<&str> = all.iter().skip(1).take(LISTED_MAX - 1).map(|calls| calls.endpoint).collect();
    match (all.first(), others.is_empty()) {
        (Some(first), false) => found.weigh(Alternative::not_ruled_out(
            format!("{}, which also left calls unanswered", crate::instant::named(&others)),
            format!("\"{}\" left the most. If one of them calls another, the failures begin in the called one", first.endpoint),
        )),
        _ => found,
    }
}

fn sentence(calls: &FailedCalls<'_>) -> String {
    format!(
        "\"{}\" left {} unanswered, and {} in other seconds: {} more calls, for {} more failed requests",
        calls.endpoint,
        loadstone_units::rate(calls.rates.1),
        loadstone_units::rate(calls.rates.0),
        loadstone_units::count(calls.more.round() as u64),
        loadstone_units::count(calls.failed.round() as u64)
    )
}

/// What to do.
pub(crate) fn next(calls: &FailedCalls<'_>, when: &str) -> String {
    format!("Read the log of \"{}\" for the first call that failed{when}.", calls.endpoint)
}
