//! Changes over time and failures: planted steps, drifts, pauses and failures, and as many systems without any.

use loadstone_analysis::{Confidence, Finding, Summary, conclude};
use loadstone_metrics::{ErrorGroup, Outcome, Role, SeriesKind};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::draws::Draws;
use crate::simulation::{Service, Target, ramp, simulate, step};
use crate::synthetic::{self, MS, SECOND, Slice, counter, gauge, open, plan};

/// A request of a simulated service: the duration of a request that begins in this second, and its outcome.
pub(crate) struct Request<'a> {
    pub(crate) name: &'a str,
    pub(crate) time: &'a dyn Fn(u32, &mut Draws) -> f64,
    pub(crate) outcome: &'a dyn Fn(u32, &mut Draws) -> Outcome,
}

pub(crate) fn passes(_: u32, _: &mut Draws) -> Outcome {
    Outcome::Passed
}

/// Lognormal noise: a factor whose logarithm has this standard deviation.
pub(crate) fn noise(sigma: f64, draws: &mut Draws) -> f64 {
    (sigma * draws.normal()).exp()
}

/// `seconds` at a constant rate; each arrival sends each request once.
pub(crate) fn constant(seconds: u32, rate: u64, requests: &[Request<'_>], seed: u64) -> Run {
    let mut draws = Draws::new(seed);
    let slices = (0..seconds).map(|second| {
        let mut slice = Slice::new(second).arrivals(rate);
        for request in requests {
            for _ in 0..rate {
                let outcome = (request.outcome)(second, &mut draws);
                let time = ((request.time)(second, &mut draws) * 1e9) as u64;
                slice.record(SeriesKind::Request, request.name, 20_000, time, outcome);
            }
        }
        slice.done()
    });
    synthetic::run_of(plan(open(rate as f64, u64::from(seconds))), slices.collect())
}

fn findings(run: &Run) -> Vec<Finding> {
    conclude(run).verdict.findings.findings
}

fn rules(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|finding| finding.rule.as_str()).collect()
}

fn shown(found: &[Finding]) -> String {
    found.iter().map(|finding| format!("{finding:#?}\n")).collect()
}

/// The steps reported for a run: `(name, second)`.
fn instants(summary: &Summary) -> Vec<(String, f64)> {
    summary.changes.iter().map(|change| (change.name.clone(), change.at_seconds)).collect()
}

#[test]
fn a_step_of_one_request_under_constant_load_is_reported_with_its_time_and_numbers() {
    let list = |second: u32, draws: &mut Draws| 0.000_4 * noise(0.3, draws) + if second >= 20 { 0.4 } else { 0.0 };
    let other = |_: u32, draws: &mut Draws| 0.003 * noise(0.3, draws);
    let requests =
        [Request { name: "Ingredients", time: &list, outcome: &passes }, Request { name: "Other", time: &other, outcome: &passes }];
    let mut run = constant(60, 30, &requests, 1);
    counter("process:8080", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| 0.2 + (second % 5) as f64 / 100.0);
    gauge("db", "locks").each_second(&mut run, |second| if second >= 20 { 6.0 } else { (second % 2) as f64 });
    let found = findings(&run);
    let first = &found[0];
    assert!(first.rule == "change" && first.confidence == Confidence::High, "{}", shown(&found));
    assert!(first.claim.starts_with("\"Ingredients\" went from ") && first.claim.contains(" µs to 40"), "{}", first.claim);
    assert!(first.claim.ends_with(" at 0:20 while the load was constant (30/s)"), "{}", first.claim);
    let evidence: Vec<&str> = first.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
    assert!(evidence.contains(&"the times of \"Other\" remained stable"), "{evidence:?}");
    assert!(evidence.iter().any(|text| text.starts_with("db/locks from") && text.ends_with("at the same time")), "{evidence:?}");
    assert!(evidence.iter().any(|text| text.starts_with("unchanged: process:8080/cpu")), "{evidence:?}");
    assert!(evidence.iter().any(|text| text.starts_with("waiting for the first byte went from")), "{evidence:?}");
    assert_eq!(instants(&conclude(&run)), [("Ingredients".to_owned(), 20.0), ("db/locks".to_owned(), 20.0)]);
}

