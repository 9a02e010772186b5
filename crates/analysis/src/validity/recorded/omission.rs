//! Coordinated omission: a user of closed load that waits for a response sends nothing, so a stall of the system hides the requests that would have waited.
//!
//! The record shows it as seconds in which far fewer requests were sent than usual, with the same users. Their missing requests are added to the recorded
//! times: a request that was due at any instant of a stall of length L would have waited for the rest of it, so their times spread evenly over 0 to L (Tene,
//! *How NOT to Measure Latency*, 2013; HdrHistogram corrects single users in the same way).

use loadstone_metrics::{Histogram, SeriesKind};
use loadstone_plan::LoadProfile;

use super::super::check::{CheckInfo, CheckInput};
use crate::statistics::median;
use crate::{Grade, SliceTotals, ValidityCheck};

/// Seconds of load that the check needs.
const SECONDS_MIN: usize = 8;
/// Requests per second below which seconds differ by chance.
const RATE_MIN: f64 = 20.0;
/// Part of the usual number of requests, below which a second belongs to a stall.
const SHORT_PART_MAX: f64 = 0.5;
/// Part by which the number of users may differ from the usual one.
const SAME_USERS_WITHIN: f64 = 0.1;
/// Factor between the corrected and the recorded p99 from which the record is suspect.
const P99_FACTOR_MIN: f64 = 1.25;
/// Stall from which the correction is reported. Seconds.
const STALL_S_MIN: f64 = 0.3;

const INFO: CheckInfo = CheckInfo {
    id: "coordinated-omission",
    title: "Coordinated omission",
    limits: "suspect when the tool stopped sending while the system stalled, so that the p99 of a load that keeps its rate would be over 25 % higher",
};

/// Seconds without enough requests, in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SendingStall {
    /// Seconds since the run began.
    at_s: f64,
    length_s: f64,
}

/// The load that waits for responses: that of one scenario, or of all together.
struct PacedLoad<'a> {
    /// `None`: the run has one scenario, or they are judged together.
    scenario: Option<&'a str>,
    seconds: &'a [SliceTotals],
    started: u64,
    recorded: Histogram,
}

/// What a load that keeps its rate would have found.
struct Omission<'a> {
    scenario: Option<&'a str>,
    usual: f64,
    stalls: Vec<SendingStall>,
    /// Requests that were not sent.
    missing: f64,
    /// Seconds.
    p99: f64,
    corrected: f64,
}

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let leaves = input.plan.load.leaves();
    debug_assert!(leaves.iter().all(|leaf| matches!(leaf.profile, LoadProfile::Recorded { .. })));
    let closed: Vec<u32> = (0..).zip(&leaves).filter(|(_, leaf)| !leaf.profile.is_open()).map(|(number, _)| number).collect();
    if closed.is_empty() {
        return INFO.nothing("not judged: the requests of this record do not wait for each other");
    }
    if input.tally.together(SeriesKind::Request).is_none_or(|all| all.service.is_empty()) {
        return INFO.nothing("no request ended");
    }
    let of_scenarios = closed.iter().filter(|_| leaves.len() > 1).filter_map(|leaf| of_scenario(input, *leaf));
    let mut judged: Vec<Omission<'_>> = of_scenarios.filter_map(|load| judge(&load)).collect();
    if judged.is_empty() && closed.len() == leaves.len() {
        judged.extend(judge(&together(input)));
    }
    let Some(worst) = judged.iter().max_by(|a, b| a.factor().total_cmp(&b.factor())) else {
        return INFO.nothing("not judged: too few seconds with the same number of users, or too few requests");
    };
    let tool = super::tool(input);
    let Some(longest) = worst.stalls.iter().max_by(|a, b| a.length_s.total_cmp(&b.length_s)).filter(|stall| stall.length_s >= STALL_S_MIN)
    else {
        let kept = judged.iter().map(|one| format!("{} in \"{}\"", loadstone_units::rate(one.usual), one.scenario.unwrap_or_default()));
        let kept: Vec<String> = if worst.scenario.is_some() { kept.collect() } else { vec![loadstone_units::rate(worst.usual)] };
        return INFO.graded(Grade::Valid, format!("{tool} kept its pace of {}", kept.join(", ")), "");
    };
    let evidence = format!(
        "{}the system stalled for {} from {} on, and {tool}, which waits for responses, sent {} requests fewer than its usual {}; p99 is {} in the record and \
         would be {} for a load that keeps its rate",
        worst.scenario.map_or_else(String::new, |scenario| format!("in scenario \"{scenario}\", ")),
        loadstone_units::seconds(longest.length_s),
        loadstone_units::seconds(longest.at_s),
        loadstone_units::count(worst.missing.round() as u64),
        loadstone_units::rate(worst.usual),
        loadstone_units::seconds(worst.p99),
        loadstone_units::seconds(worst.corrected)
    );
    let advice = "Do not judge the tail by this tool's percentiles. Send at a rate (`constant-arrival-rate` in k6, `arrivals` in Loadstone), or judge the \
                  stall itself.";
    INFO.graded(if worst.factor() > P99_FACTOR_MIN { Grade::Suspect } else { Grade::Valid }, evidence, advice)
}

