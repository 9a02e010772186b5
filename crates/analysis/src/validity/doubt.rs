//! Can the generator have moved a number that matters?
//!
//! What matters are the thresholds. Where none judges times, it is what a reader looks at first: p50, p95 and p99 of each request, and under closed
//! load the rate, which the users' speed makes. A number that stands alone in its doubt is marked, and the others are as good as before: the run is
//! doubted when there are many.

use loadstone_plan::{LoadProfile, Metric};

use super::check::{CheckInfo, CheckInput, RunStage};
use super::{read_lag, run_queue, schedule_lag, stalls, throttling, worker_busy};
use crate::doubt::{JudgedPercentile, WORTHLESS};
use crate::thresholds::samples::is_time;
use crate::{Grade, ThresholdResult, ThresholdState, ValidityCheck};

/// Busy share from which a closed loop is as fast as its generator.
const AT_LIMIT: f64 = 0.97;

/// One number in so many is marked and no more; from then on it is the run that is doubted.
const MANY: usize = 3;

pub(super) const INFO: CheckInfo = CheckInfo {
    id: "doubt",
    title: "What the generator may have added",
    limits: "suspect when a threshold cannot be decided for it, invalid when none can; where no threshold judges times: suspect when it may be \
     more than 5 % (and 0.5 ms) of over a third of the p50, p95 and p99 of all requests, invalid when it may be more than 25 % of most of these",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    if input.stage == RunStage::Running && input.plan.thresholds.iter().any(|threshold| is_of_times(&threshold.metric)) {
        return INFO.nothing("the thresholds are judged at the end");
    }
    let (grade, evidence) = match by_thresholds(input) {
        Some(judged) => judged,
        None => match by_percentiles(input) {
            Some(judged) => judged,
            None => return INFO.nothing("too few requests ended for any percentile"),
        },
    };
    // The scenario itself took that long: its author may well have meant it to.
    let of_scenario = grade > Grade::Valid && schedule_lag::is_of_scenario(input);
    let grade = if of_scenario { grade.min(Grade::Suspect) } else { grade };
    INFO.graded(grade, evidence, &if grade > Grade::Valid { advice(input) } else { String::new() })
}

/// `None` while the run goes on, and where no threshold judges times and none is open for the generator's sake.
fn by_thresholds(input: &CheckInput<'_>) -> Option<(Grade, String)> {
    let decidable = |result: &&ThresholdResult| !matches!(result.state, ThresholdState::NoData | ThresholdState::Pending);
    let judged = input.thresholds.iter().filter(decidable).count();
    let on_times = input.thresholds.iter().filter(decidable).any(|result| is_of_times(&result.threshold.metric));
    match input.undecided {
        [] if on_times => Some((Grade::Valid, "every threshold is decided, whatever it added".to_owned())),
        [] => None,
        [first, others @ ..] => {
            let others = if others.is_empty() { String::new() } else { format!(" (nor can {} more)", others.len()) };
            let grade = if input.undecided.len() == judged { Grade::Invalid } else { Grade::Suspect };
            Some((grade, format!("`{first}` cannot be decided{others}: its bound lies within what the generator may have added")))
        }
    }
}

/// Of the target's times, not the generator's.
fn is_of_times(metric: &Metric) -> bool {
    is_time(metric) && *metric != Metric::ScheduleLag
}

fn by_percentiles(input: &CheckInput<'_>) -> Option<(Grade, String)> {
    let at_limit = closed_at_limit(input);
    let mut doubtful: Vec<&JudgedPercentile> = input.judged.iter().filter(|judged| judged.is_doubtful()).collect();
    doubtful.sort_by(|a, b| (b.doubt / b.value).total_cmp(&(a.doubt / a.value)));
    let worthless = doubtful.iter().filter(|judged| judged.doubt > WORTHLESS * judged.value).count();
    let Some(worst) = doubtful.first() else {
        if at_limit {
            return Some((
                Grade::Suspect,
                "a worker was busy all the time: the users made as many requests as it can, and the rate is its own".to_owned(),
            ));
        }
        let evidence = || "it added less than 5 % (or 0.5 ms) to the p50, p95 and p99 of every request".to_owned();
        return (!input.judged.is_empty()).then(|| (Grade::Valid, evidence()));
    };
    let mut evidence = format!(
        "{} of \"{}\" was {}, of which up to {} may be the generator's",
        loadstone_units::percentile(worst.quantile),
        worst.request,
        loadstone_units::seconds(worst.value),
        loadstone_units::seconds(worst.doubt)
    );
    if input.judged.len() > 1 {
        evidence += &format!(
            "; {} of {} percentiles {} doubtful",
            doubtful.len(),
            input.judged.len(),
            if doubtful.len() == 1 { "is" } else { "are" }
        );
    }
    let grade = match doubtful.len() {
        _ if worthless * 2 > input.judged.len() => Grade::Invalid,
        many if at_limit || many * MANY > input.judged.len() => Grade::Suspect,
        _ => Grade::Valid,
    };
    Some((grade, evidence))
}

fn closed_at_limit(input: &CheckInput<'_>) -> bool {
    let is_closed = input.plan.load.leaves().iter().any(|leaf| matches!(leaf.profile, LoadProfile::Closed { .. }));
    is_closed && input.tally.workers().iter().any(|worker| worker.wall_ns > 0 && worker.busiest_share > AT_LIMIT)
}

/// What to do about the likeliest reason, by what the generator recorded of itself.
fn advice(input: &CheckInput<'_>) -> String {
    if schedule_lag::is_of_scenario(input) {
        return schedule_lag::SCENARIO_ADVICE.to_owned();
    }
    let reasons = [throttling::check, run_queue::check, worker_busy::check, stalls::check, schedule_lag::check, read_lag::check];
    let speaks = reasons.into_iter().map(|check| check(input).advice).find(|advice| !advice.is_empty());
    speaks.unwrap_or_else(|| schedule_lag::BUSY_ADVICE.to_owned())
}
