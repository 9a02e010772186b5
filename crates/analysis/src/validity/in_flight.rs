//! Little's law on the generator's own records: the time integral of the requests in flight equals the sum of their times.

use super::check::{CheckInfo, CheckInput, RunStage, grade_of};
use crate::{Grade, ValidityCheck};
use loadstone_metrics::SeriesKind;

/// Difference per request that never counts. The generator reads the counter and the times on adjacent lines, a few microseconds apart,
/// which is a large part of a 50 µs request. Between them, a worker may also have to wait for a core; that time never counts either.
const IGNORED_DIFFERENCE_PER_REQUEST_NS: f64 = 20_000.0;

/// Below this number of requests the law is not checked.
const REQUESTS_MIN: u64 = 100;

const INFO: CheckInfo = CheckInfo {
    id: "in-flight",
    title: "Requests in flight (Little's law)",
    limits: "suspect when the measured in-flight time differs from rate × service time by more than 2 %, invalid above 10 %; differences \
     up to 20 µs per request and the workers' wait for a core are ignored",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    if !matches!(input.stage, RunStage::Over(Some(_))) {
        return INFO.nothing("not judged while the run is in progress: requests are in flight");
    }
    let in_flight_ns: f64 = input.tally.workers().iter().map(|worker| worker.in_flight_ns as f64).sum();
    if in_flight_ns == 0.0 || input.requests() < REQUESTS_MIN {
        return INFO.nothing("not judged: too few requests");
    }
    // Interrupted requests were in flight and did not end. They are counted in the censored times, together with requests that timed out.
    let (mut ended_ns, mut censored_ns) = (0.0, 0.0);
    for series in input.tally.of_kind(SeriesKind::Request) {
        ended_ns += series.merged.service.sum() as f64;
        censored_ns += series.merged.censored.sum() as f64;
    }
    let off_ns = if in_flight_ns < ended_ns { ended_ns - in_flight_ns } else { (in_flight_ns - ended_ns - censored_ns).max(0.0) };
    let off = off_ns / in_flight_ns.max(ended_ns);
    let waited_ns: f64 = input.tally.workers().iter().map(|worker| (worker.run_queue_ns + worker.steal_ns) as f64).sum();
    let ignored_ns = IGNORED_DIFFERENCE_PER_REQUEST_NS * input.requests() as f64 + waited_ns;
    let grade = if off_ns <= ignored_ns { Grade::Valid } else { grade_of(off, 0.02, 0.10) };
    let seconds = input.tally.duration_seconds();
    let evidence = format!(
        "{} requests in flight on average; the sum of their times gives {} (a difference of {})",
        loadstone_units::number(in_flight_ns / 1e9 / seconds),
        loadstone_units::number(ended_ns / 1e9 / seconds),
        loadstone_units::share(off)
    );
    let advice = "Loadstone lost times or counts, and its numbers contradict each other. Please report this run as a bug.";
    INFO.graded(grade, evidence, advice)
}