fn of_scenario<'a>(input: &CheckInput<'a>, number: u32) -> Option<PacedLoad<'a>> {
    let leaf = input.tally.leaves().iter().find(|leaf| leaf.leaf == number)?;
    let leaves = input.plan.load.leaves();
    let scenario = &*input.plan.scenarios.get(leaves.get(number as usize)?.scenario.0 as usize)?.name;
    let mut recorded = Histogram::new();
    let series = input.tally.of_kind(SeriesKind::Request).filter(|series| *series.merged.key.scenario == *scenario);
    series.for_each(|series| recorded.merge(&series.merged.service));
    Some(PacedLoad { scenario: Some(scenario), seconds: leaf.seconds(), started: leaf.started, recorded })
}

fn together<'a>(input: &CheckInput<'a>) -> PacedLoad<'a> {
    let started = input.tally.leaves().iter().map(|leaf| leaf.started).sum();
    let recorded = input.tally.together(SeriesKind::Request).map(|all| all.service).unwrap_or_default();
    PacedLoad { scenario: None, seconds: input.tally.seconds(), started, recorded }
}

/// `None`: not enough is known.
fn judge<'a>(load: &PacedLoad<'a>) -> Option<Omission<'a>> {
    let (usual, stalls) = stalls(load.seconds)?;
    let requests_of_each = load.recorded.count() as f64 / load.started.max(1) as f64;
    let missing: Vec<(f64, f64)> = stalls.iter().map(|stall| (usual * stall.length_s * requests_of_each, stall.length_s)).collect();
    let p99 = load.recorded.quantile(0.99)? as f64 / 1e9;
    let corrected = corrected_quantile(&load.recorded, &missing, 0.99);
    Some(Omission { scenario: load.scenario, usual, stalls, missing: missing.iter().map(|(count, _)| *count).sum(), p99, corrected })
}

impl Omission<'_> {
    fn factor(&self) -> f64 {
        self.corrected / self.p99.max(1e-9)
    }
}

