//! Thresholds that every test has, because a run in which nothing worked must not pass.
//!
//! They are added to a verdict only if they fail. A test with a threshold on its failures decides for itself.

use loadstone_plan::{Aggregate, Comparison, Metric, Threshold};

use crate::model::RunTotals;
use crate::{ThresholdResult, ThresholdState};

/// Fewer due arrivals are too few for a share.
const ARRIVALS_MIN: u64 = 10;
/// A smaller share of the arrivals is no load that anybody asked for.
const STARTED_SHARE_MIN: f64 = 0.5;

/// Those that failed. `declared`: the thresholds of the test.
pub(crate) fn implied(declared: &[Threshold], totals: &RunTotals) -> Vec<ThresholdResult> {
    let judges_failures = declared
        .iter()
        .any(|threshold| matches!(threshold.metric, Metric::Failures | Metric::FailedIterations) && threshold.aggregate == Aggregate::Rate);
    let mut failed = Vec::new();
    if totals.requests > 0 && totals.requests_failed == totals.requests && !judges_failures {
        let some_pass = Threshold::new("some requests pass (implied)", Metric::Failures, Aggregate::Rate, Comparison::Below, 1.0);
        let detail = format!("{} failed", if totals.requests == 1 { "the only request".to_owned() } else { all(totals.requests) });
        failed.push(missed(some_pass, 1.0, detail));
    }
    let share = totals.arrivals_started as f64 / totals.arrivals_due.max(1) as f64;
    if totals.arrivals_due >= ARRIVALS_MIN && share < STARTED_SHARE_MIN {
        let (started, due) = (loadstone_units::count(totals.arrivals_started), loadstone_units::count(totals.arrivals_due));
        let half = totals.arrivals_due as f64 * STARTED_SHARE_MIN;
        let half_start =
            Threshold::new("half of the arrivals start (implied)", Metric::Iterations, Aggregate::Count, Comparison::AtLeast, half);
        let detail = format!("only {started} of {due} arrivals that came due started");
        failed.push(missed(half_start, totals.arrivals_started as f64, detail));
    }
    failed
}

fn all(requests: u64) -> String {
    format!("all {}", loadstone_units::counted(requests, "request"))
}

fn missed(threshold: Threshold, measured: f64, detail: String) -> ThresholdResult {
    let (state, measured, reading) = (ThresholdState::Failed, Some(measured), detail.clone());
    ThresholdResult { threshold, state, measured, at_seconds: None, failing: false, detail, reading }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(declared: &[Threshold], totals: &RunTotals) -> Vec<String> {
        implied(declared, totals).into_iter().map(|result| result.threshold.label).collect()
    }

    #[test]
    fn a_run_in_which_nothing_worked_fails() {
        let nothing = RunTotals { requests: 10, requests_failed: 10, arrivals_due: 1_000, arrivals_started: 10, ..RunTotals::default() };
        assert_eq!(labels(&[], &nothing), ["some requests pass (implied)", "half of the arrivals start (implied)"]);
        let own = Threshold::new("all requests fail", Metric::Failures, Aggregate::Rate, Comparison::AtLeast, 1.0);
        assert_eq!(labels(&[own], &nothing), ["half of the arrivals start (implied)"]);
        let some = RunTotals { requests: 3, requests_failed: 2, arrivals_due: 1_000, arrivals_started: 500, ..RunTotals::default() };
        let few = implied(&[], &RunTotals { requests: 3, requests_failed: 3, ..RunTotals::default() });
        assert_eq!((few.len(), few[0].detail.as_str()), (1, "all 3 requests failed"));
        assert!(labels(&[], &some).is_empty() && labels(&[], &RunTotals::default()).is_empty());
    }
}
