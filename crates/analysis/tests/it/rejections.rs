//! Requests that are rejected at once, by causes in closed form: a rate limit, a share at random or in turn, and places that are all in use.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{ErrorGroup, Outcome, SeriesKind};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::draws::Draws;
use crate::synthetic::{self, MS, SECOND, Slice, plan};

const SECONDS: u32 = 40;

/// Instants of arrivals, in seconds.
#[derive(Debug, Clone, Copy)]
enum Arrivals {
    /// At random instants, at this rate.
    Random(f64),
    /// Evenly spaced.
    Even(f64),
    /// At random instants, from one rate to another.
    Ramp(f64, f64),
}

impl Arrivals {
    fn draw(self, draws: &mut Draws) -> Vec<f64> {
        let (mut at, mut found) = (0.0, Vec::new());
        while at < f64::from(SECONDS) {
            at += match self {
                Arrivals::Random(rate) => draws.exponential(1.0 / rate),
                Arrivals::Even(rate) => 1.0 / rate,
                Arrivals::Ramp(from, to) => draws.exponential(1.0 / (from + (to - from) * at / f64::from(SECONDS))),
            };
            found.push(at);
        }
        found.retain(|at| *at < f64::from(SECONDS));
        found
    }

    fn profile(self) -> LoadProfile {
        let (from, to, timing) = match self {
            Arrivals::Random(rate) => (rate, rate, Timing::Poisson),
            Arrivals::Even(rate) => (rate, rate, Timing::Even),
            Arrivals::Ramp(from, to) => (from, to, Timing::Poisson),
        };
        LoadProfile::Open { stages: vec![OpenStage::Rate { from, to, duration_ns: u64::from(SECONDS) * SECOND, timing }] }
    }
}

/// What rejects.
#[derive(Debug, Clone, Copy)]
enum Cause {
    /// A token bucket with this rate per second.
    Rate(f64),
    /// Each request with this probability.
    Share(f64),
    /// Every second request.
    Turn,
    /// All places are in use. Times are drawn from an exponential distribution.
    Places(usize),
}

/// Requests of this mean time. Rejected ones take `rejecting` milliseconds.
fn run(arrivals: Arrivals, cause: Cause, time_s: f64, rejecting: u64, status: &str, seed: u64) -> Run {
    let mut draws = Draws::new(seed);
    let (mut tokens, mut last, mut number, mut busy) = (1.0, 0.0, 0_u64, Vec::<f64>::new());
    let mut seconds: Vec<Vec<Option<u64>>> = vec![Vec::new(); SECONDS as usize];
    for at in arrivals.draw(&mut draws) {
        let time = if matches!(cause, Cause::Places(_)) { draws.exponential(time_s) } else { time_s * (0.8 + 0.4 * draws.uniform()) };
        number += 1;
        let passes = match cause {
            Cause::Rate(rate) => {
                tokens = f64::min(2.0, tokens + rate * (at - last));
                last = at;
                tokens >= 1.0
            }
            Cause::Share(rejected) => draws.uniform() >= rejected,
            Cause::Turn => number % 2 == 0,
            Cause::Places(places) => {
                busy.retain(|until| *until > at);
                busy.len() < places
            }
        };
        if passes {
            tokens -= 1.0;
            busy.push(at + time);
        }
        seconds[at as usize].push(passes.then_some((time * 1e9) as u64));
    }
    let slices = (0..).zip(seconds).map(|(second, requests)| {
        let rejected = requests.iter().filter(|time| time.is_none()).count() as u64;
        let mut slice = Slice::new(second).arrivals(requests.len() as u64);
        for time in &requests {
            let (time, outcome) = time.map_or((rejecting * MS, Outcome::Status), |time| (time, Outcome::Passed));
            slice.record(SeriesKind::Request, "Buy", 0, time, outcome);
        }
        let mut snapshot = slice.done();
        if rejected > 0 {
            let error = ErrorGroup::new(synthetic::key(SeriesKind::Request, "Buy"), Outcome::Status, status, snapshot.start);
            snapshot.errors = vec![ErrorGroup { count: rejected, ..error }];
        }
        snapshot
    });
    synthetic::run_of(plan(arrivals.profile()), slices.collect())
}

