//! Runs with few requests: what they show is reported, with its uncertainty.

use loadstone_analysis::{Finding, MissingKnowledge, RampEstimate, RemarkKind, conclude};
use loadstone_metrics::{Outcome, Role};
use loadstone_plan::{ClosedStage, LoadProfile, Timing};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::simulation::{Service, Step, Target, UNLIMITED, ramp, simulate, step};
use crate::synthetic::{self, SECOND, Slice, gauge};

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
            let estimate = RampEstimate::of(&run, &summary.verdict).throughput_max.unwrap();
            assert_eq!((rate.value, rate.interval), (estimate.value, Some((estimate.low, estimate.high))));
        }
    }
}

/// A steep ramp of ten seconds.
#[test]
fn a_short_ramp_is_called_short_and_not_constant() {
    let steps = vec![step("Issues", 0, Service::Fixed(0.1))];
    let run = simulate(&Target { slots: vec![4], steps }, ramp(5.0, 80.0, 10, Timing::Even), 1);
    let why = RampEstimate::of(&run, &conclude(&run).verdict).unknown_because;
    assert!(why.as_deref().is_some_and(|why| why.starts_with("the run is too short: it has ")), "{why:?}");
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
        assert!(first.next.contains("Ramp to this load from a low one: `.run(users.ramp(3, 30).for(\"2m\"))`"), "{}", first.next);
    }
}

/// Thirty users whose visits have two requests, each with its station and its time.
fn two_requests(slots: [usize; 2], stations: [usize; 2], times: [Service; 2], seed: u64) -> Option<String> {
    let think = Some(Service::Exponential(0.5));
    let steps =
        vec![Step { pause: think, ..step("List", stations[0], times[0]) }, Step { pause: think, ..step("Order", stations[1], times[1]) }];
    let profile = LoadProfile::Closed { stages: vec![ClosedStage { from: 30, to: 30, duration_ns: 60 * SECOND }] };
    let found = findings(&simulate(&Target { slots: slots.to_vec(), steps }, profile, seed));
    found.first().filter(|first| first.rule == "throughput-limit").map(|first| first.claim.clone())
}

/// The number in a claim before `at a time if each name takes equally long`.
fn bound_of(claim: &str) -> Option<f64> {
    let (before, _) = claim.split_once(" at a time if each name takes equally long")?;
    before.rsplit_once("at most ").and_then(|(_, number)| number.parse().ok())
}

/// Requests of several names that share their places and take equally long show a bound on the number of places, which is never below it.
#[test]
fn several_requests_of_constant_users_show_the_most_that_are_served_at_a_time() {
    let mut counted = 0;
    for places in 1..=3 {
        for seed in 0..6 {
            let claim = two_requests([places, UNLIMITED], [0, 0], [Service::Fixed(0.3), Service::Fixed(0.2)], seed);
            let Some(most) = claim.as_deref().and_then(bound_of) else { continue };
            assert!(most >= places as f64 && most <= 15.0, "{places} {seed}: {claim:?}");
            counted += 1;
        }
    }
    assert!(counted >= 6, "{counted} of 18");
}

/// Times that scatter show no number of places, and neither does a queue of one of the names.
#[test]
fn constant_users_show_no_bound_if_times_scatter_or_only_one_name_waits() {
    let shown_for = |stations: [usize; 2], times: [Service; 2]| {
        let claims = (0..12).filter_map(|seed| two_requests([2, UNLIMITED], stations, times, seed));
        claims.filter(|claim| bound_of(claim).is_some()).count()
    };
    // 5 % by chance for each name: three of twelve or more in 11 % of cases, and the seeds are fixed.
    assert!(shown_for([0, 0], [Service::Exponential(0.3), Service::Exponential(0.2)]) <= 3);
    assert_eq!(shown_for([0, 1], [Service::Fixed(0.3), Service::Fixed(0.2)]), 0);
}