/// Half a minute has few permutations, neighbours resemble each other, and a request of two seconds ends two seconds after its start.
#[test]
fn a_step_to_seconds_in_a_short_run_is_reported_with_the_start_of_the_slow_requests() {
    let mut draws = Draws::new(7);
    let slices = (0..24).map(|second| {
        let mut slice = Slice::new(second).arrivals(8);
        // It becomes faster for a while, as in a warm-up.
        let usual = |draws: &mut Draws| 0.01 * 0.97_f64.powf(f64::from(second.min(12))) * noise(0.1, draws);
        for _ in 0..8 {
            slice.record(SeriesKind::Request, "Item", 20_000, (usual(&mut draws) * 1e9) as u64, Outcome::Passed);
            match second {
                0..12 => slice.record(SeriesKind::Request, "Buy", 20_000, (usual(&mut draws) * 1e9) as u64, Outcome::Passed),
                12..14 => {}
                _ => slice.record(SeriesKind::Request, "Buy", 20_000, ((2.0 + usual(&mut draws)) * 1e9) as u64, Outcome::Passed),
            }
        }
        slice.done()
    });
    let found = findings(&synthetic::run_of(plan(open(8.0, 24)), slices.collect()));
    let first = &found[0];
    assert!(first.rule == "change" && first.claim.starts_with("\"Buy\" went from "), "{}", shown(&found));
    assert!(first.claim.contains(" to 2.0") && first.claim.contains(" at 0:12 while the load was constant"), "{}", first.claim);
}

#[test]
fn a_period_with_a_locked_table_is_reported_with_both_ends() {
    let time = |second: u32, draws: &mut Draws| 0.005 * noise(0.3, draws) + if (25..35).contains(&second) { 0.2 } else { 0.0 };
    let found = findings(&constant(60, 30, &[Request { name: "Pay", time: &time, outcome: &passes }], 3));
    assert!(found[0].claim.contains(" from 0:25 to 0:35 while the load was constant"), "{}", shown(&found));
}

#[test]
fn a_step_in_a_tenth_of_the_requests_is_reported_as_such() {
    let time = |second: u32, draws: &mut Draws| {
        let slow = second >= 30 && draws.uniform() < 0.1;
        0.004 * noise(0.3, draws) + if slow { 0.4 } else { 0.0 }
    };
    let found = findings(&constant(90, 30, &[Request { name: "List", time: &time, outcome: &passes }], 5));
    let first = found.iter().find(|finding| finding.rule == "change").unwrap_or_else(|| panic!("{}", shown(&found)));
    assert!(first.claim.contains("% of \"List\" took 40") && first.claim.contains(" from 0:3"), "{}", first.claim);
}

/// Five requests a second, of which a third is repeated after a second from an instant on. Medians and means per second scatter too much to show it.
#[test]
fn few_requests_of_which_some_are_repeated_later_are_reported() {
    let run = |seed: u64, is_repeated: bool| {
        let time = |second: u32, draws: &mut Draws| {
            let again = is_repeated && second >= 12 && draws.uniform() < 0.35;
            0.09 * noise(0.5, draws) + if again { 1.05 } else { 0.0 }
        };
        findings(&constant(34, 5, &[Request { name: "Order", time: &time, outcome: &passes }], seed))
    };
    let seeds = crate::seeds(20, 60);
    let found = run(1, true);
    let pause = " s longer each, as with a time limit or a pause before a call is repeated";
    assert!(found[0].claim.contains("% of \"Order\" took ") && found[0].claim.ends_with(pause), "{}", shown(&found));
    assert!(found[0].next.starts_with("Look for a call that is repeated after 1.0"), "{}", found[0].next);
    assert_eq!(rules(&found), ["change"]);
    let is_change = |found: &[Finding]| found.iter().any(|finding| finding.rule == "change" && finding.claim.contains("\"Order\""));
    let reported = (0..seeds).filter(|seed| is_change(&run(seed + 1, true))).count() as u64;
    assert!(reported * 10 >= seeds * 6, "{reported} of {seeds}");
    let wrong = (0..seeds).filter(|seed| !run(seed + 1, false).is_empty()).count() as u64;
    assert!(wrong * 20 <= seeds, "{wrong} of {seeds}");
}

