//! Did arrivals start when they were due?

use super::check::{CheckInfo, CheckInput};
use super::lateness;
use crate::{Grade, ValidityCheck};
use metrics::{Histogram, SeriesKind};

const INFO: CheckInfo = CheckInfo {
    id: "schedule-lag",
    title: "Schedule lag",
    limits: "suspect when the p99 of the lag exceeds 5 % of the reported p99, invalid above 25 %; never below 200 µs; with too few \
     requests for a p99, the highest percentile that both have",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    // Arrivals that wait for a free user are late because of the target; then only the timers tell how exact the generator was.
    let waited = input.tally.leaves().iter().any(|leaf| leaf.waiting_max > 0 && leaf.arrivals_due > 0);
    let requests = merged_lag(input, SeriesKind::Request);
    let iterations = merged_lag(input, SeriesKind::Iteration);
    let timers = timer_lag(input);
    let lags = if requests.is_empty() { &timers } else { &requests };
    if lags.is_empty() {
        return INFO.nothing("nothing was scheduled: closed load without pauses");
    }
    let Some(quantile) = lateness::compared(input.response.count.min(lags.count())) else {
        return INFO.nothing("too few requests to compare percentiles");
    };
    let Some(reported) = input.response.at(quantile) else { return INFO.nothing("no request ended") };
    let at = |lag: &Histogram| lag.quantile(quantile).map(|ns| ns as f64 / 1e9);
    let of_generator = [at(&timers), at(&iterations).filter(|_| !waited)].into_iter().flatten().reduce(f64::max);
    let of_requests = at(&requests).filter(|_| !waited);
    let Some(lag) = of_requests.or(of_generator) else { return INFO.nothing("nothing was scheduled: closed load without pauses") };

    let (mut graded, mut advice) = (lateness::grade(lag, reported), BUSY_ADVICE);
    // The generator began in time and the first request did not: the scenario itself took that long.
    if graded == Grade::Invalid && of_generator.is_some_and(|generator| lateness::grade(generator, reported) == Grade::Valid) {
        (graded, advice) = (Grade::Suspect, SCENARIO_ADVICE);
    }
    let what = if of_requests.is_some() { "schedule lag" } else { "timer lag" };
    INFO.graded(graded, lateness::evidence(what, quantile, lag, reported), advice)
}

const BUSY_ADVICE: &str =
    "The generator started requests late. Give it more cores (--workers), move it off the target's machine, or ask for less.";
const SCENARIO_ADVICE: &str = "Iterations started on time, but their first requests did not: the scenario works or waits before its \
 first request, and that time is part of its response time.";

fn merged_lag(input: &CheckInput<'_>, kind: SeriesKind) -> Histogram {
    let mut merged = Histogram::new();
    input.tally.of_kind(kind).for_each(|series| merged.merge(&series.merged.lag));
    merged
}

fn timer_lag(input: &CheckInput<'_>) -> Histogram {
    let mut merged = Histogram::new();
    input.tally.workers().iter().for_each(|worker| merged.merge(&worker.timer_lag));
    merged
}
