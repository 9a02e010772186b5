//! Little's law on the generator's own records: the time integral of the requests in flight is the sum of their times.

use super::check::{CheckInfo, CheckInput, RunStage, grade_of};
use crate::{Grade, ValidityCheck};
use loadstone_metrics::SeriesKind;

/// Difference per request that is never held against a run: the counter and the instants are taken on neighbouring lines of the
/// generator, a few microseconds apart, which is a large part of a request that takes fifty.
const FLOOR_NS: f64 = 20_000.0;

/// Fewer requests are not held against the law.
const REQUESTS_MIN: u64 = 100;

const INFO: CheckInfo = CheckInfo {
    id: "in-flight",
    title: "Requests in flight (Little's law)",
    limits: "suspect when the measured in-flight time is off from rate × service time by more than 2 %, invalid above 10 %; never \
     below 20 µs per request",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    if !matches!(input.stage, RunStage::Over(Some(_))) {
        return INFO.nothing("only judged once the run has ended: until then, requests are open");
    }
    let in_flight_ns: f64 = input.tally.workers().iter().map(|worker| worker.in_flight_ns as f64).sum();
    if in_flight_ns == 0.0 || input.requests() < REQUESTS_MIN {
        return INFO.nothing("too few requests to judge");
    }
    // Interrupted requests were in flight and did not end; they stand among the censored times, with those that timed out.
    let (mut ended_ns, mut censored_ns) = (0.0, 0.0);
    for series in input.tally.of_kind(SeriesKind::Request) {
        ended_ns += series.merged.service.sum() as f64;
        censored_ns += series.merged.censored.sum() as f64;
    }
    let off_ns = if in_flight_ns < ended_ns { ended_ns - in_flight_ns } else { (in_flight_ns - ended_ns - censored_ns).max(0.0) };
    let off = off_ns / in_flight_ns.max(ended_ns);
    let grade = if off_ns <= FLOOR_NS * input.requests() as f64 { Grade::Valid } else { grade_of(off, 0.02, 0.10) };
    let seconds = input.tally.duration_seconds();
    let evidence = format!(
        "{} requests in flight on average; their times add up to {} ({} off)",
        loadstone_units::number(in_flight_ns / 1e9 / seconds),
        loadstone_units::number(ended_ns / 1e9 / seconds),
        loadstone_units::share(off)
    );
    let advice = "Times or counts were lost, and the numbers contradict each other: please report this run.";
    INFO.graded(grade, evidence, advice)
}
