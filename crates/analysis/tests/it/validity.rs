//! Every check on runs that violate it by a known amount, and on runs that do not.

use loadstone_analysis::{Grade, ValidityCheck, conclude};
use loadstone_metrics::{AgentSlice, ErrorCause, ErrorGroup, LeafChange, NoticeKind, Outcome, Role, SeriesKind, SignalNotice};
use loadstone_plan::{Aggregate, Comparison, Load, LoadProfile, Metric, ScenarioId, ScenarioRun, TestPlan};
use loadstone_run_directory::{AgentInfo, Run};

use crate::synthetic::{self, MS, SECOND, Slice, threshold};
use Grade::{Invalid, Suspect, Valid};

/// A healthy second: 100 arrivals, each with one request of 9 to 11 ms that started 50 µs after its schedule.
fn healthy(second: u32) -> Slice {
    (0..100).fold(Slice::new(second).arrivals(100), |slice, n| slice.request("A", 50_000, 9 * MS + n * 20_000, Outcome::Passed))
}

fn run_with(plan: TestPlan, second: impl Fn(u32) -> Slice) -> Run {
    synthetic::run_of(plan, (0..60).map(|number| second(number).done()).collect())
}

fn check_of(run: &Run, id: &str) -> ValidityCheck {
    let validity = conclude(run).verdict.validity;
    validity.checks.into_iter().find(|check| check.id == id).unwrap_or_else(|| panic!("no check {id}"))
}

fn assert_grade(run: &Run, id: &str, grade: Option<Grade>) {
    let check = check_of(run, id);
    assert_eq!(check.grade, grade, "{id}: {}", check.evidence);
    assert!(!check.evidence.is_empty() && !check.limits.is_empty());
    assert_eq!(check.advice.is_empty(), grade.is_none_or(|grade| grade == Valid), "{id}: advice when and only when something is wrong");
}

/// For a check that explains and has no grade.
fn assert_explains(run: &Run, id: &str, is_notable: bool) {
    let check = check_of(run, id);
    assert_eq!((check.grade, !check.advice.is_empty()), (None, is_notable), "{id}: {}", check.evidence);
    assert!(!check.evidence.is_empty() && !check.limits.is_empty());
}

/// A generator with too much requested load starts the rest after the end of the load, which is a different load.
#[test]
fn arrivals_that_start_after_the_load_do_not_count() {
    let slices = (0..20u32).map(|second| {
        let is_load = second < 10;
        let slice = Slice::new(second).requests("A", 80, 2 * MS).leaf(|leaf| {
            (leaf.arrivals_due, leaf.started, leaf.ended) = if is_load { (100, 80, 80) } else { (0, 20, 20) };
            leaf.held_back = if is_load { 80 } else { 20 };
            // It begins and ends in the middle of a second.
            match second {
                0 => leaf.changes = vec![LeafChange::Began { at: SECOND / 2, scenario: "Buy".into() }],
                9 => leaf.changes = vec![LeafChange::LoadEnded { at: 8 * SECOND + SECOND / 2 }],
                _ => {}
            }
        });
        slice.done()
    });
    let validity = conclude(&synthetic::run_of(synthetic::plan(synthetic::open(100.0, 10)), slices.collect())).verdict.validity;
    let check = validity.checks.iter().find(|check| check.id == "offered-rate").unwrap();
    assert_eq!(check.grade, Some(Invalid), "{}", check.evidence);
    assert!(check.evidence.contains("reached its limit at 90/s of 125/s"), "{}", check.evidence);
}

/// If the load ends at the beginning of a second, most of that second is after the load.
#[test]
fn arrivals_in_the_last_second_count_by_its_share_of_the_load() {
    let slices = (0..13u32).map(|second| {
        let slice = Slice::new(second).requests("A", 80, 2 * MS).leaf(|leaf| {
            (leaf.arrivals_due, leaf.started, leaf.ended) = if second < 10 { (100, 80, 80) } else { (0, 80, 80) };
            leaf.held_back = 80;
            match second {
                0 => leaf.changes = vec![LeafChange::Began { at: 0, scenario: "Buy".into() }],
                10 => leaf.changes = vec![LeafChange::LoadEnded { at: 10 * SECOND + MS }],
                _ => {}
            }
        });
        slice.done()
    });
    let check = check_of(&synthetic::run_of(synthetic::plan(synthetic::open(100.0, 10)), slices.collect()), "offered-rate");
    assert_eq!(check.grade, Some(Invalid), "{}", check.evidence);
    assert!(check.evidence.contains("reached its limit at 80.0/s of 100/s"), "{}", check.evidence);
}

