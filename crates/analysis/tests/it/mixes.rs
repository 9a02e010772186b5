//! Requests that share a limit, one of which each iteration sends: each may be too rare to show by itself where its throughput levels off.

use loadstone_analysis::{Findings, Subject, conclude};
use loadstone_plan::{LoadProfile, Timing};

use crate::simulation::{Service, Step, Target, UNLIMITED, ramp, simulate, step, users};

const SHARES: [f64; 5] = [0.4, 0.3, 0.15, 0.1, 0.05];
const SEEDS: u64 = 8;

fn mixed(names: [&'static str; 5], of: impl Fn(usize) -> (usize, Service)) -> Vec<Step> {
    let one = |index: usize| {
        let (station, service) = of(index);
        Step { share: SHARES[index], ..step(names[index], station, service) }
    };
    (0..5).map(one).collect()
}

const SHOP: [&str; 5] = ["Products", "Product", "Orders", "Order", "Login"];

fn find(target: &Target, profile: LoadProfile, seed: u64) -> Findings {
    conclude(&simulate(target, profile, seed)).verdict.findings
}

fn first(findings: &Findings) -> &str {
    findings.findings.first().map_or("", |finding| &finding.claim)
}

/// All hold the single place for 25 ms, so 40 pass per second: a session lock.
#[test]
fn a_single_shared_place_is_named_even_if_each_request_is_rare() {
    let target = Target { slots: vec![1], steps: mixed(SHOP, |_| (0, Service::Fixed(0.025))) };
    let mut reported = 0;
    for (timing, seed) in [Timing::Even, Timing::Poisson].into_iter().flat_map(|timing| (0..SEEDS).map(move |seed| (timing, seed))) {
        let found = find(&target, ramp(9.0, 90.0, 30, timing), seed);
        let claim = first(&found);
        assert!(!claim.ends_with("the cause is a rate limit that delays"), "{claim}");
        reported += usize::from(claim.contains("about 1 at a time") || claim.contains("1 at a time, with equal times"));
    }
    assert!(reported >= 14, "reported in {reported} of 16");
}

/// Three workers for requests, a tenth of which take 400 ms, the others a few: 3 / 42 ms pass per second.
#[test]
fn shared_workers_are_not_reported_as_a_rate_limiter() {
    let service = |index: usize| (0, Service::Fixed([0.002, 0.001, 0.003, 0.4, 0.004][index]));
    let target = Target { slots: vec![3], steps: mixed(SHOP, service) };
    let mut reported = 0;
    for seed in 0..SEEDS {
        let found = find(&target, ramp(15.0, 150.0, 40, Timing::Even), seed);
        let claim = first(&found);
        assert!(found.findings.iter().all(|finding| finding.rule != "rate-limit"), "{claim}");
        reported += usize::from(
            claim.contains("served about 3 ") || claim.contains("served about 2 to 3") || claim.contains("served about 3 to 4"),
        );
    }
    assert!(reported >= 6, "reported in {reported} of {SEEDS}");
}

/// Closed load that is never low: even the first step has more users than places.
#[test]
fn closed_load_bounds_the_number_of_shared_places() {
    for slots in 1..=3 {
        let target = Target { slots: vec![slots], steps: mixed(SHOP, |_| (0, Service::Exponential(0.025))) };
        for seed in 0..SEEDS {
            let found = find(&target, users(1, 40, 30), seed);
            let claim = first(&found);
            let Some((_, most)) = claim.split_once("at most ") else { continue };
            let most: usize = most.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap();
            assert!(most >= slots && most <= 3 * slots + 2, "{slots}: {claim}");
        }
    }
}

/// If one request waits and the others do not, only that one is named. If none waits, there is no finding.
#[test]
fn requests_with_stable_times_are_not_grouped_with_those_that_wait() {
    let mut reported = 0;
    for seed in 0..SEEDS {
        let of = |index: usize| if index == 3 { (1, Service::Fixed(0.2)) } else { (0, Service::Exponential(0.004)) };
        let locked = Target { slots: vec![UNLIMITED, 1], steps: mixed(SHOP, of) };
        let found = find(&locked, ramp(15.0, 150.0, 40, Timing::Poisson), seed);
        assert!(
            found.findings.iter().all(|finding| finding.subject == Subject::Requests { names: vec!["Order".to_owned()] }),
            "{:?}",
            found.findings
        );
        reported += usize::from(!found.findings.is_empty());
        let healthy = Target { slots: vec![UNLIMITED], steps: mixed(SHOP, |index| (0, Service::Exponential(0.002 * (index + 1) as f64))) };
        for profile in [ramp(15.0, 150.0, 40, Timing::Poisson), users(1, 40, 40)] {
            let found = find(&healthy, profile, seed);
            assert!(found.findings.is_empty(), "{:?}", found.findings);
        }
    }
    assert!(reported >= 4, "reported in {reported} of {SEEDS}");
}
