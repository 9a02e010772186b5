//! Runs with few requests: what they show is reported, with its uncertainty.

use loadstone_analysis::{RampEstimate, RemarkKind, conclude};
use loadstone_plan::{ClosedStage, LoadProfile, Timing};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::simulation::{Service, Step, Target, UNLIMITED, ramp, simulate, step};
use crate::synthetic::SECOND;

/// One database connection for eight threads, and visits of four requests: 8.9 requests per second pass.
fn one_connection(seed: u64) -> Run {
    let steps = ["Projects", "Issues", "Show issue", "Search"].map(|name| step(name, 0, Service::Exponential(0.112))).to_vec();
    simulate(&Target { slots: vec![1], steps }, ramp(1.0, 4.0, 40, Timing::Even), seed)
}

/// About a hundred visits, of which only the first few saw no queue.
#[test]
fn throughput_that_stops_is_reported_even_if_few_requests_ended_at_low_load() {
    for seed in 0..6 {
        let run = one_connection(seed);
        let summary = conclude(&run);
        let found = &summary.verdict.findings.findings;
        let first = found.first().unwrap_or_else(|| panic!("seed {seed}: {}", summary.verdict.findings.remark));
        let rate = first.quantities.iter().find(|quantity| quantity.name == "throughput").unwrap();
        assert!((rate.value / 8.9 - 1.0).abs() < 0.2, "{}", shown(found));
        if first.rule == "throughput-limit" {
            // One judge of the same record.
            let estimate = RampEstimate::of(&run, &summary.verdict.validity).throughput_max.unwrap();
            assert_eq!((rate.value, rate.interval), (estimate.value, Some((estimate.low, estimate.high))));
        }
    }
}

/// Thirty users who think for a second, and a service for two of them at a time.
fn constant_users(places: usize, users: u64, seed: u64) -> Run {
    let steps = vec![Step { pause: Some(Service::Exponential(1.0)), ..step("Issues", 0, Service::Fixed(0.2)) }];
    let profile = LoadProfile::Closed { stages: vec![ClosedStage { from: users, to: users, duration_ns: 60 * SECOND }] };
    simulate(&Target { slots: vec![places], steps }, profile, seed)
}

/// By the utilisation law 10 per second pass, and by the asymptotic bounds 10 · (1 + 0.2) = 12 users reach that.
#[test]
fn constant_users_show_the_throughput_of_their_queue_and_how_many_of_them_reach_it() {
    for seed in 0..6 {
        let found = findings(&constant_users(2, 30, seed));
        let first = found.first().unwrap_or_else(|| panic!("seed {seed}: nothing"));
        let value = |name: &str| first.quantities.iter().find(|quantity| quantity.name == name).unwrap().value;
        assert_eq!(first.rule, "throughput-limit", "{}", shown(&found));
        assert!((value("throughput") / 10.0 - 1.0).abs() < 0.03 && (value("users_needed") / 12.0 - 1.0).abs() < 0.25, "{}", shown(&found));
        assert_eq!(value("places"), 2.0, "{}", shown(&found));
        assert!(first.next.contains("Run again with "), "{}", first.next);
    }
}

/// The same users and a service for all of them. Mean-value analysis gives a bound on the limit that is below the true one, which is none.
#[test]
fn constant_users_who_do_not_wait_get_a_straight_answer() {
    for seed in 0..6 {
        let remark = conclude(&constant_users(UNLIMITED, 30, seed)).verdict.findings.remark;
        assert_eq!(remark.kind, RemarkKind::Steady, "{remark}");
        assert!(
            remark.text.starts_with("No limit was reached up to ") && remark.text.contains("would pass (mean-value analysis"),
            "{remark}"
        );
        assert!(remark.text.contains("`loadstone compare BASELINE 2026-11-20T18-30-05-shop`"), "{remark}");
    }
}