/// The same users and a service for all of them. Mean-value analysis gives a bound on the limit that is below the true one, which is none.
#[test]
fn constant_users_who_do_not_wait_get_a_straight_answer() {
    for seed in 0..6 {
        let run = constant_users(UNLIMITED, 30, seed);
        let verdict = conclude(&run).verdict;
        let remark = &verdict.findings.remark;
        assert_eq!(remark.kind, RemarkKind::Steady, "{remark}");
        // The throughput of the capacity of the same run. A bound below it is not reported.
        let sustained = RampEstimate::of(&run, &verdict).seen;
        let begin = format!("No limit was reached up to {} requests per second: ", loadstone_units::number(sustained));
        assert!(remark.text.starts_with(&begin), "{sustained} {remark}");
        let passes = remark.text.split_once("At least ").and_then(|(_, rest)| rest.split_once("/s would pass, even if"));
        assert!(passes.is_none_or(|(rate, _)| rate.parse::<f64>().unwrap() > sustained), "{remark}");
        assert!(remark.text.contains("`loadstone compare BASELINE 2026-11-20T18-30-05-shop`"), "{remark}");
    }
}

/// The cores of the machine are busy with other programs. Their use does not follow the load, so that only the rest is left for the service.
#[test]
fn cores_that_other_programs_use_are_not_left_for_the_system() {
    let observed_with = |cores: f64, observers: &[serde_json::Value]| {
        let mut run = constant_users(UNLIMITED, 30, 0);
        run.plan.observers = observers.to_vec();
        gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |_| 0.4);
        gauge("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| cores);
        conclude(&run).verdict.findings.remark.text
    };
    let with_process = |cores: f64| observed_with(cores, &[]);
    assert!(
        with_process(1.5).contains("The highest observed utilisation is 80.0 %, of the 2 cores of the machine"),
        "{}",
        with_process(1.5)
    );
    let others = with_process(0.1);
    // The generator uses 0.099 cores, which follow the load as well.
    let left = "The highest observed utilisation is 33.2 %, of the 0.599 cores of the machine that programs which are not observed leave: ";
    assert!(others.contains(left) && others.contains(", 3.01 times this load"), "{others}");
    // A database that is read through SQL may be such a program, and its use follows the load.
    let database = serde_json::json!({ "kind": "postgres", "url": "postgres://127.0.0.1:5433/shop" });
    let all = observed_with(0.1, std::slice::from_ref(&database));
    assert!(all.contains("The highest observed utilisation is 80.0 %, of the 2 cores of the machine"), "{all}");
    let process = serde_json::json!({ "kind": "process", "port": 5433 });
    assert!(observed_with(0.1, &[database, process]).contains(left));
}

/// Three visits per second arrive, and two pass. The first ones meet no queue. Their equal times show the number of places, and exponential ones do not.
#[test]
fn constant_arrivals_above_the_limit_show_the_places_only_if_the_first_requests_take_equally_long() {
    let found_of = |places: usize, service: Service, seed: u64| {
        let target = Target { slots: vec![places], steps: vec![step("Pay", 0, service)] };
        findings(&simulate(&target, ramp(3.0, 3.0, 60, Timing::Poisson), seed))
    };
    let (mut counted, mut guessed) = (0, 0);
    for seed in 0..20 {
        let found = found_of(4, Service::Fixed(2.0), seed);
        let limit = found.first().filter(|first| first.rule == "throughput-limit");
        if let Some(places) = limit.and_then(|limit| limit.quantities.iter().find(|quantity| quantity.name == "places")) {
            assert!(places.interval.is_some_and(|(low, high)| low <= 4.0 && 4.0 <= high), "{}", shown(&found));
            assert!(found[0].next.contains("`.run(arrivals.ramp(0.3, 3).poisson().for(\"2m\"))`"), "{}", found[0].next);
            counted += 1;
        }
        let found = found_of(4, Service::Exponential(2.0), seed);
        guessed +=
            usize::from(found.iter().any(|one| one.rule == "throughput-limit" && one.quantities.iter().any(|of| of.name == "places")));
    }
    // 5 % by chance: three or more of twenty in 8 % of cases, and the seeds are fixed.
    assert!(counted >= 14 && guessed <= 3, "{counted} and {guessed} of 20");
}