/// The usual number of requests per second, and the stalls. `None`: not enough is known.
fn stalls(seconds: &[SliceTotals]) -> Option<(f64, Vec<SendingStall>)> {
    let first = seconds.iter().position(|second| second.started > 0)?;
    let last = seconds.iter().rposition(|second| second.started > 0)?;
    // The first and the last second are seldom complete.
    let loaded = seconds.get(first + 1..last)?;
    let of_each = |second: &SliceTotals| second.started as f64 / f64::from(second.seconds.max(1));
    let users = median(&loaded.iter().map(|second| second.users_active as f64).collect::<Vec<f64>>());
    let is_usual = |second: &&SliceTotals| (second.users_active as f64 - users).abs() <= SAME_USERS_WITHIN * users;
    let alike: Vec<&SliceTotals> = loaded.iter().filter(is_usual).collect();
    let usual = median(&alike.iter().map(|second| of_each(second)).collect::<Vec<f64>>());
    if alike.len() < SECONDS_MIN || usual < RATE_MIN {
        return None;
    }
    let mut found: Vec<SendingStall> = Vec::new();
    let mut follows = false;
    for second in loaded {
        let missing_s = (1.0 - of_each(second) / usual).max(0.0) * f64::from(second.seconds.max(1));
        let is_short = is_usual(&second) && of_each(second) < SHORT_PART_MAX * usual;
        // The seconds next to a stall have a part of it.
        match found.last_mut().filter(|_| follows) {
            Some(stall) if is_short => stall.length_s += missing_s,
            _ if is_short => found.push(SendingStall { at_s: second.start as f64 / 1e9, length_s: missing_s }),
            _ => {}
        }
        follows = is_short;
    }
    Some((usual, found))
}

/// A quantile of the recorded times together with the missing ones, `(number, longest)`, which spread evenly from zero to the longest. Seconds.
fn corrected_quantile(recorded: &Histogram, missing: &[(f64, f64)], quantile: f64) -> f64 {
    let all = recorded.count() as f64 + missing.iter().map(|(count, _)| count).sum::<f64>();
    let up_to = |seconds: f64| {
        let of_missing: f64 = missing.iter().map(|(count, longest)| count * (seconds / longest).min(1.0)).sum();
        recorded.count_at_or_below((seconds * 1e9) as u64) as f64 + of_missing
    };
    let (mut low, mut high) = (0.0, missing.iter().map(|(_, longest)| *longest).fold(recorded.max() as f64 / 1e9, f64::max));
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if up_to(middle) >= quantile * all { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: u32, started: u64) -> SliceTotals {
        let start = u64::from(number) * 1_000_000_000;
        SliceTotals { slice: number, seconds: 1, start, end: start + 1_000_000_000, started, users_active: 10, ..SliceTotals::default() }
    }

    /// Closed form: arrivals at a constant rate during T seconds meet one stall of length L. The share of those that wait longer than x is (L − x)/T, so the
    /// p99 is L − 0.01·T.
    #[test]
    fn the_corrected_percentile_is_that_of_a_load_with_a_constant_rate() {
        let mut seconds: Vec<SliceTotals> = (0..60).map(|number| second(number, 1_000)).collect();
        (seconds[20], seconds[21], seconds[22]) = (second(20, 400), second(21, 0), second(22, 100));
        let (usual, stalls) = stalls(&seconds).unwrap();
        assert_eq!((usual, stalls.len()), (1_000.0, 1));
        let length = stalls[0].length_s;
        assert!((length - 2.5).abs() < 1e-9, "{length}");
        let mut recorded = Histogram::new();
        recorded.record_n(1_000_000, 57_500 - 10);
        recorded.record_n(2_500_000_000, 10);
        assert!(recorded.quantile(0.99).unwrap() < 1_100_000);
        let corrected = corrected_quantile(&recorded, &[(usual * length, length)], 0.99);
        let truth = 2.5 - 0.01 * 60.0;
        assert!((corrected - truth).abs() < 0.02 * truth, "{corrected} instead of {truth}");
    }

    #[test]
    fn a_steady_pace_and_a_ramp_are_no_stall() {
        let steady: Vec<SliceTotals> = (0..60).map(|number| second(number, 1_000 + u64::from(number % 7) * 20)).collect();
        assert_eq!(stalls(&steady).unwrap().1, []);
        let ramp: Vec<SliceTotals> =
            (1..60).map(|number| SliceTotals { users_active: u64::from(number), ..second(number, u64::from(number) * 50) }).collect();
        assert!(stalls(&ramp).is_none_or(|(_, stalls)| stalls.is_empty()));
        assert!(stalls(&[]).is_none());
    }
}
