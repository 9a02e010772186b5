//! A limit in front of a service lets all requests together through at an even rate.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::Outcome;
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::draws::Draws;
use crate::synthetic::{SECOND, Slice, plan, run_of};

const SECONDS: u32 = 40;
const NAMES: [&str; 4] = ["Read", "Read", "List", "Buy"];

/// A ramp of arrivals, until the last one has ended. `gap`: seconds between requests that pass, by the time that each takes.
/// Beyond `wait_max` seconds of waiting, it is rejected.
fn ramp(from: f64, to: f64, gap: impl Fn(f64) -> f64, wait_max: f64, seed: u64) -> Run {
    let mut draws = Draws::new(seed);
    let (mut arrives, mut free, mut ended) = (0.0, 0.0_f64, Vec::new());
    while arrives < f64::from(SECONDS) {
        let rate = from + (to - from) * arrives / f64::from(SECONDS);
        arrives += draws.exponential(1.0 / rate);
        let name = NAMES[(draws.uniform() * 4.0) as usize % 4];
        let takes = (if name == "Buy" { 0.08 } else { 0.03 }) * (0.2 * draws.normal()).exp();
        let begins = free.max(arrives);
        if begins - arrives > wait_max {
            ended.push((arrives + 0.001, name, 0.001, Outcome::Status));
            continue;
        }
        free = begins + gap(takes);
        ended.push((begins + takes, name, begins + takes - arrives, Outcome::Passed));
    }
    let slice = |second: u32| {
        let due = if second < SECONDS { (from + (to - from) * f64::from(second) / f64::from(SECONDS)) as u64 } else { 0 };
        let mut slice = Slice::new(second).arrivals(due);
        for (_, name, time, outcome) in ended.iter().filter(|(end, ..)| *end as u32 == second) {
            slice = slice.request(name, 0, (time * SECOND as f64) as u64, *outcome);
        }
        let in_flight: f64 = ended.iter().map(|(end, _, time, _)| overlap(f64::from(second), end - time, *end)).sum();
        slice.generator(|worker| worker.in_flight_ns = (in_flight * SECOND as f64) as u64).done()
    };
    let last = ended.iter().map(|(end, ..)| *end as u32).max().unwrap_or(0);
    let stage = OpenStage::Rate { from, to, duration_ns: u64::from(SECONDS) * SECOND, timing: Timing::Poisson };
    run_of(plan(LoadProfile::Open { stages: vec![stage] }), (0..=last).map(slice).collect())
}

/// The part of a second between two instants.
fn overlap(second: f64, from: f64, to: f64) -> f64 {
    (to.min(second + 1.0) - from.max(second)).max(0.0)
}

fn together(found: &[Finding]) -> bool {
    found.iter().any(|finding| finding.claim.starts_with("All requests together"))
}

#[test]
fn an_even_rate_of_all_requests_is_a_limit_that_delays() {
    for seed in 0..10 {
        let found = findings(&ramp(2.0, 20.0, |_| 0.1, f64::INFINITY, seed));
        let first = &found[0];
        let rate = first.quantities.iter().find(|quantity| quantity.name == "throughput").map_or(0.0, |rate| rate.value);
        assert!(first.rule == "rate-limit" && together(&found[..1]) && (9.8..=10.05).contains(&rate), "{seed}: {}", shown(&found));
        assert!(first.confidence == Confidence::Medium, "{seed}: {}", shown(&found));
    }
}

/// The last requests pass after the load has ended, until none is left.
#[test]
fn a_backlog_that_is_worked_off_after_the_load_does_not_hide_the_limit() {
    let found = findings(&ramp(2.0, 14.0, |_| 0.1, f64::INFINITY, 1));
    assert!(together(&found[..1]), "{}", shown(&found));
}

/// As nginx does with `limit_req` and a burst.
#[test]
fn a_limit_that_delays_and_then_rejects_is_one_finding_of_both() {
    let found = findings(&ramp(2.0, 20.0, |_| 0.1, 5.0, 1));
    let first = &found[0];
    assert!(first.rule == "rate-limit" && first.claim.contains(", and rejects some from 0:3"), "{}", shown(&found));
}

/// One thing at a time, which takes as long as the request or most of it, whose pace varies; and arrivals that are all carried.
#[test]
fn places_and_carried_arrivals_are_no_limit_of_all_requests() {
    for seed in 0..10 {
        for found in [
            findings(&ramp(2.0, 40.0, |takes| takes, f64::INFINITY, seed)),
            findings(&ramp(2.0, 40.0, |takes| 0.8 * takes, f64::INFINITY, seed)),
            findings(&ramp(2.0, 20.0, |_| 0.0, f64::INFINITY, seed)),
        ] {
            assert!(!together(&found), "{seed}: {}", shown(&found));
        }
    }
}