#[test]
fn times_that_grow_continuously_are_a_drift() {
    let time = |second: u32, draws: &mut Draws| (0.010 + f64::from(second) * 0.000_5) * noise(0.3, draws);
    let found = findings(&constant(90, 30, &[Request { name: "Add", time: &time, outcome: &passes }], 5));
    assert!(found[0].rule == "change" && found[0].claim.contains("\"Add\" grew steadily from 1"), "{}", shown(&found));
    // The medians of the first and last quarter are those of their centres: 16 and 48.5 ms.
    assert!(found[0].claim.contains(" between 0:12 and 1:18 "), "{}", found[0].claim);
}

#[test]
fn periodic_pauses_are_reported_with_their_period_and_coinciding_signals() {
    let stalled = |seed: u64, stalls: &dyn Fn(u32) -> bool| {
        let time = |second: u32, draws: &mut Draws| {
            0.003 * noise(0.3, draws) + if stalls(second) && draws.uniform() < 0.4 { draws.uniform() * 0.4 } else { 0.0 }
        };
        let requests = [Request { name: "A", time: &time, outcome: &passes }, Request { name: "B", time: &time, outcome: &passes }];
        let mut run = constant(70, 30, &requests, seed);
        let at = |second: u64| stalls(second as u32);
        gauge("runtime", "gc").each_second(&mut run, |second| if at(second) { 0.4 } else { 0.01 * (second % 3) as f64 });
        findings(&run)
    };
    for seed in 0..10 {
        let found = stalled(seed, &|second| second % 10 == 7);
        let first = &found[0];
        assert!(first.rule == "periodic-stall" && first.claim.starts_with("Every 10.0 s requests take up to"), "{}", shown(&found));
        assert!(
            first.evidence.iter().any(|evidence| evidence.text.starts_with("runtime/gc changes at the same time")),
            "{}",
            shown(&found)
        );
        // As many pauses, without a period.
        let uneven = [3, 9, 12, 31, 38, 57, 61];
        let found = stalled(seed, &|second| uneven.contains(&second));
        assert!(!rules(&found).contains(&"periodic-stall"), "{}", shown(&found));
    }
}

/// From an instant on, most requests return at once. Some still take as long as all did before.
#[test]
fn requests_that_take_as_long_as_before_are_no_pauses_among_faster_ones() {
    let run = |faster_from: u32, slow: f64| {
        let time = |second: u32, draws: &mut Draws| {
            let takes = if second < faster_from {
                0.4
            } else if second % 10 == 7 && draws.uniform() < 0.4 {
                slow
            } else {
                0.003
            };
            takes * noise(0.2, draws)
        };
        constant(90, 30, &[Request { name: "A", time: &time, outcome: &passes }], 3)
    };
    for faster_from in [20, 40] {
        let ordinary = findings(&run(faster_from, 0.4));
        assert!(!rules(&ordinary).contains(&"periodic-stall") && !rules(&ordinary).contains(&"stall"), "{}", shown(&ordinary));
        let pauses = findings(&run(faster_from, 4.0));
        assert!(rules(&pauses).contains(&"periodic-stall"), "{}", shown(&pauses));
    }
}

#[test]
fn a_load_that_rises_explains_times_that_rise_with_it() {
    // The load doubles halfway, and requests take longer because of it.
    let mut draws = Draws::new(4);
    let slices = (0..80u32).map(|second| {
        let (rate, time) = if second < 40 { (20, 0.010) } else { (40, 0.020) };
        let mut slice = Slice::new(second).arrivals(rate);
        for _ in 0..rate {
            slice.record(SeriesKind::Request, "Pay", 0, (time * noise(0.2, &mut draws) * 1e9) as u64, Outcome::Passed);
        }
        slice.done()
    });
    let stage = |rate: f64| OpenStage::Rate { from: rate, to: rate, duration_ns: 40 * SECOND, timing: Timing::Even };
    let run = synthetic::run_of(plan(LoadProfile::Open { stages: vec![stage(20.0), stage(40.0)] }), slices.collect());
    assert!(!rules(&findings(&run)).contains(&"change"), "{}", shown(&findings(&run)));
}