#[test]
fn a_healthy_run_is_valid_in_every_check() {
    let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), healthy);
    let validity = conclude(&run).verdict.validity;
    for check in &validity.checks {
        assert!(check.grade.is_none_or(|grade| grade == Valid), "{}: {}", check.id, check.evidence);
    }
    assert_eq!((validity.grade, validity.checks.len()), (Valid, 22));
}

#[test]
fn lost_agents_and_drifting_clocks_are_reported() {
    let run = |agents: Vec<AgentSlice>| {
        let mut run = run_with(synthetic::plan(synthetic::open(100.0, 60)), healthy);
        run.slices[30].agents = agents;
        run
    };
    let agent = |agent, skew_ns, lost| AgentSlice { agent, skew_ns, bound_ns: 100_000, lost, ..AgentSlice::default() };
    let ms = MS as i64;
    for (agents, grade) in [
        (vec![agent(0, ms, false), agent(1, -49 * ms, false)], Valid),
        (vec![agent(0, ms, false), agent(1, -51 * ms, false)], Suspect),
        (vec![agent(0, 501 * ms, false)], Invalid),
        (vec![agent(0, 0, false), agent(1, 0, true)], Suspect),
    ] {
        assert_grade(&run(agents), "agents", Some(grade));
    }
    assert!(check_of(&run(vec![agent(0, 0, false), agent(1, 0, true)]), "agents").evidence.starts_with("agent 2 was lost, of 2"));
}

/// In a fleet, a starved or lost agent is named, with its share of the load.
#[test]
fn agents_are_reported_by_their_names() {
    let mut run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
        healthy(second).generator(|generator| (generator.worker, generator.busy_ns) = (2, SECOND / 100 * 99))
    });
    let agent = |name: &str, first_worker, workers| AgentInfo { name: name.to_owned(), first_worker, workers, ..AgentInfo::default() };
    run.info.agents = vec![agent("east", 0, 2), agent("west", 2, 6)];
    run.slices[30].agents = vec![AgentSlice::default(), AgentSlice { agent: 1, lost: true, ..AgentSlice::default() }];
    let busy = check_of(&run, "worker-busy").evidence;
    assert!(busy.starts_with("worker 2, of agent west (75.0 % of the load's workers), was busy for 99"), "{busy}");
    let lost = check_of(&run, "agents").evidence;
    assert!(lost.starts_with("agent west was lost, of 2"), "{lost}");
}

/// The load of a lost agent is missing, and the remaining agents are not blamed for it.
#[test]
fn load_that_is_missing_with_an_agent_is_no_limit_of_the_generator() {
    let half_from_30 = |second| {
        let arrivals = if second < 30 { 100 } else { 50 };
        (0..arrivals)
            .fold(Slice::new(second).arrivals(arrivals), |slice, n| slice.request("A", 50_000, 9 * MS + n * 20_000, Outcome::Passed))
    };
    let mut run = run_with(synthetic::plan(synthetic::open(100.0, 60)), half_from_30);
    assert_grade(&run, "offered-rate", Some(Invalid));
    run.slices[30].agents = vec![AgentSlice { agent: 1, lost: true, ..AgentSlice::default() }];
    assert_grade(&run, "offered-rate", Some(Valid));
    assert_grade(&run, "agents", Some(Suspect));
    let evidence = check_of(&run, "agents").evidence;
    assert!(evidence.contains("1,49") && evidence.contains("arrivals did not start"), "{evidence}");
}

#[test]
fn offered_rate() {
    // `missing` of 6000 arrivals never start.
    for (missing, grade) in [(0u64, Valid), (1, Valid), (60, Valid), (62, Suspect), (300, Suspect), (302, Invalid)] {
        let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
            let before = |second: u32| missing * u64::from(second) / 60;
            healthy(second).leaf(|leaf| leaf.started -= before(second + 1) - before(second))
        });
        assert_grade(&run, "offered-rate", Some(grade));
    }
    // Fewer arrivals are due than the plan requests.
    assert_grade(&run_with(synthetic::plan(synthetic::open(120.0, 60)), healthy), "offered-rate", Some(Invalid));
    assert_grade(&run_with(synthetic::plan(synthetic::closed(5, 60)), healthy), "offered-rate", None);
}