/// Every request waits for the only request thread, also the one that takes a millisecond. A pool that one of them needs delays that one.
#[test]
fn a_wait_that_all_requests_share_is_before_any_work() {
    let of = |is_shared: bool, seed: u64| {
        let quick = if is_shared { step("Ping", 0, Service::Fixed(0.001)) } else { step("Ping", 1, Service::Fixed(0.001)) };
        let steps = vec![quick, step("Report", 0, Service::Fixed(0.2))];
        let run = simulate(&Target { slots: vec![1, UNLIMITED], steps }, ramp(7.0, 7.0, 60, Timing::Poisson), seed);
        findings(&run)
    };
    for seed in 0..4 {
        let common = |found: &[Finding]| {
            assert_eq!(found[0].rule, "throughput-limit", "{}", shown(found));
            found[0].evidence.iter().any(|evidence| evidence.text.contains("they queue before any work"))
        };
        let (shared, of_one) = (of(true, seed), of(false, seed));
        assert!(common(&shared) && !common(&of_one), "{}\n{}", shown(&shared), shown(&of_one));
        // A pool of connections that both take first looks the same.
        assert!(shared[0].claim.ends_with(", the accept queue or a pool that each of them uses"), "{}", shown(&shared));
    }
}

/// Ten users with a second between two requests of 20 ms, as k6 generates them: a fifth of a request is in progress at any time.
#[test]
fn constant_users_of_a_fast_service_get_a_straight_answer() {
    for seed in 0..6 {
        let steps = vec![Step { pause: Some(Service::Fixed(1.0)), ..step("GET /", 0, Service::Exponential(0.02)) }];
        let profile = LoadProfile::Closed { stages: vec![ClosedStage { from: 10, to: 10, duration_ns: 30 * SECOND }] };
        let remark = conclude(&simulate(&Target { slots: vec![UNLIMITED], steps }, profile, seed)).verdict.findings.remark;
        assert_eq!(remark.kind, RemarkKind::Steady, "{remark}");
        assert!(remark.text.starts_with("No limit was reached up to "), "{remark}");
    }
}

/// A ramp of arrivals to `top` per second, each with a request of about half a second. Nothing limits it.
fn healthy_ramp(top: f64, mean_s: f64, seed: u64) -> loadstone_analysis::Remark {
    let steps = vec![step("Article", 0, Service::LogUniform(0.85 * mean_s, 1.15 * mean_s))];
    let findings =
        conclude(&simulate(&Target { slots: vec![UNLIMITED], steps }, ramp(top / 10.0, top, 30, Timing::Even), seed)).verdict.findings;
    assert!(findings.findings.is_empty(), "{}", shown(&findings.findings));
    findings.remark
}

#[test]
fn a_healthy_ramp_of_few_requests_gets_a_straight_answer() {
    // 50 and 100 requests.
    for (top, mean_s) in [(3.0, 0.2), (6.0, 0.5)] {
        for seed in 0..8 {
            let remark = healthy_ramp(top, mean_s, seed);
            assert!(remark.kind != RemarkKind::CannotTell && remark.text.starts_with("No limit was reached"), "{top} {seed}: {remark}");
        }
    }
    // Ten requests show nothing.
    assert_eq!(healthy_ramp(0.6, 0.2, 0).kind, RemarkKind::CannotTell);
    let remark = healthy_ramp(3.0, 0.2, 0);
    assert!(remark.text.contains("requests, so that up to 5.") && remark.text.contains(" may fail, 95 %)"), "{remark}");
}

/// The same arrivals at a limit of half of the load: as few requests, and no straight answer.
#[test]
fn few_requests_that_wait_get_no_answer_that_nothing_is_limited() {
    for (top, mean_s) in [(3.0, 0.6), (6.0, 0.3), (10.0, 0.2)] {
        for seed in 0..8 {
            let steps = vec![step("Article", 0, Service::LogUniform(0.85 * mean_s, 1.15 * mean_s))];
            let run = simulate(&Target { slots: vec![1], steps }, ramp(top / 10.0, top, 30, Timing::Even), seed);
            let findings = conclude(&run).verdict.findings;
            let is_denied = findings.findings.is_empty() && findings.remark.kind != RemarkKind::CannotTell;
            assert!(!is_denied, "{top} {seed}: {}", findings.remark);
        }
    }
}