#[test]
fn a_slow_start_is_a_warm_up_and_no_fault() {
    let time = |second: u32, draws: &mut Draws| 0.012 * noise(0.3, draws) + if second < 8 { 0.03 } else { 0.0 };
    let found = conclude(&constant(60, 30, &[Request { name: "Pay", time: &time, outcome: &passes }], 3)).verdict.findings;
    assert!(found.findings.is_empty(), "{}", shown(&found.findings));
    assert!(found.remark.text.contains("\"Pay\" was slower until 0:08 (4"), "{}", found.remark.text);
}

/// Failures from a time on, throughout the run, above a load, and the names of the failing requests.
#[test]
fn failures_rank_first_with_their_request_kind_start_and_count() {
    let healthy = |_: u32, draws: &mut Draws| 0.003 * noise(0.3, draws);
    let share = |from: u32, part: f64| {
        move |second: u32, draws: &mut Draws| if second >= from && draws.uniform() < part { Outcome::Reset } else { Outcome::Passed }
    };
    for (from, part, says) in [
        (20, 0.1, "% of \"Pay\" failed from 0:2"),
        (20, 1.0, "100 % of \"Pay\" failed from 0:20 on (connection reset)"),
        (0, 0.19, "% of \"Pay\" failed throughout the run (connection reset)"),
    ] {
        let outcome = share(from, part);
        let requests =
            [Request { name: "Pay", time: &healthy, outcome: &outcome }, Request { name: "List", time: &healthy, outcome: &passes }];
        for seed in 0..5 {
            let mut run = constant(40, 30, &requests, seed);
            // Regardless of the generator.
            run.slices.iter_mut().for_each(|slice| slice.generator[0].busy_ns = SECOND / 100 * 99);
            let found = findings(&run);
            assert!(found[0].rule == "failures" && found[0].claim.contains(says), "{says}: {}", shown(&found));
            assert!(found[0].evidence.iter().any(|evidence| evidence.text == "none of \"List\" failed"), "{}", shown(&found));
        }
    }
}

#[test]
fn failures_that_begin_with_a_change_are_one_finding() {
    let time = |second: u32, draws: &mut Draws| if second >= 20 { 0.000_2 } else { 0.02 * noise(0.3, draws) };
    let outcome = |second: u32, _: &mut Draws| if second >= 20 { Outcome::Refused } else { Outcome::Passed };
    let found = findings(&constant(60, 30, &[Request { name: "Pay", time: &time, outcome: &outcome }], 2));
    assert_eq!(rules(&found), ["failures"], "{}", shown(&found));
    assert!(found[0].evidence.iter().any(|evidence| evidence.text.contains("the system rejects them")), "{}", shown(&found));
}

#[test]
fn failures_that_occur_only_above_a_load_are_reported_with_that_load() {
    let slices = (0..60u32).map(|second| {
        let rate = 10 + u64::from(second);
        let mut slice = Slice::new(second).arrivals(rate);
        for n in 0..rate {
            let outcome = if rate > 50 && n % 3 == 0 { Outcome::Timeout } else { Outcome::Passed };
            slice.record(SeriesKind::Request, "Pay", 0, if outcome == Outcome::Timeout { 2 * SECOND } else { 3 * MS }, outcome);
        }
        slice.done()
    });
    let stage = OpenStage::Rate { from: 10.0, to: 70.0, duration_ns: 60 * SECOND, timing: Timing::Even };
    let found = findings(&synthetic::run_of(plan(LoadProfile::Open { stages: vec![stage] }), slices.collect()));
    let first = found.iter().find(|finding| finding.rule == "failures").unwrap_or_else(|| panic!("{}", shown(&found)));
    assert!(first.claim.contains(" failed above 5") && first.claim.contains("timed out"), "{}", first.claim);
    assert!(first.evidence.iter().any(|evidence| evidence.text.contains("reached the time limit")), "{}", shown(&found));
}