/// 100/s for a minute, paused from 0:10.5 to 0:20.5.
#[test]
fn a_paused_load_is_compared_with_its_reduced_request() {
    let run = |reported: bool, lost: u64| {
        run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
            let due = match second {
                10 | 20 => 50,
                11..20 => 0,
                _ => 100,
            };
            let slice = (0..due).fold(Slice::new(second).arrivals(due), |slice, _| slice.request("A", 0, 10 * MS, Outcome::Passed));
            let scaled = |factor| LeafChange::Scaled { at: u64::from(second) * SECOND + SECOND / 2, factor };
            slice.leaf(|leaf| match second {
                0 => leaf.changes.push(LeafChange::Began { at: 2 * MS, scenario: "Buy".into() }),
                10 if reported => leaf.changes.push(scaled(0.0)),
                20 if reported => leaf.changes.push(scaled(1.0)),
                30 => {
                    leaf.arrivals_due -= lost.min(100);
                    leaf.started -= lost.min(100);
                }
                _ => {}
            })
        })
    };
    assert_grade(&run(true, 0), "offered-rate", Some(Valid));
    assert_grade(&run(true, 60), "offered-rate", Some(Suspect));
    assert_grade(&run(false, 0), "offered-rate", Some(Invalid));
    let findings = conclude(&run(true, 0)).verdict.findings.findings;
    assert!(findings.iter().all(|finding| finding.rule != "generator"), "{findings:?}");
}

#[test]
fn a_run_without_a_completed_request_is_invalid_unless_it_sends_none_by_design() {
    let run = |second: fn(Slice) -> Slice| {
        run_with(synthetic::plan(synthetic::open(1.0, 60)), move |number| second(Slice::new(number).arrivals(1)))
    };
    fn iteration(mut slice: Slice) -> Slice {
        slice.record(SeriesKind::Iteration, "Buy", 0, MS, Outcome::Passed);
        slice
    }
    let check = check_of(&run(iteration), "requests");
    assert_eq!((check.grade, check.evidence.as_str()), (Some(Invalid), "60 iterations ended, and none sent a request"));
    let thrown = |slice: Slice| iteration(slice).script_error();
    let check = check_of(&run(thrown), "requests");
    assert_eq!((check.grade, check.evidence.as_str()), (Some(Invalid), "no request was sent; 60 script errors occurred"));
    let cut_off = |slice: Slice| slice.request("A", 0, SECOND, Outcome::Interrupted);
    assert!(check_of(&run(cut_off), "requests").evidence.starts_with("60 requests started, and none ended"));
    assert_grade(&run(|slice| slice), "requests", Some(Invalid));
    assert_grade(&run(|slice| iteration(slice).check("held", true)), "requests", Some(Valid));
    assert_grade(&run(|slice| slice.request("A", 0, MS, Outcome::Status)), "requests", Some(Valid));
    let group = |mut slice: Slice| {
        slice.record(SeriesKind::Group, "Pay", 0, MS, Outcome::Passed);
        slice
    };
    assert_grade(&run(group), "requests", Some(Valid));
}

#[test]
fn a_run_whose_load_never_began_measured_nothing() {
    let burst = Load::Run(ScenarioRun::new(ScenarioId(0), LoadProfile::burst(1)));
    let load = Load::Run(ScenarioRun::new(ScenarioId(1), synthetic::open(10.0, 8)));
    let plan = TestPlan::new("shop", ["Set up", "Buy"], Load::Sequence(vec![burst, load]));
    let set_up = Slice::new(0).request("Log in", 0, MS, Outcome::Status).arrivals(1).done();
    let mut begun = Slice::new(1).requests("A", 10, MS).arrivals(10).done();
    begun.leaves[0].leaf = 1;
    let of =
        |slices: &[&loadstone_metrics::Snapshot]| synthetic::run_of(plan.clone(), slices.iter().map(|slice| (*slice).clone()).collect());
    assert!(check_of(&of(&[&set_up]), "requests").evidence.starts_with("only the set-up ran"));
    assert_grade(&of(&[&set_up]), "requests", Some(Invalid));
    assert_grade(&of(&[&set_up, &begun]), "requests", Some(Valid));
}

#[test]
fn used_up_data_ends_a_load_and_is_reported_as_such() {
    let run = |exhausted| {
        run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| match second {
            0..12 => healthy(second),
            12 => healthy(second).leaf(|leaf| leaf.exhausted = exhausted),
            _ => Slice::new(second),
        })
    };
    let check = check_of(&run(true), "offered-rate");
    assert_eq!(check.grade, Some(Valid), "{}", check.evidence);
    assert!(
        check.evidence.contains("used up its data by 13.0 s") && check.advice.contains("more rows"),
        "{} {}",
        check.evidence,
        check.advice
    );
    assert_grade(&run(false), "offered-rate", Some(Invalid));
}

