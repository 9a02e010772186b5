//! Thresholds that every test has, because a run in which nothing worked must not pass.
//!
//! They are added to a verdict only if they fail. A test with a threshold on its failures decides for itself.

use loadstone_plan::{Aggregate, Bound, Comparison, Metric, Selector, Threshold, Window};

use crate::model::RunTotals;
use crate::{ThresholdResult, ThresholdState};

/// Fewer requests, or due arrivals, are no load: somebody tries a test.
const REQUESTS_MIN: u64 = 10;
const ARRIVALS_MIN: u64 = 10;
/// A smaller share of the arrivals is no load that anybody asked for.
const STARTED_SHARE_MIN: f64 = 0.5;

/// Those that failed. `given`: the thresholds of the test.
pub(crate) fn implied(given: &[Threshold], totals: &RunTotals) -> Vec<ThresholdResult> {
    let judges_failures = given
        .iter()
        .any(|threshold| matches!(threshold.metric, Metric::Failures | Metric::FailedIterations) && threshold.aggregate == Aggregate::Rate);
    let mut failed = Vec::new();
    if totals.requests >= REQUESTS_MIN && totals.requests_failed == totals.requests && !judges_failures {
        failed.push(ThresholdResult {
            threshold: threshold(Metric::Failures, Aggregate::Rate, Comparison::Below, 1.0, "some requests pass (implied)"),
            state: ThresholdState::Failed,
            measured: Some(1.0),
            at_seconds: None,
            failing: false,
            detail: format!("all {} failed", loadstone_units::counted(totals.requests, "request")),
        });
    }
    let share = totals.arrivals_started as f64 / totals.arrivals_due.max(1) as f64;
    if totals.arrivals_due >= ARRIVALS_MIN && share < STARTED_SHARE_MIN {
        let (started, due) = (loadstone_units::count(totals.arrivals_started), loadstone_units::count(totals.arrivals_due));
        failed.push(ThresholdResult {
            threshold: threshold(
                Metric::Iterations,
                Aggregate::Count,
                Comparison::AtLeast,
                totals.arrivals_due as f64 * STARTED_SHARE_MIN,
                "half of the arrivals start (implied)",
            ),
            state: ThresholdState::Failed,
            measured: Some(totals.arrivals_started as f64),
            at_seconds: None,
            failing: false,
            detail: format!("only {started} of {due} arrivals that came due started"),
        });
    }
    failed
}

fn threshold(metric: Metric, aggregate: Aggregate, comparison: Comparison, value: f64, label: &str) -> Threshold {
    Threshold {
        metric,
        selector: Selector::default(),
        aggregate,
        bound: Bound { comparison, value },
        window: Window::WholeRun,
        after_seconds: 0,
        abort: false,
        abort_while_failing_after: None,
        passes_without_data: false,
        label: label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(given: &[Threshold], totals: &RunTotals) -> Vec<String> {
        implied(given, totals).into_iter().map(|result| result.threshold.label).collect()
    }

    #[test]
    fn a_run_in_which_nothing_worked_fails() {
        let nothing = RunTotals { requests: 10, requests_failed: 10, arrivals_due: 1_000, arrivals_started: 10, ..RunTotals::default() };
        assert_eq!(labels(&[], &nothing), ["some requests pass (implied)", "half of the arrivals start (implied)"]);
        let own = threshold(Metric::Failures, Aggregate::Rate, Comparison::AtLeast, 1.0, "all requests fail");
        assert_eq!(labels(&[own], &nothing), ["half of the arrivals start (implied)"]);
        let some = RunTotals { requests: 3, requests_failed: 2, arrivals_due: 1_000, arrivals_started: 500, ..RunTotals::default() };
        let tried = RunTotals { requests: 3, requests_failed: 3, ..RunTotals::default() };
        assert!(labels(&[], &tried).is_empty());
        assert!(labels(&[], &some).is_empty() && labels(&[], &RunTotals::default()).is_empty());
    }
}
