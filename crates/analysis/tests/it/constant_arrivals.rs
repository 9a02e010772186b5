//! Random arrivals of one rate: what is carried gets a straight answer, and what is not gets none.

use loadstone_analysis::{RemarkKind, conclude};
use loadstone_plan::Timing;
use loadstone_run_directory::Run;

use crate::simulation::{Service, Target, ramp, simulate, step};

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