#[test]
fn arrivals_that_wait_for_a_user() {
    let plan = |users_max| {
        let mut plan = synthetic::plan(synthetic::open(100.0, 60));
        if let Load::Run(run) = &mut plan.load {
            run.users_max = Some(users_max);
        }
        plan
    };
    let waiting = |second| {
        healthy(second).leaf(|leaf| {
            leaf.waiting = 40;
            leaf.users_active = 20;
        })
    };
    assert_grade(&run_with(plan(20), waiting), "users-max", Some(Suspect));
    // The same few waiting arrivals while enough users are free.
    assert_grade(&run_with(plan(2000), waiting), "users-max", Some(Valid));
}

#[test]
fn closed_users() {
    for (active, grade) in [(100, Valid), (99, Valid), (98, Suspect), (95, Suspect), (94, Invalid)] {
        let run = run_with(synthetic::plan(synthetic::closed(100, 60)), |second| {
            Slice::new(second).requests("A", 100, 10 * MS).leaf(|leaf| {
                leaf.users_asked = 100;
                leaf.users_active = active;
            })
        });
        assert_grade(&run, "closed-users", Some(grade));
    }
}

#[test]
fn schedule_lag() {
    // p99 of the response time is about 11 ms plus the lag; each of its percentiles includes all of the lag.
    for (lag_us, late, grade) in
        [(50, false, Valid), (200, false, Valid), (490, false, Valid), (700, true, Suspect), (3_500, true, Suspect), (5_000, true, Invalid)]
    {
        let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
            let slice =
                (0..100).fold(Slice::new(second).arrivals(100), |slice, _| slice.request("A", lag_us * 1000, 11 * MS, Outcome::Passed));
            slice.generator(|generator| generator.timer_lag.record_n(lag_us * 1000, 100))
        });
        assert_explains(&run, "schedule-lag", late);
        assert_grade(&run, "uncertainty", Some(grade));
    }
}

#[test]
fn lag_of_a_wide_start_window_names_it() {
    let mut plan = synthetic::plan(synthetic::open(100.0, 60));
    plan.options.start_window_ns = 2 * MS;
    let run = run_with(plan, |second| {
        let slice = (0..100).fold(Slice::new(second).arrivals(100), |slice, _| slice.request("A", 1_500_000, 11 * MS, Outcome::Passed));
        slice.generator(|generator| generator.timer_lag.record_n(1_500_000, 100))
    });
    assert_explains(&run, "schedule-lag", true);
    let found = check_of(&run, "schedule-lag");
    assert!(found.evidence.ends_with("within 2.00 ms of the first start together (start window)"), "{}", found.evidence);
    assert!(found.advice.contains("`startWindow`"), "{}", found.advice);
}

#[test]
fn read_lag() {
    // p99 of the response time is 11 ms; a read lag is known to one of the levels of a ladder, each √2 times the previous one.
    for (lag_us, late, grade) in
        [(50, false, Valid), (200, false, Valid), (360, false, Valid), (800, true, Suspect), (1_900, true, Suspect), (4_000, true, Invalid)]
    {
        let run = run_with(synthetic::plan(synthetic::closed(10, 60)), |second| {
            let slice = Slice::new(second).requests("A", 100, 11 * MS);
            slice.generator(|generator| generator.read_lag.record_n(lag_us * 1000, 100))
        });
        assert_explains(&run, "read-lag", late);
        assert_grade(&run, "uncertainty", Some(grade));
    }
    // One late read in a thousand is beyond the compared p99; nineteen timestamped responses are too few for any percentile.
    for (on_time, late, is_notable) in [(999, 1, false), (970, 30, true), (0, 19, false), (0, 0, false)] {
        let run = run_with(synthetic::plan(synthetic::closed(10, 60)), |second| {
            let slice = Slice::new(second).requests("A", 100, 11 * MS);
            slice.generator(|generator| {
                if second == 7 {
                    generator.read_lag.record_n(20_000, on_time);
                    generator.read_lag.record_n(9 * MS, late);
                }
            })
        });
        assert_explains(&run, "read-lag", is_notable);
    }
}

