//! Did arrivals start when they were due?

use std::fmt::Write as _;

use loadstone_plan::RunOptions;

use super::check::{CheckInfo, CheckInput};
use super::lateness;
use crate::ValidityCheck;
use loadstone_metrics::{Histogram, SeriesKind};

const INFO: CheckInfo = CheckInfo {
    id: "schedule-lag",
    title: "Schedule lag",
    limits: "explains the time that the generator may have added; notable when the p99 of the lag exceeds 5 % of the reported p99 and 200 \
     µs; with too few requests for a p99, the highest percentile that both have",
};

/// Lag in seconds, all at the same quantile.
struct Lags {
    quantile: f64,
    reported: f64,
    /// Lag of timers, and of iterations unless arrivals waited for users.
    of_generator: Option<f64>,
    /// Lag of first requests, unless arrivals waited for users: the target causes that lag.
    of_requests: Option<f64>,
}

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let lags = match lags(input) {
        Ok(lags) => lags,
        Err(reason) => return INFO.nothing(reason),
    };
    let Some(lag) = lags.of_requests.or(lags.of_generator) else { return INFO.nothing(NOTHING_SCHEDULED) };
    let what = if lags.of_requests.is_some() { "schedule lag" } else { "timer lag" };
    let mut evidence = lateness::evidence(what, lags.quantile, lag, lags.reported);
    let window_ns = input.plan.options.start_window_ns;
    if window_ns > RunOptions::default().start_window_ns {
        let window = loadstone_units::seconds(window_ns as f64 / 1e9);
        let _ = write!(evidence, "; arrivals that are due within {window} of the first start together (start window)");
    }
    // Otherwise the lag is mostly of another cause, whatever the window.
    let is_of_window = lag <= 2.0 * window_ns as f64 / 1e9;
    let advice = match (is_of_scenario(input), is_of_window) {
        (true, _) => SCENARIO_ADVICE,
        (false, true) => WINDOW_ADVICE,
        (false, false) => BUSY_ADVICE,
    };
    INFO.evidence(lateness::is_late(lag, lags.reported), evidence, advice).at_level("generator_lag/p99", "schedule lag of the run", lag)
}

/// The generator started iterations on time and their first requests were late: the scenario itself took that long.
pub(super) fn is_of_scenario(input: &CheckInput<'_>) -> bool {
    let Ok(Lags { reported, of_generator: Some(of_generator), of_requests: Some(of_requests), .. }) = lags(input) else { return false };
    lateness::is_late(of_requests, reported) && !lateness::is_late(of_generator, reported)
}

/// `Err`: why the lag cannot be compared.
fn lags(input: &CheckInput<'_>) -> Result<Lags, &'static str> {
    let waited = input.tally.leaves().iter().any(|leaf| leaf.waiting_max > 0 && leaf.arrivals_due > 0);
    let requests = merged_lag(input, SeriesKind::Request);
    let iterations = merged_lag(input, SeriesKind::Iteration);
    let timers = timer_lag(input);
    let scheduled = if requests.is_empty() { &timers } else { &requests };
    if scheduled.is_empty() {
        return Err(NOTHING_SCHEDULED);
    }
    let quantile =
        lateness::compared_quantile(input.response.count.min(scheduled.count())).ok_or("too few requests to compare percentiles")?;
    let reported = input.response.at(quantile).ok_or("no request ended")?;
    let at = |lag: &Histogram| lag.quantile(quantile).map(|ns| ns as f64 / 1e9);
    let of_generator = [at(&timers), at(&iterations).filter(|_| !waited)].into_iter().flatten().reduce(f64::max);
    Ok(Lags { quantile, reported, of_generator, of_requests: at(&requests).filter(|_| !waited) })
}

const NOTHING_SCHEDULED: &str = "no request was scheduled: the load is closed and has no pauses";

pub(super) const BUSY_ADVICE: &str =
    "The generator started requests late. Give it more cores (--workers), move it off the target's machine, or lower the load.";
const WINDOW_ADVICE: &str = "Arrivals wait for the end of their start window. Shorten it (`startWindow` of the test's options, `--start-window` \
 of a URL), or accept that share.";
pub(super) const SCENARIO_ADVICE: &str = "Iterations started on time, but their first requests did not: the scenario works or waits before \
 its first request, and that time counts in its response time. Move the work or the wait after the first request.";

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