/// Every iteration throws before its first request, except one: the test script itself fails, which is reported.
#[test]
fn script_errors_are_reported() {
    let slices = (0..40u32).map(|second| {
        let mut slice = Slice::new(second).arrivals(10).requests("Pay", 10, 3 * MS);
        (0..10).for_each(|_| slice.record(SeriesKind::Iteration, "Buy", 0, 4 * MS, Outcome::Script));
        slice = (0..10).fold(slice, |slice, _| slice.script_error());
        let mut snapshot = slice.done();
        let (key, message) = (synthetic::key(SeriesKind::Iteration, "Buy"), "TypeError: not a function");
        snapshot.errors.push(ErrorGroup { count: 10, ..ErrorGroup::new(key, Outcome::Script, message, snapshot.start) });
        snapshot
    });
    let found = findings(&synthetic::run_of(plan(open(10.0, 40)), slices.collect()));
    let claim = "100 % of the iterations of \"Buy\" failed throughout the run (TypeError: not a function)";
    assert_eq!(found[0].claim, claim, "{}", shown(&found));
    assert_eq!(found[0].next, "The test's own script threw an exception: fix it first.");
}

/// `user.fail` is the script's verdict on the target. Records of older versions have such iterations as errors of the script, but do not count them as such.
#[test]
fn iterations_that_the_script_declares_failed_are_no_script_errors() {
    for (outcome, exceptions) in [(Outcome::Step, 0), (Outcome::Script, 0), (Outcome::Script, 1)] {
        let slices = (0..40u32).map(|second| {
            let mut slice = Slice::new(second).arrivals(10).requests("Log in", 10, 3 * MS);
            (0..10).for_each(|n| slice.record(SeriesKind::Iteration, "Buy", 0, 4 * MS, if n < 8 { outcome } else { Outcome::Passed }));
            slice = (0..exceptions).fold(slice, |slice, _| slice.script_error());
            let mut snapshot = slice.done();
            let (key, message) = (synthetic::key(SeriesKind::Iteration, "Buy"), "a NO [LIMIT] Maximum number of connections");
            snapshot.errors.push(ErrorGroup { count: 8, ..ErrorGroup::new(key, outcome, message, snapshot.start) });
            snapshot
        });
        let run = synthetic::run_of(plan(open(10.0, 40)), slices.collect());
        let found = findings(&run);
        assert!(found[0].claim.contains("(a NO [LIMIT] Maximum number of connections)"), "{}", shown(&found));
        assert!(found[0].next.contains("declared these iterations failed (`user.fail`)"), "{}", found[0].next);
        assert_eq!(found[0].next.contains("40 are exceptions of the script itself"), exceptions > 0, "{}", found[0].next);
        // The runtime of k6 scripts does not distinguish them.
        let of_k6 = loadstone_plan::TestPlan { language: loadstone_plan::TestLanguage::K6, ..run.plan.clone() };
        let found = findings(&synthetic::run_of(of_k6, run.slices.clone()));
        assert!(found[0].next.starts_with("The script threw an exception, or called `fail`."), "{}", found[0].next);
    }
}

/// Healthy services of many kinds. Any finding is a false accusation.
fn healthy(seed: u64) -> Run {
    let mut draws = Draws::new(seed ^ 0x5eed);
    let rate = [5, 10, 30, 60][(draws.uniform() * 4.0) as usize];
    let seconds = 40 + (draws.uniform() * 40.0) as u32;
    let (median, sigma) = (0.001 * 100.0_f64.powf(draws.uniform()), 0.1 + 0.9 * draws.uniform());
    // Some have memory: a level that drifts slowly by itself.
    let memory = [0.0, 0.0, 0.5, 0.8][(draws.uniform() * 4.0) as usize];
    let mut level = 0.0;
    let levels: Vec<f64> = (0..seconds)
        .map(|_| {
            level = memory * level + (1.0 - memory) * noise(0.25, &mut draws).ln();
            level
        })
        .collect();
    let outlier = (draws.uniform() * f64::from(seconds)) as u32;
    let has_outlier = draws.uniform() < 0.3;
    let time = |second: u32, draws: &mut Draws| {
        let paused = has_outlier && second == outlier && draws.uniform() < 0.3;
        median * noise(sigma, draws) * levels[second as usize].exp() + if paused { 0.3 } else { 0.0 }
    };
    let other = |_: u32, draws: &mut Draws| 0.002 * noise(0.5, draws);
    let requests = [Request { name: "A", time: &time, outcome: &passes }, Request { name: "B", time: &other, outcome: &passes }];
    constant(seconds, rate, &requests, seed)
}