#[test]
fn lag_of_a_fast_target_below_the_limit_is_ignored() {
    let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
        (0..100).fold(Slice::new(second).arrivals(100), |slice, _| slice.request("A", 150_000, 100_000, Outcome::Passed))
    });
    assert_explains(&run, "schedule-lag", false);
    assert_grade(&run, "uncertainty", Some(Valid));
}

#[test]
fn small_runs_compare_the_percentiles_that_they_have() {
    // 30 requests of 10 ms; one of them, and one timer, are 8 ms late: the median does not change.
    let late_once = run_with(synthetic::plan(synthetic::open(0.5, 60)), |second| match second % 2 {
        0 => {
            let lag = if second == 20 { 8 * MS } else { 60_000 };
            let slice = Slice::new(second).arrivals(1).request("A", lag, 10 * MS, Outcome::Passed);
            slice.generator(|generator| generator.timer_lag.record(lag))
        }
        _ => Slice::new(second),
    });
    assert_explains(&late_once, "schedule-lag", false);
    assert_grade(&late_once, "uncertainty", Some(Valid));
    assert!(check_of(&late_once, "schedule-lag").evidence.starts_with("p50 "));
    // Late every time.
    let late = |count: u32| {
        run_with(synthetic::plan(synthetic::open(1.0, 60)), move |second| match second < count {
            true => Slice::new(second).arrivals(1).request("A", 8 * MS, 10 * MS, Outcome::Passed),
            false => Slice::new(second),
        })
    };
    assert_grade(&late(60), "uncertainty", Some(Invalid));
    assert_grade(&late(19), "uncertainty", None);
}

#[test]
fn a_scenario_that_waits_before_its_first_request_is_no_generator_lag() {
    let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
        let mut slice = Slice::new(second).arrivals(100);
        for _ in 0..100 {
            slice.record(SeriesKind::Request, "A", SECOND, 10 * MS, Outcome::Passed);
            slice.record(SeriesKind::Iteration, "Buy", 40_000, SECOND, Outcome::Passed);
        }
        slice
    });
    assert_grade(&run, "uncertainty", Some(Suspect));
    assert!(check_of(&run, "uncertainty").advice.contains("before its first request"));
}

#[test]
fn worker_busy_uses_the_busiest_ten_seconds_and_only_explains() {
    for (percent, seconds, busy) in [(80, 60, false), (100, 5, false), (90, 12, true), (99, 12, true), (99, 60, true)] {
        let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
            healthy(second).generator(|generator| generator.busy_ns = if second < seconds { SECOND / 100 * percent } else { SECOND / 10 })
        });
        assert_explains(&run, "worker-busy", busy);
        assert_grade(&run, "uncertainty", Some(Valid));
    }
}

#[test]
fn a_closed_loop_with_a_busy_worker_measures_the_generator() {
    for (percent, grade) in [(90, Valid), (99, Suspect)] {
        let run = run_with(synthetic::plan(synthetic::closed(10, 60)), |second| {
            Slice::new(second).requests("A", 100, 100 * MS).generator(|generator| generator.busy_ns = SECOND / 100 * percent)
        });
        assert_grade(&run, "uncertainty", Some(grade));
    }
}

#[test]
fn run_queue_steal_and_throttling_explain() {
    for (run_queue, steal, throttled, queued, limited) in [
        (10, 10, 0, false, false),
        (60, 0, 0, true, false),
        // Steal is relative to both cores.
        (0, 120, 0, true, false),
        (0, 0, 2, false, true),
    ] {
        let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
            healthy(second).generator(|generator| {
                generator.run_queue_ns = run_queue * MS;
                generator.steal_ns = steal * MS;
                generator.throttled_ns = throttled * MS;
            })
        });
        assert_explains(&run, "run-queue", queued);
        assert_explains(&run, "throttling", limited);
        assert_grade(&run, "uncertainty", Some(Valid));
    }
}

#[test]
fn what_the_kernel_does_not_count_is_not_examined() {
    let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
        healthy(second).generator(|generator| {
            (generator.lacks_kernel_counters, generator.connections_opened) = (true, 10);
            // Such a slice contains zeros. Should it contain anything else, it means nothing, either.
            (generator.run_queue_ns, generator.steal_ns, generator.throttled_ns) = (SECOND / 2, SECOND / 2, SECOND / 2);
            (generator.syn_retransmits, generator.raw_ns) = (100, SECOND / 2);
        })
    });
    for id in ["run-queue", "throttling", "connecting", "clock-drift", "read-lag"] {
        let check = check_of(&run, id);
        assert_eq!(check.grade, None, "{id}");
        assert!(check.evidence.starts_with("not examined: ") && check.evidence.contains("macOS"), "{id}: {}", check.evidence);
        assert!(check.advice.is_empty(), "{id}");
    }
}

