//! One of several instances is slow, and requests that are slow for other reasons.

use loadstone_metrics::Outcome;
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::draws::Draws;
use crate::synthetic::{self, MS, Slice, open, plan};

const NAMES: [&str; 5] = ["List", "Show", "Buy", "Search", "Pay"];
/// Their times without anything slow.
const OWN_MS: [f64; 5] = [8.0, 3.0, 30.0, 12.0, 20.0];

/// How often a request of one name is slow, and by how many milliseconds.
#[derive(Debug, Clone, Copy)]
struct Slowness {
    share: f64,
    longer_ms: f64,
}

fn slow(share: f64, longer_ms: f64) -> Slowness {
    Slowness { share, longer_ms }
}

/// The first names, each so many times a second for 40 seconds.
fn run_of(each: &[Slowness], rate: u64, seed: u64) -> Run {
    let mut draws = Draws::new(seed);
    let second = |number: u32| {
        let mut slice = Slice::new(number).arrivals(rate);
        for _ in 0..rate {
            for ((name, own), slowness) in NAMES.into_iter().zip(OWN_MS).zip(each) {
                let jitter = 0.8 + 0.4 * draws.uniform();
                let added = if draws.uniform() < slowness.share { slowness.longer_ms * jitter } else { 0.0 };
                slice = slice.request(name, 0, ((own * jitter + added) * MS as f64) as u64, Outcome::Passed);
            }
        }
        slice.done()
    };
    synthetic::run_of(plan(open(rate as f64, 40)), (0..40).map(second).collect())
}

fn claim_of(run: &Run) -> Option<String> {
    findings(run).into_iter().find(|finding| finding.rule == "slow-part").map(|finding| finding.claim)
}

#[test]
fn a_slow_instance_is_found_by_the_additional_time_of_all_requests() {
    for shares in [[0.5; 3], [0.3, 0.6, 0.5], [0.12; 3]] {
        let found = findings(&run_of(&shares.map(|share| slow(share, 200.0)), 20, 7));
        assert!(found[0].rule == "slow-part" && found[0].claim.contains("one of several instances"), "{shares:?}: {}", shown(&found));
        assert!(found[0].claim.contains("of all requests take ") && found[0].claim.contains("longer than the others"), "{}", shown(&found));
    }
}

/// A balancer that asks another instance after 800 ms adds just that. A slow instance does not take as long each time.
#[test]
fn an_added_time_that_is_always_the_same_may_be_a_time_limit() {
    let of = |jitter: f64| {
        let mut draws = Draws::new(11);
        let second = |number: u32| {
            let mut slice = Slice::new(number).arrivals(20);
            for index in 0..20 {
                for (name, own) in NAMES.into_iter().zip(OWN_MS) {
                    let added = if index % 2 == 0 { 800.0 * (1.0 + jitter * (2.0 * draws.uniform() - 1.0)) } else { 0.0 };
                    let own = own * (0.8 + 0.4 * draws.uniform());
                    slice = slice.request(name, 0, ((own + added) * MS as f64) as u64, Outcome::Passed);
                }
            }
            slice.done()
        };
        claim_of(&synthetic::run_of(plan(open(20.0, 40)), (0..40).map(second).collect())).expect("a slow part")
    };
    assert!(of(0.0).ends_with("or does not answer, so that after a time limit of that length another one does"), "{}", of(0.0));
    assert!(!of(0.15).contains("time limit"), "{}", of(0.15));
}

/// An instance whose path to the database is slow adds as much time as a request has statements. A request without one remains fast.
#[test]
fn a_slow_instance_is_found_by_the_equal_shares_of_requests_with_different_added_times() {
    let mut missed = Vec::new();
    for seed in 0..crate::seeds(20, 200) {
        let mut draws = Draws::new(seed ^ 0x51ab);
        let share = [1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0, 1.0 / 8.0][(4.0 * draws.uniform()) as usize];
        let statement_ms = 40.0 + 100.0 * draws.uniform();
        let each = [3.0, 1.0, 12.0, 5.0, 0.0]
            .map(|statements| if statements > 0.0 { slow(share, statements * statement_ms) } else { slow(0.0, 0.0) });
        match claim_of(&run_of(&each, 30, seed)) {
            Some(claim) => {
                assert!(claim.contains(" of each of 4 requests take longer than the others, by "), "{claim}");
                let percent: f64 = claim.split(' ').next().unwrap().parse().unwrap();
                assert!((percent / 100.0 / share - 1.0).abs() < 0.15, "{share}: {claim}");
            }
            None => missed.push((seed, share)),
        }
    }
    assert!(missed.len() as u64 * 20 <= crate::seeds(20, 200), "{missed:?}");
}

/// Slow kinds of separate requests are seldom equally frequent.
#[test]
fn requests_with_slow_kinds_of_their_own_are_no_slow_instance() {
    let mut accused = Vec::new();
    for seed in 0..crate::seeds(40, 400) {
        let mut draws = Draws::new(seed ^ 0xbeef);
        let each: [Slowness; 5] = std::array::from_fn(|_| slow(0.02 * 25.0_f64.powf(draws.uniform()), 200.0 + 800.0 * draws.uniform()));
        accused.extend(claim_of(&run_of(&each[..3 + (seed % 3) as usize], 30, seed)).map(|claim| format!("{each:?}: {claim}")));
    }
    assert!(accused.len() as u64 * 40 <= crate::seeds(40, 400), "{accused:#?}");
    for each in [vec![slow(0.12, 200.0), slow(0.0, 0.0), slow(0.0, 0.0)], vec![slow(0.3, 200.0), slow(0.15, 60.0), slow(0.4, 900.0)]] {
        assert_eq!(claim_of(&run_of(&each, 20, 7)), None, "{each:?}");
    }
}

#[test]
fn healthy_requests_are_no_slow_instance() {
    for seed in 0..crate::seeds(10, 100) {
        let found = findings(&run_of(&[slow(0.0, 0.0); 5], 30, seed));
        assert!(found.is_empty(), "{}", shown(&found));
    }
}