fn first(arrivals: Arrivals, cause: Cause, time_s: f64, rejecting: u64) -> Finding {
    let found = findings(&run(arrivals, cause, time_s, rejecting, "status 503", 7));
    found.into_iter().next().unwrap_or_else(|| panic!("{arrivals:?} {cause:?}"))
}

/// In 40 s, a few requests per second seldom exclude a fixed share, and a ramp reaches the limit for too short a time. Then failures are reported.
#[test]
fn a_rate_limit_is_named_with_its_rate_whatever_the_status() {
    for status in ["status 503", "status 403", "status 509", "status UNAVAILABLE"] {
        for (arrivals, rate, time_s) in [(Arrivals::Random(80.0), 50.0, 0.005), (Arrivals::Random(120.0), 50.0, 0.005)] {
            for seed in 0..3 {
                let found = findings(&run(arrivals, Cause::Rate(rate), time_s, 1, status, seed));
                let first = found.first().unwrap_or_else(|| panic!("{arrivals:?} {status}"));
                assert!(first.rule == "rate-limit" && first.confidence == Confidence::High, "{arrivals:?}\n{}", shown(&found));
                let limit = first.quantities.iter().find(|quantity| quantity.name == "limit").unwrap();
                // Random arrivals leave a part of the limit unused.
                assert!((0.8..1.05).contains(&(limit.value / rate)), "{rate}: {}", first.claim);
                assert!(
                    first.claim.starts_with("\"Buy\" is limited to about ") && first.claim.ends_with(&format!("({status})")),
                    "{}",
                    first.claim
                );
                assert!(found.iter().all(|finding| finding.rule != "failures"), "{}", shown(&found));
            }
        }
    }
}

/// None of them is a rate limit.
#[test]
fn a_share_of_the_requests_or_busy_places_are_no_rate_limit() {
    for (arrivals, cause, time_s) in [
        (Arrivals::Random(6.0), Cause::Share(0.5), 0.075),
        (Arrivals::Random(60.0), Cause::Share(0.3), 0.01),
        (Arrivals::Even(60.0), Cause::Share(0.5), 0.01),
        // One instance of two, by turns: what passes follows what is sent.
        (Arrivals::Random(30.0), Cause::Turn, 0.01),
        (Arrivals::Ramp(5.0, 60.0), Cause::Turn, 0.01),
        (Arrivals::Even(30.0), Cause::Turn, 0.01),
        // An overloaded service without a queue.
        (Arrivals::Random(100.0), Cause::Places(2), 0.04),
        (Arrivals::Ramp(5.0, 100.0), Cause::Places(5), 0.1),
        (Arrivals::Random(30.0), Cause::Places(1), 0.2),
    ] {
        let found = first(arrivals, cause, time_s, 1);
        assert!(found.rule == "failures" && found.claim.contains("(status 503)"), "{arrivals:?} {cause:?}: {}", found.claim);
    }
}

/// Rejections that take as long as the work are none of a limit that counts requests before it.
#[test]
fn slow_rejections_are_no_rate_limit() {
    let found = first(Arrivals::Random(6.0), Cause::Rate(3.0), 0.075, 300);
    assert_eq!(found.rule, "failures", "{}", found.claim);
}

/// Requests pass at an even rate, but so does every second request of an even load.
#[test]
fn an_even_rate_with_another_explanation_is_evidence_of_the_failures() {
    let found = first(Arrivals::Even(30.0), Cause::Turn, 0.01, 1);
    let text = "the others passed at an even 15.0/s";
    let evidence = found.evidence.iter().find(|evidence| evidence.text.starts_with(text)).unwrap_or_else(|| panic!("{:?}", found.evidence));
    assert!(evidence.text.contains("a rate limit, or a part of the system that rejects a fixed share"), "{}", evidence.text);
    // By chance, the numbers of one instance of two vary.
    let found = first(Arrivals::Even(30.0), Cause::Share(0.5), 0.01, 1);
    assert!(found.evidence.iter().all(|evidence| !evidence.text.contains("at an even")), "{:?}", found.evidence);
}