#[test]
fn healthy_services_have_findings_in_at_most_one_of_a_hundred_runs() {
    let runs = crate::seeds(100, 500);
    let accused: Vec<String> = (0..runs)
        .filter_map(|seed| {
            let found = findings(&healthy(seed));
            (!found.is_empty()).then(|| format!("{seed}: {}", found[0].claim))
        })
        .collect();
    assert!(accused.len() as u64 * 100 <= runs, "{} of {runs}:\n{}", accused.len(), accused.join("\n"));
}

/// The length of a queue drifts by itself, more so at a higher utilisation.
#[test]
fn queues_near_their_limit_may_drift_without_a_finding() {
    let runs = crate::seeds(12, 60);
    let steps = vec![step("GET /", 0, Service::Exponential(0.02)), step("POST /", 0, Service::Exponential(0.02))];
    let target = Target { slots: vec![2], steps };
    let mut accused = Vec::new();
    for (utilisation, timing) in [(0.5, Timing::Poisson), (0.8, Timing::Poisson), (0.9, Timing::Even)] {
        let rate = utilisation * 2.0 / 0.04;
        for seed in 0..runs {
            let run = simulate(&target, ramp(rate, rate, 90, timing), seed);
            let found = findings(&run).into_iter().filter(|finding| finding.rule == "change" || finding.rule == "periodic-stall");
            accused.extend(found.map(|finding| format!("{utilisation} {timing:?} {seed}: {} {:?}", finding.claim, finding.confidence)));
        }
    }
    assert!(accused.len() as u64 <= 3, "{} of {}:\n{}", accused.len(), 3 * runs, accused.join("\n"));
}

#[test]
fn doubled_medians_are_found_within_two_seconds_of_the_change() {
    const RUNS: u64 = 100;
    let missed: Vec<String> = (0..RUNS)
        .filter_map(|seed| {
            let mut draws = Draws::new(seed + 7);
            let at = 15 + (draws.uniform() * 30.0) as u32;
            let sigma = 0.2 + 0.5 * draws.uniform();
            let rate = [10, 30, 60][(draws.uniform() * 3.0) as usize];
            let time = |second: u32, draws: &mut Draws| 0.010 * noise(sigma, draws) * if second >= at { 2.0 } else { 1.0 };
            let summary = conclude(&constant(60, rate, &[Request { name: "A", time: &time, outcome: &passes }], seed));
            let hit = summary.changes.iter().any(|change| (change.at_seconds - f64::from(at)).abs() <= 2.0);
            let reported = summary.verdict.findings.findings.iter().any(|finding| finding.rule == "change");
            (!hit || !reported).then(|| format!("{seed}, at {at}, {rate}/s, σ {sigma:.2}: {:?}", instants(&summary)))
        })
        .collect();
    assert!(missed.len() as u64 * 20 <= RUNS, "{} of {RUNS}:\n{}", missed.len(), missed.join("\n"));
}

/// Three pauses are few, so the finding has low confidence.
#[test]
fn three_pauses_are_reported_with_low_confidence() {
    let run = |at: &'static [u32]| {
        let time = move |second: u32, draws: &mut Draws| {
            0.003 * noise(0.3, draws) + if at.contains(&second) && draws.uniform() < 0.4 { 0.2 + draws.uniform() * 0.2 } else { 0.0 }
        };
        constant(40, 30, &[Request { name: "A", time: &time, outcome: &passes }], 11)
    };
    let stalled = |at| findings(&run(at));
    let even = stalled(&[8, 18, 28]);
    assert!(even[0].rule == "periodic-stall" && even[0].confidence == Confidence::Low, "{}", shown(&even));
    assert!(even[0].alternatives[0].text.starts_with("Chance. Not ruled out: random pauses"), "{}", shown(&even));
    let uneven = stalled(&[8, 14, 33]);
    assert!(
        uneven[0].rule == "stall" && uneven[0].claim.starts_with("3 times, unevenly spaced, requests take up to"),
        "{}",
        shown(&uneven)
    );
    assert!(
        uneven[0].confidence == Confidence::Low && uneven[0].alternatives[0].text.starts_with("Chance. Ruled out"),
        "{}",
        shown(&uneven)
    );
    // Intervals of seven and eight seconds are not uneven, though random intervals would stay within them in more than a tenth of runs.
    let few = stalled(&[7, 14, 22]);
    assert!(few[0].rule == "stall" && few[0].claim.starts_with("3 times, about 7.50 s apart, requests take up to"), "{}", shown(&few));
    assert!(few[0].evidence[0].text.contains("3 pauses, at 0:07, 0:14, 0:22: the slowest"), "{}", shown(&few));
    // A process that waits for a core used by others stalls as well.
    let mut crowded = run(&[8, 14, 33]);
    gauge("host", "cores").role(Role::MachineCores).each_second(&mut crowded, |_| 2.0);
    gauge("host", "idle").role(Role::MachineIdle).each_second(&mut crowded, |_| 0.01);
    counter("shop", "cpu").role(Role::ProcessCpu).each_second(&mut crowded, |_| 0.3);
    let crowded = findings(&crowded);
    assert!(!rules(&crowded).contains(&"stall"), "{}", shown(&crowded));
}

