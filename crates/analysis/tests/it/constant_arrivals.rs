//! Arrivals, mostly of one rate: what is carried gets a straight answer, and what is not gets none.

use loadstone_analysis::{RemarkKind, conclude};
use loadstone_metrics::{Outcome, SeriesKind};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::changes::noise;
use crate::draws::Draws;
use crate::simulation::{Service, Target, ramp, simulate, step};
use crate::synthetic::{self, SECOND, Slice};

/// Two places, each of which serves one of two requests in 20 ms on average, exponentially distributed: 100 of them pass per second.
fn served(rate: f64, seed: u64) -> Run {
    let steps = vec![step("List", 0, Service::Exponential(0.02)), step("Show", 0, Service::Exponential(0.02))];
    simulate(&Target { slots: vec![2], steps }, ramp(rate / 2.0, rate / 2.0, 60, Timing::Poisson), seed)
}

fn remark(run: &Run) -> Option<(RemarkKind, String)> {
    let found = conclude(run).verdict.findings;
    found.findings.is_empty().then_some((found.remark.kind, found.remark.text))
}

/// A second has more arrivals than another by chance, which is no varying load. Requests wait for each other now and then, and none is limited.
#[test]
fn random_arrivals_of_one_rate_that_are_carried_get_a_straight_answer() {
    let runs = crate::seeds(20, 200);
    for rate in [20.0, 40.0] {
        let unclear: Vec<String> = (0..runs)
            .filter_map(|seed| match remark(&served(rate, seed)) {
                Some((RemarkKind::NoLimit | RemarkKind::Steady, _)) => None,
                other => Some(format!("{seed}: {other:?}")),
            })
            .collect();
        assert!(20 * unclear.len() as u64 <= runs, "{rate}/s: {} of {runs}\n{}", unclear.len(), unclear.join("\n"));
    }
}

/// Nothing is known of a limit that the load exceeds but that it was exceeded.
#[test]
fn random_arrivals_beyond_the_limit_are_never_carried() {
    for rate in [106.0, 120.0, 160.0] {
        for seed in 0..crate::seeds(10, 100) {
            let answer = remark(&served(rate, seed));
            let is_denied = answer.as_ref().is_some_and(|(kind, _)| matches!(kind, RemarkKind::NoLimit | RemarkKind::Steady));
            assert!(!is_denied, "{rate}/s, {seed}: {answer:?}");
        }
    }
}

/// A ramp from 0.9 to 9 arrivals per second with three requests each, on one worker that serves so many of them per second.
fn ramp_on_one_worker(capacity: f64, seed: u64) -> Option<(RemarkKind, String)> {
    let steps = ["List", "Show", "Comment"].map(|name| step(name, 0, Service::Exponential(1.0 / capacity))).to_vec();
    remark(&simulate(&Target { slots: vec![1], steps }, ramp(0.9, 9.0, 32, Timing::Even), seed))
}

/// At the top, requests wait for each other now and then: at a use of a third, they take half as long again (M/M/1).
#[test]
fn a_ramp_that_is_carried_gets_a_straight_answer_and_one_beyond_the_limit_none() {
    let runs = crate::seeds(20, 200);
    let is_straight = |answer: &Option<(RemarkKind, String)>| matches!(answer, Some((RemarkKind::NoLimit | RemarkKind::Steady, _)));
    let straight = (0..runs).filter(|seed| is_straight(&ramp_on_one_worker(90.0, *seed))).count() as u64;
    assert!(10 * straight >= 9 * runs, "{straight} of {runs}");
    for seed in 0..runs {
        let answer = ramp_on_one_worker(18.0, seed);
        assert!(!is_straight(&answer), "beyond the limit, {seed}: {answer:?}");
    }
}

/// Nothing limits a ramp from 1 to 9 arrivals per second, whose requests take half as long again at its top. Few of them end at low load.
#[test]
fn a_ramp_that_is_carried_gets_a_straight_answer_although_times_grow_with_it() {
    let rising = |seed: u64| {
        let mut draws = Draws::new(seed);
        let slices = (0..32_u32).map(|second| {
            // As many as the plan asks for until the end of the second.
            let until = |at: f64| (0.9 * at + 8.1 * at * at / 64.0) as u64;
            let asked = until(f64::from(second) + 1.0) - until(f64::from(second));
            let mut slice = Slice::new(second).arrivals(asked);
            for name in ["List", "Show", "Comment"] {
                for _ in 0..asked {
                    let time_s = 0.05 * noise(0.2, &mut draws) * (1.0 + 0.5 * asked as f64 / 9.0);
                    slice.record(SeriesKind::Request, name, 0, (time_s * 1e9) as u64, Outcome::Passed);
                }
            }
            slice.done()
        });
        let stage = OpenStage::Rate { from: 0.9, to: 9.0, duration_ns: 32 * SECOND, timing: Timing::Even };
        synthetic::run_of(synthetic::plan(LoadProfile::Open { stages: vec![stage] }), slices.collect())
    };
    let answers: Vec<String> = (0..10).map(|seed| conclude(&rising(seed)).verdict.findings.remark.text).collect();
    let is_straight = |text: &&String| {
        text.starts_with("No limit was reached ") && text.contains("no backlog grew (") && text.contains(", while times grew over")
    };
    assert!(answers.iter().filter(is_straight).count() >= 6, "{answers:#?}");
}