#[test]
fn stalls_count_by_the_share_of_time_that_they_delay() {
    // p99 is 11 ms, and no response was timestamped: 0.1 % of the responses arrive in each millisecond of a stall per second. Two in a
    // hundred take 11 ms.
    for (stall_ms, every, long, grade) in [
        (1, 1, false, Valid),
        (3, 1, false, Valid),
        (5, 1, true, Valid),
        (13, 1, true, Valid),
        (400, 1, true, Suspect),
        (100, 60, false, Valid),
        (990, 1, true, Invalid),
    ] {
        let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
            let slice = (0..100).fold(Slice::new(second).arrivals(100), |slice, n: u64| {
                slice.request("A", 50_000, if n < 98 { 8 * MS + n * 20_000 } else { 11 * MS }, Outcome::Passed)
            });
            slice.generator(|generator| generator.stalls.record_n(stall_ms * MS, u64::from(second % every == 0)))
        });
        assert_explains(&run, "stalls", long);
        assert_grade(&run, "uncertainty", Some(grade));
    }
}

#[test]
fn in_flight_must_agree_with_rate_times_time() {
    for (percent, grade) in [(100, Valid), (101, Valid), (99, Valid), (96, Suspect), (104, Suspect), (85, Invalid), (120, Invalid)] {
        let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
            healthy(second).generator(|generator| generator.in_flight_ns = generator.in_flight_ns * percent / 100)
        });
        assert_grade(&run, "in-flight", Some(grade));
    }
}

#[test]
fn a_few_microseconds_between_counter_and_timestamps_do_not_make_a_run_suspect() {
    // 100 requests a second: 30 µs each are 3 ms, for which the worker may have waited for a core.
    for (extra_us, waited_ms, grade) in [(10, 0, Valid), (30, 0, Invalid), (30, 2, Valid), (60, 2, Invalid)] {
        let run = run_with(synthetic::plan(synthetic::closed(1, 60)), |second| {
            let slice = Slice::new(second).requests("A", 100, 50_000);
            slice.generator(|generator| {
                generator.in_flight_ns += 100 * extra_us * 1000;
                generator.run_queue_ns += waited_ms * MS;
            })
        });
        assert_grade(&run, "in-flight", Some(grade));
    }
}

#[test]
fn interrupted_requests_were_in_flight_too() {
    let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
        if second < 59 { healthy(second) } else { healthy(second).request("A", 0, 20 * SECOND, Outcome::Interrupted) }
    });
    assert_grade(&run, "in-flight", Some(Valid));
}

#[test]
fn counts_must_be_conserved() {
    let lost =
        run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| healthy(second).leaf(|leaf| leaf.ended -= u64::from(second == 30)));
    assert_grade(&lost, "conservation", Some(Invalid));
    let cut = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
        healthy(second).leaf(|leaf| {
            leaf.ended -= u64::from(second == 59);
            leaf.interrupted += u64::from(second == 59);
        })
    });
    assert_grade(&cut, "conservation", Some(Valid));
}

#[test]
fn exhaustion_is_always_invalid() {
    for outcome in [Outcome::PortsExhausted, Outcome::DescriptorsExhausted] {
        let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
            if second == 9 { healthy(second).request("A", 0, MS, outcome) } else { healthy(second) }
        });
        assert_grade(&run, "exhaustion", Some(Invalid));
    }
}

#[test]
fn a_request_that_the_generator_refused_makes_the_run_invalid() {
    let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
        if second == 9 { healthy(second).request("A", 0, MS, Outcome::Unsendable) } else { healthy(second) }
    });
    assert_grade(&run, "unsendable", Some(Invalid));
    assert_grade(&run_with(synthetic::plan(synthetic::open(100.0, 60)), healthy), "unsendable", Some(Valid));
}

/// Without any request, a longer run would not help.
#[test]
fn a_run_whose_requests_were_all_refused_advises_to_fix_them() {
    let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
        (0..100).fold(Slice::new(second).arrivals(100), |slice, _| slice.request("A", 0, MS, Outcome::Unsendable))
    });
    let check = check_of(&run, "requests");
    assert_eq!(check.grade, Some(Invalid));
    assert_eq!(check.evidence, "no request was sent: the generator refused 6,000 requests");
    assert!(check.advice.starts_with("Fix the calls that cannot be sent"), "{}", check.advice);
}

