//! Did arrivals start when they were due?

use super::{Ground, Sheet, grade_of};
use crate::percentile::samples_needed;
use crate::{Grade, ValidityCheck, units};
use metrics::{Histogram, SeriesKind};

/// Lag below this is never held against a run. It is what an idle machine's timers and scheduler take (two to four context
/// switches of tens of µs), it is contained in the response time, and no network path to a target repeats better.
const FLOOR_SECONDS: f64 = 200e-6;

const SHEET: Sheet = Sheet {
    id: "schedule-lag",
    title: "Schedule lag",
    limits: "suspect when the p99 of the lag exceeds 5 % of the reported p99, invalid above 25 %; below 200 µs never; with too few requests for a p99, the highest percentile that both have",
};

/// Percentiles that are compared, the first that has enough samples. A maximum is not among them: one late wake-up of a whole machine
/// says nothing about a run, and one slow answer must not excuse it either.
const COMPARED: [f64; 4] = [0.99, 0.95, 0.9, 0.5];
/// Samples below which not even medians are compared.
const SAMPLES_MIN: u64 = 20;

pub(super) fn check(ground: &Ground<'_>) -> ValidityCheck {
    // Arrivals that wait for a free user are late because of the target; then only the timers tell how exact the generator was.
    let waited = ground.tally.leaves().iter().any(|leaf| leaf.waiting_max > 0 && leaf.arrivals_due > 0);
    let requests = merged_lag(ground, SeriesKind::Request);
    let iterations = merged_lag(ground, SeriesKind::Iteration);
    let timers = timer_lag(ground);
    let lags = if requests.is_empty() { &timers } else { &requests };
    if lags.is_empty() {
        return SHEET.nothing("nothing was scheduled: closed load without pauses");
    }
    let count = ground.response.count.min(lags.count());
    let enough = |quantile: &&f64| count >= samples_needed(**quantile).max(SAMPLES_MIN);
    let Some(quantile) = COMPARED.iter().find(enough) else { return SHEET.nothing("too few requests to compare percentiles") };
    let Some(reported) = ground.response.at(*quantile) else { return SHEET.nothing("no request ended") };
    let at = |lag: &Histogram| lag.quantile(*quantile).map(|ns| ns as f64 / 1e9);
    let of_generator = [at(&timers), at(&iterations).filter(|_| !waited)].into_iter().flatten().reduce(f64::max);
    let of_requests = at(&requests).filter(|_| !waited);
    let Some(lag) = of_requests.or(of_generator) else { return SHEET.nothing("nothing was scheduled: closed load without pauses") };

    let grade = |lag: f64| if lag <= FLOOR_SECONDS { Grade::Valid } else { grade_of(lag / reported, 0.05, 0.25) };
    let (mut graded, mut advice) = (grade(lag), BUSY_ADVICE);
    // The generator began in time and the first request did not: the scenario itself took that long.
    if graded == Grade::Invalid && of_generator.is_some_and(|generator| grade(generator) == Grade::Valid) {
        (graded, advice) = (Grade::Suspect, SCENARIO_ADVICE);
    }
    let what = if of_requests.is_some() { "schedule lag" } else { "timer lag" };
    let name = units::percentile(*quantile);
    let evidence = format!(
        "{name} of the {what} was {}, {} of the reported {name} of {}",
        units::seconds(lag),
        units::share(if reported > 0.0 { lag / reported } else { 0.0 }),
        units::seconds(reported)
    );
    SHEET.graded(graded, evidence, advice)
}

const BUSY_ADVICE: &str =
    "The generator started requests late. Give it more cores (--workers), move it off the machine of the target, or ask for less.";
const SCENARIO_ADVICE: &str = "Iterations began in time, but their first requests did not: the scenario works or waits before its first request, and that time counts in its response time.";

fn merged_lag(ground: &Ground<'_>, kind: SeriesKind) -> Histogram {
    let mut merged = Histogram::new();
    ground.tally.of_kind(kind).for_each(|series| merged.merge(&series.merged.lag));
    merged
}

fn timer_lag(ground: &Ground<'_>) -> Histogram {
    let mut merged = Histogram::new();
    ground.tally.workers().iter().for_each(|worker| merged.merge(&worker.timer_lag));
    merged
}
