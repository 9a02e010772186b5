//! Changes under a changing load: planted steps, periods, drifts and slow parts under ramps, waves and steps of load, and as many systems
//! whose times only follow their load.

use loadstone_analysis::{Confidence, Finding, conclude};
use loadstone_metrics::{Outcome, SeriesKind};
use loadstone_plan::{ClosedStage, LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::changes::noise;
use crate::draws::Draws;
use crate::fluid::{Load, System};
use crate::simulation::{Service, Step, Target, ramp, simulate, step, users};
use crate::synthetic::{self, SECOND, Slice, plan};

/// A load by second. Arrivals per second.
pub(crate) type Rate = fn(f64) -> f64;

/// The duration of a request at a time and a load.
pub(crate) type Time<'a> = &'a dyn Fn(f64, f64, &mut Draws) -> f64;

pub(crate) const SECONDS: u32 = 80;

fn rising(at: f64) -> f64 {
    5.0 + at / 2.0
}

fn up_and_down(at: f64) -> f64 {
    45.0 - (at - 40.0).abs()
}

/// Two days of traffic.
pub(crate) fn waves(at: f64) -> f64 {
    25.0 - 18.0 * (at / 40.0 * 2.0 * std::f64::consts::PI).cos()
}

fn in_steps(at: f64) -> f64 {
    10.0 * (at / 10.0).floor().min(7.0 - (at / 10.0).floor()) + 10.0
}

fn bursts(at: f64) -> f64 {
    if at % 20.0 >= 15.0 { 60.0 } else { 10.0 }
}

/// Arrivals according to the load; each sends each request once. Times are functions of the second and the load.
pub(crate) fn under(load: Rate, requests: &[(&str, Time<'_>)], seed: u64) -> Run {
    let mut draws = Draws::new(seed ^ 0x10ad);
    let mut due = 0.0;
    let mut slices = Vec::new();
    for second in 0..SECONDS {
        let (at, before) = (f64::from(second) + 0.5, f64::floor(due));
        due += load(at);
        let count = (due.floor() - before) as u64;
        let mut slice = Slice::new(second).arrivals(count);
        for (name, time) in requests {
            (0..count).for_each(|_| {
                slice.record(SeriesKind::Request, name, 20_000, (time(at, load(at), &mut draws) * 1e9) as u64, Outcome::Passed)
            });
        }
        slices.push(slice.done());
    }
    let stage = |at: u32| {
        let rate = load(f64::from(at) + 0.5);
        OpenStage::Rate { from: rate, to: rate, duration_ns: SECOND, timing: Timing::Even }
    };
    synthetic::run_of(plan(LoadProfile::Open { stages: (0..SECONDS).map(stage).collect() }), slices)
}

fn findings(run: &Run) -> Vec<Finding> {
    conclude(run).verdict.findings.findings
}

fn shown(found: &[Finding]) -> String {
    found.iter().map(|finding| format!("{finding:#?}\n")).collect()
}

/// 5 ms that grow with the load like those of a queue.
fn queue(load: f64, draws: &mut Draws) -> f64 {
    0.005 * noise(0.3, draws) / (1.0 - load / 90.0)
}

#[test]
fn a_slow_period_is_distinguished_from_the_load_under_every_load_shape() {
    for load in [rising, up_and_down, waves, in_steps, bursts] {
        let time = |at: f64, load: f64, draws: &mut Draws| queue(load, draws) + if (22.0..32.0).contains(&at) { 0.2 } else { 0.0 };
        let other = |_: f64, load: f64, draws: &mut Draws| queue(load, draws);
        for seed in 0..3 {
            let found = findings(&under(load, &[("Pay", &time), ("List", &other)], seed));
            let first = found.first().unwrap_or_else(|| panic!("{} at 0: nothing", load(0.0)));
            let says =
                first.claim.starts_with("\"Pay\" took 2") && first.claim.contains(" from 0:22 to 0:32, more than the load explains (");
            assert!(first.rule == "change" && says, "{}", shown(&found));
            assert!(first.alternatives[0].text.contains("as high and as low at other times"), "{}", shown(&found));
            assert!(found.iter().all(|finding| !finding.claim.contains("List")), "{}", shown(&found));
        }
    }
}

#[test]
fn a_step_under_a_rising_load_lists_the_load_as_an_alternative() {
    let time = |at: f64, load: f64, draws: &mut Draws| queue(load, draws) + if at >= 30.0 { 0.25 } else { 0.0 };
    for seed in 0..5 {
        let found = findings(&under(rising, &[("Buy", &time)], seed));
        let first = found.first().unwrap_or_else(|| panic!("nothing"));
        assert!(first.rule == "change" && first.confidence == Confidence::Medium, "{}", shown(&found));
        assert!(first.claim.contains(" at 0:30, all at once, while the load rose past 20"), "{}", shown(&found));
        assert!(first.alternatives[0].text.contains("Not ruled out: the load had not been as high before"), "{}", shown(&found));
    }
}

#[test]
fn a_drift_is_reported_if_the_same_load_recurs() {
    let time = |at: f64, load: f64, draws: &mut Draws| queue(load, draws) + at * 0.002;
    for seed in 0..5 {
        let found = findings(&under(waves, &[("Add", &time)], seed));
        let says = |finding: &&Finding| finding.claim.starts_with("\"Add\" grew steadily") && finding.claim.contains(", at equal loads (");
        assert!(found.iter().any(|finding| says(&finding)), "{}", shown(&found));
        // Under a load that only rises, a drift cannot be distinguished from the load.
        let found = findings(&under(rising, &[("Add", &time)], seed));
        assert!(found.iter().all(|finding| finding.rule != "change"), "{}", shown(&found));
    }
}

#[test]
fn a_part_that_becomes_slow_is_reported_under_waves_of_load() {
    let time = |at: f64, load: f64, draws: &mut Draws| {
        let is_slow = at >= 40.0 && draws.uniform() < 0.15;
        queue(load, draws) + if is_slow { 0.4 } else { 0.0 }
    };
    let found = findings(&under(waves, &[("List", &time)], 2));
    let first = found.iter().find(|finding| finding.rule == "change").unwrap_or_else(|| panic!("{}", shown(&found)));
    assert!(first.claim.contains("% of \"List\" took 4") && first.claim.contains("more than the load explains"), "{}", shown(&found));
}

#[test]
fn a_step_under_a_rising_number_of_users_is_reported() {
    let mut draws = Draws::new(3);
    let slices = (0..SECONDS).map(|second| {
        let users = 2 + u64::from(second) / 2;
        let mut slice = Slice::new(second).leaf(|leaf| (leaf.users_asked, leaf.users_active) = (users, users));
        let time = 0.05 + if (40..52).contains(&second) { 0.4 } else { 0.0 };
        for _ in 0..(users as f64 / (time + 0.2)) as u64 {
            slice.record(SeriesKind::Request, "Pay", 0, (time * noise(0.2, &mut draws) * 1e9) as u64, Outcome::Passed);
        }
        slice.done()
    });
    let stage = ClosedStage { from: 2, to: 42, duration_ns: u64::from(SECONDS) * SECOND };
    let found = findings(&synthetic::run_of(plan(LoadProfile::Closed { stages: vec![stage] }), slices.collect()));
    assert!(found[0].claim.contains(" from 0:40 to 0:52, more than the load explains (22 users to 2"), "{}", shown(&found));
}

/// Users who wait longer from a time on complete less work, and more users complete more: no queue behaves like that.
#[test]
fn a_lasting_step_under_a_rising_number_of_users_is_reported() {
    for seed in 0..5 {
        let mut draws = Draws::new(seed);
        let slices = (0..SECONDS).map(|second| {
            let users = 10 + u64::from(second) / 2;
            let mut slice = Slice::new(second).leaf(|leaf| (leaf.users_asked, leaf.users_active) = (users, users));
            let time = 0.05 + if second >= 40 { 0.4 } else { 0.0 };
            for _ in 0..(users as f64 / (time + 0.2)) as u64 {
                slice.record(SeriesKind::Request, "Pay", 0, (time * noise(0.2, &mut draws) * 1e9) as u64, Outcome::Passed);
            }
            slice.done()
        });
        let stage = ClosedStage { from: 10, to: 50, duration_ns: u64::from(SECONDS) * SECOND };
        let found = findings(&synthetic::run_of(plan(LoadProfile::Closed { stages: vec![stage] }), slices.collect()));
        assert!(found[0].claim.contains(" at 0:40, all at once, while the load rose past 30 users"), "{}", shown(&found));
    }
}

/// Times that only follow their load, or the backlog of a higher load.
#[test]
fn effects_of_the_load_are_no_change() {
    let reported = |run: &Run| -> Vec<String> {
        findings(run).into_iter().filter(|finding| finding.rule == "change").map(|finding| finding.claim).collect()
    };
    let mut accused = Vec::new();
    let loads: [Rate; 5] = [rising, up_and_down, waves, in_steps, bursts];
    for seed in 0..12 {
        for load in loads {
            // Like a queue; with slow first requests to idle resources at low load; with a level that is reached at once above a load and
            // left again.
            let idle = |_: f64, load: f64, draws: &mut Draws| 0.004 * noise(0.4, draws) * (1.0 + 20.0 / load);
            let limit = |_: f64, load: f64, draws: &mut Draws| 0.004 * noise(0.4, draws) + if load > 30.0 { 0.1 } else { 0.0 };
            let follows = |_: f64, load: f64, draws: &mut Draws| queue(load, draws);
            for time in [&follows as Time<'_>, &idle, if load(10.0) == rising(10.0) { &follows } else { &limit }] {
                accused.extend(reported(&under(load, &[("A", time)], seed)));
            }
        }
        // Overload, and the backlog that it leaves.
        let target = Target { slots: vec![2], steps: vec![step("A", 0, Service::Exponential(0.05))] };
        accused.extend(reported(&simulate(&target, ramp(5.0, 70.0, 80, Timing::Poisson), seed)));
        let stages = [(10.0, 20), (70.0, 10), (10.0, 60)];
        let stage =
            |(rate, seconds): (f64, u64)| OpenStage::Rate { from: rate, to: rate, duration_ns: seconds * SECOND, timing: Timing::Even };
        accused.extend(reported(&simulate(&target, LoadProfile::Open { stages: stages.map(stage).to_vec() }, seed)));
        let stage = |(from, to): (f64, f64)| OpenStage::Rate { from, to, duration_ns: 40 * SECOND, timing: Timing::Poisson };
        let stages = [(5.0, 60.0), (60.0, 5.0)].map(stage).to_vec();
        accused.extend(reported(&simulate(&target, LoadProfile::Open { stages }, seed)));
    }
    for load in [Load::Ramp(2.0, 35.0, 60), Load::Users(1, 40, 60)] {
        accused.extend(reported(&System { capacity: 25.0, base: 0.04, is_shared: true }.under(load).run));
    }
    assert!(accused.is_empty(), "{}:\n{}", accused.len(), accused.join("\n"));
}

/// A fast request that waits behind slow ones: from 3 to 40 ms within seconds as users become too many, and then up to 400 ms.
#[test]
fn a_fast_request_in_a_queue_of_slow_ones_is_no_step() {
    let quick = Step { pause: Some(Service::Exponential(0.36)), ..step("Show", 0, Service::Exponential(0.0026)) };
    let target = Target { slots: vec![4], steps: vec![step("List", 0, Service::Fixed(0.123)), quick] };
    for seed in 0..40 {
        let found = findings(&simulate(&target, users(2, 46, 40), seed));
        assert!(found.iter().all(|finding| !finding.claim.contains("all at once")), "{seed}: {}", shown(&found));
    }
}

/// A single server with random arrivals that exceed its capacity: some of its queues are long for a while, and shorter at a higher load.
#[test]
fn a_queue_that_grows_and_shrinks_near_its_limit_is_never_a_certain_change() {
    let target = Target { slots: vec![1], steps: vec![step("Show", 0, Service::LogUniform(0.0676, 0.321))] };
    let mut reported = 0;
    for seed in 0..300 {
        let found = findings(&simulate(&target, ramp(0.65, 7.9, 40, Timing::Poisson), seed));
        for change in found.iter().filter(|finding| finding.rule == "change" && finding.claim.contains("more than the load explains")) {
            assert!(change.confidence < Confidence::High, "{seed}: {}", shown(&found));
            assert!(change.alternatives.iter().any(|other| other.text.starts_with("A queue near its limit")), "{seed}: {}", shown(&found));
            reported += 1;
        }
    }
    assert!(reported > 0, "no run has the finding that this test is about");
}

/// Up to ten users whose "Refresh" is slow from second 15 on, or becomes slower with each user, while "List" and "Read" take as long as before.
fn few_users(refresh: impl Fn(f64, f64) -> f64, others: impl Fn(f64) -> f64) -> Run {
    let mut draws = Draws::new(5);
    let slice = |second: u32| {
        let (at, users) = (f64::from(second), 1 + u64::from(second) * 9 / 30);
        let mut slice = Slice::new(second).leaf(|leaf| (leaf.users_asked, leaf.users_active) = (users, users));
        let mut send = |name: &str, time: f64, count: u64| {
            (0..count)
                .for_each(|_| slice.record(SeriesKind::Request, name, 0, (time * noise(0.3, &mut draws) * 1e9) as u64, Outcome::Passed));
        };
        send("Refresh", refresh(at, users as f64), 2);
        send("List", 0.05 * others(at), users);
        send("Read", 0.03 * others(at), users);
        slice.done()
    };
    let profile = LoadProfile::Closed { stages: vec![ClosedStage { from: 1, to: 10, duration_ns: 30 * SECOND }] };
    synthetic::run_of(plan(profile), (0..30).map(slice).collect())
}

#[test]
fn a_step_of_one_request_among_few_users_is_a_change() {
    let late = |at: f64| if at >= 15.0 { 20.0 } else { 1.0 };
    let found = conclude(&few_users(|at, _| 0.09 * late(at), |_| 1.0)).verdict.findings.findings;
    assert!(found[0].claim.starts_with("\"Refresh\" went from ") && found[0].claim.contains(" at 0:15, all at once"), "{found:#?}");
    // It grows with the users, or all requests become slower.
    let quiet = |run: &Run| {
        let found = conclude(run).verdict.findings.findings;
        assert!(found.iter().all(|finding| !finding.claim.contains("all at once")), "{found:#?}");
    };
    quiet(&few_users(|_, users| 0.04 * users * users, |_| 1.0));
    quiet(&few_users(|at, _| 0.09 * late(at), late));
}
