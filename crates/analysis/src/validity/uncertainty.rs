//! Can the generator have changed a number that matters?
//!
//! The thresholds matter. Where no threshold judges times, the numbers that a reader sees first matter: p50, p95 and p99 of each request.
//! Under closed load the rate matters too, since the speed of the users determines it. A single uncertain number is marked, and the other
//! numbers remain valid. The run is suspect only when many numbers are uncertain.

use loadstone_plan::{LoadProfile, Metric};

use super::check::{CheckInfo, CheckInput, RunStage};
use super::{read_lag, recorded, run_queue, schedule_lag, stalls, throttling, worker_busy};
use crate::load_source::LoadSource;
use crate::thresholds::samples::is_time;
use crate::uncertainty::{JudgedPercentile, UNUSABLE_SHARE_MIN};
use crate::{Grade, ThresholdResult, ThresholdState, ValidityCheck};

/// Busy share of a worker above which the generator limits a closed loop.
const GENERATOR_BOUND_BUSY_SHARE_MIN: f64 = 0.97;

/// The run is suspect when more than one percentile in this many is uncertain. Fewer are only marked.
const SUSPECT_ONE_IN: usize = 3;

pub(super) const INFO: CheckInfo = CheckInfo {
    id: "uncertainty",
    title: "Time the generator may have added",
    limits: "suspect when it leaves a threshold undecided, invalid when it leaves all of them undecided; where no threshold judges times: \
     suspect when it may exceed 5 % and 0.5 ms of more than a third of the p50, p95 and p99 of all requests, invalid when it may exceed 25 % of most of them",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    if input.stage == RunStage::Running && input.plan.thresholds.iter().any(|threshold| is_of_times(&threshold.metric)) {
        return INFO.nothing("the thresholds are judged at the end");
    }
    let is_measured = recorded::proxy::is_record(input);
    if input.plan.recorded.is_some() && !is_measured && input.tally.workers().iter().all(|worker| worker.read_lag.is_empty()) {
        return INFO.nothing("not judged: how late the tool read responses was not measured, or is no part of the record's times");
    }
    let (grade, evidence, added) = match by_thresholds(input) {
        Some((grade, evidence)) => (grade, evidence, None),
        None => match by_percentiles(input) {
            Some(judged) => judged,
            None => return INFO.nothing("too few requests ended for any percentile"),
        },
    };
    // The scenario itself delayed its first request, which its author may have intended.
    let of_scenario = grade > Grade::Valid && schedule_lag::is_of_scenario(input);
    let grade = if of_scenario { grade.min(Grade::Suspect) } else { grade };
    let check = INFO.graded(grade, evidence, &if grade > Grade::Valid { advice(input) } else { String::new() });
    match added {
        Some(seconds) => check.at_level("generator_lag/read_max", "may be added", seconds),
        None => check,
    }
}

/// `None` while the run is in progress, and where no threshold judges times and none is undecided because of the generator.
fn by_thresholds(input: &CheckInput<'_>) -> Option<(Grade, String)> {
    let decidable = |result: &&ThresholdResult| !matches!(result.state, ThresholdState::NoData | ThresholdState::Pending);
    let judged = input.thresholds.iter().filter(decidable).count();
    let on_times = input.thresholds.iter().filter(decidable).any(|result| is_of_times(&result.threshold.metric));
    match input.undecided {
        [] if on_times => {
            Some((Grade::Valid, format!("every threshold has the same result without the time that {} may have added", who(input))))
        }
        [] => None,
        [first, others @ ..] => {
            let others = if others.is_empty() { String::new() } else { format!(" (and {} more)", others.len()) };
            let grade = if input.undecided.len() == judged { Grade::Invalid } else { Grade::Suspect };
            let who = who(input);
            Some((grade, format!("`{first}`{others} cannot be decided: its bound lies within the time that {who} may have added")))
        }
    }
}

/// The metric is a time of the target, not of the generator.
fn is_of_times(metric: &Metric) -> bool {
    is_time(metric) && *metric != Metric::ScheduleLag
}

/// The grade, the evidence, and the seconds that the generator may have added to the worst percentile.
fn by_percentiles(input: &CheckInput<'_>) -> Option<(Grade, String, Option<f64>)> {
    let at_limit = closed_at_limit(input);
    let mut uncertain: Vec<&JudgedPercentile> = input.judged.iter().filter(|judged| judged.is_uncertain()).collect();
    uncertain.sort_by(|a, b| (b.uncertainty / b.value).total_cmp(&(a.uncertainty / a.value)));
    let unusable = uncertain.iter().filter(|judged| judged.uncertainty > UNUSABLE_SHARE_MIN * judged.value).count();
    let Some(worst) = uncertain.first() else {
        if at_limit {
            return Some((
                Grade::Suspect,
                "a worker was busy all the time: the generator limited the users, so the rate is the generator's maximum".to_owned(),
                None,
            ));
        }
        let evidence = || format!("{} added less than 5 % (or 0.5 ms) to the p50, p95 and p99 of every request", who(input));
        return (!input.judged.is_empty()).then(|| (Grade::Valid, evidence(), None));
    };
    let mut evidence = format!(
        "{} of \"{}\" was {}, of which {} may have added up to {}",
        loadstone_units::percentile(worst.quantile),
        worst.request,
        loadstone_units::seconds(worst.value),
        who(input),
        loadstone_units::seconds(worst.uncertainty)
    );
    if input.judged.len() > 1 {
        evidence += &format!(
            "; {} of {} percentiles {} uncertain",
            uncertain.len(),
            input.judged.len(),
            if uncertain.len() == 1 { "is" } else { "are" }
        );
    }
    let grade = match uncertain.len() {
        _ if unusable * 2 > input.judged.len() => Grade::Invalid,
        count if at_limit || count * SUSPECT_ONE_IN > input.judged.len() => Grade::Suspect,
        _ => Grade::Valid,
    };
    Some((grade, evidence, Some(worst.uncertainty)))
}

/// What may have added time.
fn who(input: &CheckInput<'_>) -> String {
    LoadSource::of(input.plan).short_name().to_owned()
}

fn closed_at_limit(input: &CheckInput<'_>) -> bool {
    let is_closed = input.plan.load.leaves().iter().any(|leaf| matches!(leaf.profile, LoadProfile::Closed { .. }));
    is_closed && input.tally.workers().iter().any(|worker| worker.wall_ns > 0 && worker.busiest_share > GENERATOR_BOUND_BUSY_SHARE_MIN)
}

/// The advice for the most likely cause, from what the generator recorded about itself.
fn advice(input: &CheckInput<'_>) -> String {
    if schedule_lag::is_of_scenario(input) {
        return schedule_lag::SCENARIO_ADVICE.to_owned();
    }
    if recorded::proxy::is_record(input) {
        return recorded::proxy::ADVICE.to_owned();
    }
    if input.plan.recorded.is_some() {
        let reasons = [recorded::tool_wait::check, recorded::tool_cpu::check];
        let advice = reasons.into_iter().map(|check| check(input).advice).find(|advice| !advice.is_empty());
        return advice.unwrap_or_else(|| recorded::tool_cpu::ADVICE.to_owned());
    }
    let reasons = [throttling::check, run_queue::check, worker_busy::check, stalls::check, schedule_lag::check, read_lag::check];
    let advice = reasons.into_iter().map(|check| check(input).advice).find(|advice| !advice.is_empty());
    advice.unwrap_or_else(|| schedule_lag::BUSY_ADVICE.to_owned())
}