/// A few users of one event loop, who meet now and then.
fn few_users(users: u64, mean_s: f64, seed: u64) -> loadstone_analysis::Findings {
    let pause = Some(Service::LogUniform(0.05, 0.25));
    let steps = ["Posts", "Tags"].map(|name| Step { pause, ..step(name, 0, Service::LogUniform(0.7 * mean_s, 1.3 * mean_s)) }).to_vec();
    let profile = LoadProfile::Closed { stages: vec![ClosedStage { from: users, to: users, duration_ns: 30 * SECOND }] };
    conclude(&simulate(&Target { slots: vec![1], steps }, profile, seed)).verdict.findings
}

#[test]
fn a_few_users_far_from_the_limit_get_a_straight_answer() {
    let (mut straight, mut denied) = (0, 0);
    for seed in 0..8 {
        let findings = few_users(4, 0.02, seed);
        assert!(findings.findings.is_empty(), "{}", shown(&findings.findings));
        straight += u32::from(findings.remark.kind == RemarkKind::Steady);
        // Forty of them are far too many.
        let findings = few_users(40, 0.02, seed);
        denied += u32::from(findings.findings.is_empty() && findings.remark.kind != RemarkKind::CannotTell);
    }
    assert!(straight >= 7 && denied == 0, "{straight} of 8, {denied}");
}

/// Users from 1 to 20 in 30 s. `ends` gives how many requests end in a second, and their time in seconds; `open` the ages of those that never do.
fn ramp_of_users(ends: impl Fn(u64) -> (u64, f64), open: &[u64]) -> Run {
    let second = |number: u32| {
        let users = 1 + u64::from(number) * 19 / 30;
        let (ended, time_s) = ends(u64::from(number));
        let mut slice = Slice::new(number).leaf(|leaf| (leaf.users_asked, leaf.users_active, leaf.ended) = (users, users, ended));
        slice = slice.requests("Send", ended, (time_s * 1e9) as u64);
        for age in open.iter().filter(|_| number == 33) {
            slice = slice.request("Send", 0, age * SECOND, Outcome::Interrupted);
        }
        let mut snapshot = slice.done();
        snapshot.generator[0].in_flight_ns = users.min(20) * SECOND;
        snapshot
    };
    let profile = LoadProfile::Closed { stages: vec![ClosedStage { from: 1, to: 20, duration_ns: 30 * SECOND }] };
    synthetic::run_of(synthetic::plan(profile), (0..34).map(second).collect())
}

/// One connection, which each request holds for 1.7 s: the others wait, and a longer run has no more requests per second.
fn one_held_connection() -> Run {
    let ages: Vec<u64> = (0..20).map(|index| 5 + index).collect();
    ramp_of_users(|second| (u64::from(second % 5 == 4) + u64::from(second % 5 == 1), 2.0 + second as f64 * 0.6), &ages)
}

#[test]
fn a_system_that_hardly_answers_is_not_short_of_requests() {
    let remark = conclude(&one_held_connection()).verdict.findings.remark;
    let text = &remark.text;
    assert!(text.starts_with("Cannot tell what limits it: requests are hardly answered: 13 of 33 that began had ended"), "{text}");
    assert!(remark.missing == Some(MissingKnowledge::UnexplainedWaiting) && !text.contains("Run longer"), "{text}");
    // A constant number of connections is what they wait for.
    let mut run = one_held_connection();
    gauge("postgres", "connections_total").role(Role::ConnectionsOpen).each_second(&mut run, |_| 1.0);
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |_| 0.02);
    let found = findings(&run);
    assert!(found[0].rule == "held-connections" && found[0].claim.contains("exactly 1 connection to \"postgres\""), "{}", shown(&found));
}

/// Requests that take 15 s by themselves: more of them end as more are sent, and those open at the end are no older.
#[test]
fn long_requests_that_pass_side_by_side_are_few_and_not_stuck() {
    let ages: Vec<u64> = (0..12).map(|index| 1 + index).collect();
    let remark = conclude(&ramp_of_users(|second| (if second > 15 { 1 } else { 0 }, 15.0), &ages)).verdict.findings.remark;
    assert_eq!(remark.missing, Some(MissingKnowledge::TooFewRequests), "{}", remark.text);
}