/// A single slow request now and then is no pause.
#[test]
fn single_slow_requests_are_no_pauses() {
    for seed in 0..40 {
        let time = |_: u32, draws: &mut Draws| 0.003 * noise(0.3, draws) + if draws.uniform() < 0.004 { 0.3 } else { 0.0 };
        let found = findings(&constant(60, 30, &[Request { name: "A", time: &time, outcome: &passes }], seed));
        assert!(!rules(&found).contains(&"stall") && !rules(&found).contains(&"periodic-stall"), "{seed}: {}", shown(&found));
    }
}

/// Normal variation of a machine is not reported next to a change, and signals with a role are listed first.
#[test]
fn a_tiny_change_of_cpu_use_is_not_reported_as_a_move() {
    let time = |second: u32, draws: &mut Draws| 0.004 * noise(0.3, draws) + if second >= 20 { 0.4 } else { 0.0 };
    let mut run = constant(60, 30, &[Request { name: "Pay", time: &time, outcome: &passes }], 1);
    let late = |second: u64| f64::from(u8::from(second >= 20));
    counter("host", "cpu").label("mode", "nice").role(Role::MachineCpu).each_second(&mut run, |second| 0.001 + 0.02 * late(second));
    run.signals[0].signal.unit = loadstone_metrics::unit::SECONDS.to_owned();
    gauge("app", "unknown").each_second(&mut run, |second| 1.0 + 90.0 * late(second));
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |second| 1.0 + 9.0 * late(second));
    let found = findings(&run);
    let moved: Vec<&str> =
        found[0].evidence.iter().map(|evidence| evidence.text.as_str()).filter(|text| text.ends_with("at the same time")).collect();
    assert!(moved.len() == 2 && moved[0].starts_with("postgres/active from") && moved[1].starts_with("app/unknown"), "{moved:?}");
}

/// Requests with the same name in two scenarios are distinguished.
#[test]
fn rows_of_changes_name_the_scenario_and_the_group() {
    let slices = (0..60u32).map(|second| {
        let mut slice = Slice::new(second).arrivals(20);
        for n in 0..20 {
            slice = slice.request_in("Basket", "Pay", if second >= 30 { 200 * MS } else { 5 * MS } + n * MS / 10);
        }
        slice.done()
    });
    let summary = conclude(&synthetic::run_of(plan(open(20.0, 60)), slices.collect()));
    let row = summary.changes.iter().find(|change| change.name == "Pay").unwrap_or_else(|| panic!("{:?}", summary.changes));
    assert_eq!((row.scenario.as_str(), row.group.as_str()), ("Buy", "Basket"));
}

/// Too few pauses for a finding, but the maximum in the same report shows them.
#[test]
fn with_slow_seconds_the_report_does_not_claim_that_no_limit_was_reached() {
    let remark = |slow: [u32; 2]| {
        let time = |second: u32, draws: &mut Draws| if slow.contains(&second) && draws.uniform() < 0.3 { 0.4 } else { 0.004 };
        let run = constant(40, 10, &[Request { name: "Pay", time: &time, outcome: &passes }], 7);
        let summary = conclude(&run);
        assert!(summary.verdict.findings.findings.is_empty(), "{}", shown(&summary.verdict.findings.findings));
        summary.verdict.findings.remark.text
    };
    let said = remark([13, 31]);
    assert!(said.contains("in 2 seconds, the slowest request took up to 400 ms") && !said.contains("no limit"), "{said}");
    assert!(remark([99, 99]).contains("no limit was reached"));
}