#[test]
fn requests_for_connections_that_were_lost() {
    // Retransmissions of the whole machine, and connections of the run that took a second.
    for (again, slow, grade) in [(0, 0, Valid), (60, 0, Valid), (0, 60, Valid), (1, 1, Valid), (60, 60, Suspect)] {
        let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
            let slice = (0..if second == 30 { slow } else { 0 })
                .fold(healthy(second), |slice, _| slice.request_connecting("A", SECOND + MS, SECOND + MS));
            slice.generator(|generator| {
                generator.connections_opened = 10;
                generator.syn_retransmits = if second == 30 { again } else { 0 };
            })
        });
        assert_grade(&run, "connecting", Some(grade));
    }
}

/// The wait is then the target's answer, and the measurement is sound.
#[test]
fn connections_that_the_targets_full_accept_queue_lost_do_not_make_a_run_suspect() {
    let mut run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
        let slow = if second == 30 { 60 } else { 0 };
        let slice = (0..slow).fold(healthy(second), |slice, _| slice.request_connecting("A", SECOND + MS, SECOND + MS));
        slice.generator(|generator| (generator.connections_opened, generator.syn_retransmits) = (10, slow))
    });
    assert_grade(&run, "connecting", Some(Suspect));
    synthetic::counter("host", "tcp_listen_overflows")
        .role(Role::ListenOverflows)
        .each_second(&mut run, |second| if second == 30 { 80.0 } else { 0.0 });
    assert_grade(&run, "connecting", Some(Valid));
}

#[test]
fn a_clock_that_runs_fast_or_slow() {
    for (ppm, grade) in [(0i64, Valid), (400, Valid), (-1_200, Suspect), (2_000, Suspect), (12_000, Invalid), (-12_000, Invalid)] {
        let run = run_with(synthetic::plan(synthetic::open(100.0, 60)), |second| {
            healthy(second).generator(|generator| generator.raw_ns = SECOND.saturating_add_signed(ppm * 1_000))
        });
        assert_grade(&run, "clock-drift", Some(grade));
    }
}

#[test]
fn too_few_samples_for_a_threshold_are_a_warning_without_a_grade() {
    for (quantile, warned) in [(0.99, false), (0.995, false), (0.999, true)] {
        let mut plan = synthetic::plan(synthetic::open(100.0, 60));
        plan.thresholds = vec![threshold(Metric::ResponseTime, Aggregate::Quantile(quantile), Comparison::Below, 1.0)];
        let run = run_with(plan, healthy);
        let check = check_of(&run, "samples");
        assert_eq!((check.grade, !check.advice.is_empty()), (Some(Valid), warned), "{}", check.evidence);
        assert_eq!(conclude(&run).verdict.validity.grade, Valid);
    }
    // With 6,000 requests, p99 has 60 samples beyond it; with the 1,000 of the last ten seconds 10; with those of nine seconds 9.
    for (after_seconds, warned) in [(50, false), (51, true)] {
        let mut plan = synthetic::plan(synthetic::open(100.0, 60));
        let p99 = threshold(Metric::ResponseTime, Aggregate::Quantile(0.99), Comparison::Below, 1.0);
        plan.thresholds = vec![loadstone_plan::Threshold { after_seconds, ..p99 }];
        let check = check_of(&run_with(plan, healthy), "samples");
        assert_eq!((check.grade, !check.advice.is_empty()), (Some(Valid), warned), "{}", check.evidence);
    }
    assert_grade(&run_with(synthetic::plan(synthetic::open(100.0, 60)), healthy), "samples", None);
}

#[test]
fn overflowing_names_missing_seconds_and_a_kill_are_suspect() {
    let mut run = run_with(synthetic::plan(synthetic::open(100.0, 60)), healthy);
    run.slices[3].series_overflow = 12;
    assert_grade(&run, "series", Some(Suspect));
    assert_grade(&run, "slices", Some(Valid));
    run.slices.remove(30);
    assert_grade(&run, "slices", Some(Suspect));
    assert!(check_of(&run, "slices").advice.starts_with("The process was stopped meanwhile"));
    let error = ErrorGroup::new(synthetic::key(SeriesKind::Iteration, "Buy"), Outcome::Script, "interrupted", 0);
    let error = ErrorGroup { cause: Some(ErrorCause::Unyielding), ..error };
    run.slices[29].errors = vec![error];
    assert!(check_of(&run, "slices").advice.starts_with("A script did not yield"), "{}", check_of(&run, "slices").advice);
    run.slices.drain(20..24);
    assert_grade(&run, "slices", Some(Invalid));
    let mut killed = run_with(synthetic::plan(synthetic::open(100.0, 60)), healthy);
    killed.end = None;
    assert_grade(&killed, "slices", Some(Suspect));
}

