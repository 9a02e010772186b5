//! How many requests are served at a time, by a load of constant users without any observer.

use loadstone_analysis::{Confidence, Finding};
use loadstone_plan::LoadProfile;

use crate::concluded::{findings, shown};
use crate::simulation::{Hop, Service, Step, Target, UNLIMITED, simulate, step, users};

const NAMES: [&str; 4] = ["List", "Item", "Search", "Order"];
const SECONDS: u64 = 30;

/// A visit of four requests, with a pause of 50 to 250 ms after each. All users begin at once.
fn visits(slots: usize, times: [Service; 4], load: LoadProfile, seed: u64) -> Vec<Finding> {
    let step = |(index, name): (usize, &&'static str)| {
        let pause = (index > 0).then_some(Service::LogUniform(0.05, 0.25));
        Step { pause, ..step(name, 0, times[index]) }
    };
    findings(&simulate(&Target { slots: vec![slots], steps: NAMES.iter().enumerate().map(step).collect() }, load, seed))
}

/// Times of a dependency 15 ms away: each differs by a tenth.
fn steady(scale: f64) -> [Service; 4] {
    [60.0, 45.0, 90.0, 30.0].map(|ms| Service::LogUniform(0.0009 * ms * scale, 0.0011 * ms * scale))
}

/// The range of a claim: `about 1 to 2 at a time`.
fn at_a_time(claim: &str) -> Option<(f64, f64)> {
    let rest = claim.split_once(", about ")?.1.split_once(" at a time")?.0;
    let (low, high) = rest.split_once(" to ").unwrap_or((rest, rest));
    Some((low.parse().ok()?, high.parse().ok()?))
}

#[test]
fn constant_users_of_several_requests_show_how_many_are_served_at_a_time() {
    for (places, scale) in [(1, 1.0), (2, 1.0), (3, 1.5), (4, 2.0)] {
        let mut known = 0;
        for seed in 0..8 {
            let found = visits(places, steady(scale), users(40, 40, SECONDS), seed);
            let first = found.first().unwrap_or_else(|| panic!("{places} {seed}: nothing"));
            assert!(first.claim.starts_with("40 users are more than the system serves"), "{}", shown(&found));
            let Some((low, high)) = at_a_time(&first.claim) else { continue };
            assert!(low <= places as f64 && places as f64 <= high && high <= 2.0 * low, "{places} {seed}: {}", shown(&found));
            assert!(first.claim.contains("at a time: a pool, workers, a lock or cores of that number"), "{}", first.claim);
            let places = first.quantities.iter().find(|quantity| quantity.name == "places").unwrap();
            assert_eq!(places.interval, Some((low, high)), "{}", first.claim);
            assert!(first.confidence <= Confidence::Medium);
            known += 1;
        }
        assert!(known >= 4, "{places}: {known} of 8");
    }
}

/// Times that scatter as widely as exponential ones, or between 0.4 and 1.9 times their mean, seldom show a number, and hardly ever a wrong one.
#[test]
fn scattered_times_show_no_number() {
    for times in [
        [60.0, 45.0, 90.0, 30.0].map(|ms| Service::Exponential(0.001 * ms)),
        [60.0; 4].map(|ms| Service::Bimodal(0.2, 0.0005 * ms, 0.003 * ms)),
    ] {
        for places in [1, 2, 4] {
            let numbers = (0..8).filter_map(|seed| at_a_time(&visits(places, times, users(40, 40, SECONDS), seed).first()?.claim));
            let wrong = numbers.filter(|(low, high)| *low > places as f64 || *high < places as f64).count();
            assert!(wrong <= 1, "{places}: {wrong} of 8");
        }
    }
}

/// A limiter lets requests through evenly, as places of equal times do, but far fewer than one is in service. What is behind it takes no place.
#[test]
fn a_rate_limit_shows_no_number_of_places() {
    for seed in 0..6 {
        let hops = |ms: f64| vec![Hop::Take(0), Hop::Pass(Service::Fixed(0.05)), Hop::Give(0), Hop::Pass(Service::Fixed(0.001 * ms))];
        let step = |(index, name): (usize, &&'static str)| Step {
            name,
            hops: hops([3.0, 8.0, 5.0, 2.0][index]),
            share: 0.0,
            chance: 1.0,
            pause: (index > 0).then_some(Service::LogUniform(0.05, 0.25)),
        };
        let steps = NAMES.iter().enumerate().map(step).collect();
        let found = findings(&simulate(&Target { slots: vec![1], steps }, users(40, 40, SECONDS), seed));
        let claim = &found.first().unwrap().claim;
        assert!(at_a_time(claim).is_none_or(|range| range == (1.0, 1.0) && claim.contains("unless a rate limit delays them")), "{claim}");
    }
}

/// Without a limit no request waits, however much times scatter, and with think time that leaves the places idle.
#[test]
fn users_that_do_not_wait_are_not_said_to() {
    for seed in 0..6 {
        for times in [steady(4.0), [300.0, 200.0, 400.0, 100.0].map(|ms| Service::Exponential(0.001 * ms))] {
            let found = visits(UNLIMITED, times, users(20, 20, SECONDS), seed);
            assert!(found.is_empty(), "{}", shown(&found));
        }
        // 8 places, of which three are busy.
        let found = visits(8, steady(1.0), users(8, 8, SECONDS), seed);
        assert!(found.is_empty(), "{}", shown(&found));
    }
}