#[test]
fn a_scenario_with_a_single_request_is_not_reported_separately() {
    let slices = (0..60).map(|second| {
        let mut slice = Slice::new(second).arrivals(20);
        for n in 0..20 {
            let time = if second >= 30 { 200 * MS } else { 5 * MS } + n * MS / 10;
            slice.record(SeriesKind::Request, "Pay", 0, time, Outcome::Passed);
            // The script itself takes time, too, which rounds to a different number.
            slice.record(SeriesKind::Iteration, "Pay", 0, time + MS / 3, Outcome::Passed);
        }
        slice.done()
    });
    let summary = conclude(&synthetic::run_of(plan(open(20.0, 60)), slices.collect()));
    let [first, ..] = &summary.verdict.findings.findings[..] else { panic!("{:?}", summary.verdict.findings) };
    assert!(first.claim.starts_with("\"Pay\" went from"), "{}", first.claim);
    assert!(first.evidence.iter().all(|evidence| !evidence.text.contains("\"Pay\" went from")), "{:?}", first.evidence);
}

/// Another program takes the service's core from 0:20 on: 1.2 threads wait for it, and so do as many requests more.
#[test]
fn a_change_names_the_cores_that_account_for_it() {
    let buy = |second: u32, draws: &mut Draws| 0.02 * noise(0.2, draws) + if second >= 20 { 0.04 } else { 0.0 };
    let throttled = |used: f64, waiting: f64, throttled: f64| {
        let mut run = constant(60, 30, &[Request { name: "Buy", time: &buy, outcome: &passes }], 3);
        let later = |second: u64, more: f64| if second >= 20 { more } else { 0.0 };
        counter("shop", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| 0.3 + later(second, used));
        counter("shop", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |second| 0.01 + later(second, waiting));
        counter("shop", "throttled").role(Role::GroupThrottled).each_second(&mut run, |second| later(second, throttled));
        findings(&run)[0].claim.clone()
    };
    let observed = |used: f64, waiting: f64| throttled(used, waiting, 0.0);
    let (waits, computes, neither) = (observed(0.05, 1.15), observed(1.2, 0.0), observed(0.0, 0.0));
    assert!(waits.ends_with(": the threads of \"shop\" wait for a core for that long, since other work uses it"), "{waits}");
    let limited = throttled(0.05, 1.15, 0.2);
    assert!(limited.ends_with(": the CPU limit of its control group holds the threads of \"shop\" back for that long"), "{limited}");
    assert!(computes.contains(": \"shop\" computes for that long"), "{computes}");
    assert!(neither.starts_with("\"Buy\" went from") && !neither.contains("shop"), "{neither}");
}

/// Times of few requests show the change at 0:26; the process began to compute at 0:15.
#[test]
fn a_change_has_the_instant_at_which_a_process_began_to_compute() {
    let update = |second: u32, draws: &mut Draws| 0.02 * noise(0.2, draws) + if second >= 26 { 0.4 } else { 0.0 };
    let observed = |from: u64| {
        let mut run = constant(50, 6, &[Request { name: "Update", time: &update, outcome: &passes }], 4);
        counter("jvm", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| if second < from { 0.2 } else { 1.2 });
        findings(&run)[0].claim.clone()
    };
    let (before, at_once, unrelated) = (observed(15), observed(26), observed(2));
    assert!(before.contains("\"jvm\" used 1.2") && before.contains(" cores from 0:15 on"), "{before}");
    assert!(!at_once.contains(" cores from ") && !unrelated.contains(" cores from "), "{at_once}; {unrelated}");
    // A use that rises and falls all along, or hardly rises, began nothing.
    let used = |cores: fn(u64) -> f64| {
        let mut run = constant(50, 6, &[Request { name: "Update", time: &update, outcome: &passes }], 4);
        counter("jvm", "cpu").role(Role::ProcessCpu).each_second(&mut run, cores);
        findings(&run)[0].claim.clone()
    };
    let (waves, slight) = (used(|second| 0.2 + (second % 4) as f64 * 0.5), used(|second| if second < 15 { 0.05 } else { 0.09 }));
    assert!(!waves.contains(" cores from ") && !slight.contains(" cores from "), "{waves}; {slight}");
}