#[test]
fn a_trend_under_constant_load_is_a_warning_without_a_grade() {
    let trend = |per_second: u64| {
        move |second: u32| {
            let time = 10 * MS + u64::from(second) * per_second + u64::from(second * 7 % 5) * 100_000;
            Slice::new(second).arrivals(100).requests("A", 100, time)
        }
    };
    let rising = check_of(&run_with(synthetic::plan(synthetic::open(100.0, 60)), trend(MS)), "steady");
    assert_eq!(rising.grade, Some(Valid));
    assert!(rising.evidence.contains("rose") && !rising.advice.is_empty(), "{}", rising.evidence);
    let flat = check_of(&run_with(synthetic::plan(synthetic::open(100.0, 60)), trend(0)), "steady");
    assert!(flat.advice.is_empty(), "{}", flat.evidence);
    // Under a ramp, response times may rise.
    let ramp = run_with(synthetic::plan(LoadProfile::burst(1)), |second| trend(MS)(second).arrivals(u64::from(second) * 10));
    assert_eq!(check_of(&ramp, "steady").grade, None);
    // Users who rise at a full system start as many requests as before.
    let users = |of: fn(u64) -> u64| {
        run_with(synthetic::plan(synthetic::closed(50, 60)), move |second| {
            let users = of(u64::from(second));
            trend(MS)(second).leaf(|leaf| (leaf.arrivals_due, leaf.users_asked, leaf.users_active) = (0, users, users))
        })
    };
    assert_eq!(check_of(&users(|second| second), "steady").grade, None);
    assert!(check_of(&users(|_| 50), "steady").evidence.contains("rose"));
}

#[test]
fn silent_observers_are_named_with_the_time() {
    let judged = |signal: &str, notices: &[(u64, NoticeKind)]| {
        let mut plan = synthetic::plan(synthetic::open(100.0, 60));
        plan.thresholds = vec![threshold(Metric::Signal { name: signal.to_owned() }, Aggregate::Max, Comparison::Below, 100.0)];
        plan.observers = vec![serde_json::json!({ "kind": "postgres" }), serde_json::json!({ "kind": "host" })];
        let mut run = run_with(plan, healthy);
        let refused = "cannot connect: refused".to_owned();
        let notice = |(at, kind): &(u64, NoticeKind)| SignalNotice::silence(&"postgres".into(), at * SECOND, *kind, refused.clone());
        run.notices = notices.iter().map(notice).collect();
        let check = check_of(&run, "observers");
        (check.grade, check.evidence, !check.advice.is_empty())
    };
    let reported = |notices: &[(u64, NoticeKind)]| judged("postgres/active", notices);
    let recovered = |at, since: u64| (at, NoticeKind::Recovered { since: since * SECOND });
    assert_eq!(reported(&[]), (Some(Valid), "all 2 observers read without a gap".to_owned(), false));
    let short = reported(&[(10, NoticeKind::Failed), recovered(12, 10)]);
    assert_eq!(short, (Some(Valid), "postgres was silent from 10.0 s to 12.0 s (cannot connect: refused)".to_owned(), false));
    assert_eq!(reported(&[(10, NoticeKind::Failed), recovered(12, 10), (20, NoticeKind::Failed), recovered(22, 20)]).0, Some(Suspect));
    assert_eq!(reported(&[(10, NoticeKind::TimedOut), recovered(12, 10)]), short);
    let gone = reported(&[(30, NoticeKind::Failed)]);
    let evidence = "postgres was silent from 30.0 s to 1 min (cannot connect: refused)".to_owned();
    assert_eq!(gone, (Some(Suspect), evidence.clone(), true));
    assert_eq!(reported(&[(30, NoticeKind::Incomplete)]).0, Some(Suspect));
    // No threshold uses its signals: the numbers remain valid.
    for other in ["host/cpu", "postgres-2/active"] {
        assert_eq!(judged(other, &[(30, NoticeKind::Failed)]), (Some(Valid), evidence.clone(), true));
        assert_eq!(judged(other, &[(30, NoticeKind::Incomplete)]).0, Some(Valid));
    }
    assert_grade(&run_with(synthetic::plan(synthetic::open(100.0, 60)), healthy), "observers", None);
}
