//! What a system does all the time is no cause of what changed.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{Phases, Role};
use loadstone_run_directory::Run;

use crate::changes::{Request, constant, noise, passes};
use crate::concluded::{findings, shown};
use crate::draws::Draws;
use crate::fluid::{Load, System};
use crate::synthetic::{self, MS, SECOND, Slice, closed, counter, gauge, open, plan};

fn position(found: &[Finding], rule: &str) -> Option<usize> {
    found.iter().position(|finding| finding.rule == rule)
}

/// A service that commits 27 times per request, on a machine of which other programs leave hardly anything.
#[test]
fn round_trips_of_idle_sessions_rank_after_a_full_machine() {
    let ranked = |sessions: f64| {
        let fluid = System { capacity: 20.0, base: 0.2, is_shared: true }.under(Load::Ramp(2.0, 40.0, 60));
        let mut run = fluid.run.clone();
        let ended = |second: u64| 2.0 * fluid.ended[second as usize];
        counter("postgres", "commits").role(Role::Commits).each_second(&mut run, |second| 90.0 * ended(second));
        gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |second| sessions * ended(second) / 40.0);
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |second| if second < 25 { 0.9 } else { 0.03 });
        counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| 0.012 * ended(second));
        counter("process:80", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |second| if second < 25 { 0.0 } else { 6.0 });
        findings(&run)
    };
    let found = ranked(0.2);
    assert_eq!(found[0].rule, "cpu", "{}", shown(&found));
    let habit = &found[position(&found, "many-transactions").unwrap()];
    assert!(habit.confidence <= Confidence::Medium && habit.alternatives[0].text.contains("was used up while 0.2"), "{}", shown(&found));
    // Sessions that are busy with them may well be what uses the machine. That it is full is certain.
    let found = ranked(8.0);
    assert_eq!(found[0].rule, "cpu", "{}", shown(&found));
    assert!(position(&found, "many-transactions").is_some(), "{}", shown(&found));
}

/// A machine that other programs fill from the begin is no resource that the load used up. The threads of the service wait for its cores all the same.
#[test]
fn round_trips_rank_after_threads_that_wait_for_cores() {
    let ranked = |waiting: f64| {
        let fluid = System { capacity: 20.0, base: 0.2, is_shared: true }.under(Load::Ramp(2.0, 40.0, 60));
        let mut run = fluid.run.clone();
        let ended = |second: u64| 2.0 * fluid.ended[second as usize];
        counter("postgres", "commits").role(Role::Commits).each_second(&mut run, |second| 25.0 * ended(second));
        gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |_| 1.3);
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |_| 0.0);
        counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| 0.02 * ended(second));
        counter("process:80", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |second| waiting * ended(second) / 40.0);
        findings(&run)
    };
    let found = ranked(2.5);
    let habit = position(&found, "many-transactions").unwrap_or_else(|| panic!("{}", shown(&found)));
    assert!(habit > 0 && found[habit].confidence <= Confidence::Medium, "{}", shown(&found));
}

/// Other programs with less weight use what is left of the machine. The service waits for a core for a small part of its requests' time.
#[test]
fn a_full_machine_is_no_cause_if_the_service_hardly_waits_for_a_core() {
    let ranked = |waiting: f64| {
        let fluid = System { capacity: 20.0, base: 0.2, is_shared: true }.under(Load::Users(1, 30, 60));
        let mut run = fluid.run.clone();
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |_| 0.0);
        counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| 0.03 * fluid.ended[second as usize]);
        let waits = counter("process:80", "run_delay").role(Role::ProcessRunDelay);
        waits.each_second(&mut run, |second| waiting * fluid.open[second as usize]);
        findings(&run)
    };
    let found = ranked(0.02);
    assert!(found.iter().all(|finding| finding.rule != "cpu"), "{}", shown(&found));
    let found = ranked(0.5);
    assert!(found.iter().any(|finding| finding.rule == "cpu"), "{}", shown(&found));
}

/// Six users whose requests take five seconds in a statement without an index, and ten short statements each.
#[test]
fn short_statements_that_repeat_rank_after_a_full_machine_whose_cores_the_sessions_need() {
    let second = |number: u32| {
        let slice = Slice::new(number).leaf(|leaf| (leaf.users_asked, leaf.users_active, leaf.started, leaf.ended) = (6, 6, 1, 1));
        slice.requests("Find", 1, (4_000 + u64::from(number * 7 % 20) * 100) * MS).done()
    };
    let mut run = synthetic::run_of(plan(closed(6, 40)), (0..40).map(second).collect());
    run.slices.iter_mut().for_each(|slice| slice.generator[0].in_flight_ns = 6 * SECOND);
    let short = |metric: &str| counter("mysql", metric).label("statement", "SELECT value FROM options WHERE name = ?");
    short("statement_calls").role(Role::StatementCalls).each_second(&mut run, |_| 10.0);
    short("statement_seconds").role(Role::StatementTime).each_second(&mut run, |_| 0.0186);
    gauge("mysql", "round_trip").role(Role::RoundTrip).each_second(&mut run, |_| 0.0002);
    gauge("mysql", "active").role(Role::SessionsActive).each_second(&mut run, |_| 5.6);
    gauge("mysql", "sessions").role(Role::SessionsOnCpu).label("wait", "CPU").each_second(&mut run, |_| 5.5);
    let join = gauge("mysql", "sessions_by_statement").role(Role::SessionsByStatement).label("statement", "SELECT … FROM posts JOIN meta");
    join.each_second(&mut run, |_| 5.5);
    gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
    gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |_| 0.0);
    let found = findings(&run);
    assert!(found[0].rule != "many-transactions", "{}", shown(&found));
    let habit = &found[position(&found, "many-transactions").unwrap_or_else(|| panic!("{}", shown(&found)))];
    assert!(habit.evidence.iter().any(|evidence| evidence.text.starts_with("they take about 20.6 ms of the ")), "{}", shown(&found));
}

/// Requests of 0.4 s at first, with 27 commits each that take as long as the observer's round trips: three each.
#[test]
fn the_confidence_of_round_trips_follows_their_part_of_the_time() {
    let confidence = |round_trip_s: f64| {
        let buy = |second: u32, draws: &mut Draws| 0.4 * noise(0.1, draws) * (1.0 + f64::from(second) / 20.0);
        let mut run = constant(60, 20, &[Request { name: "Buy", time: &buy, outcome: &passes }], 1);
        counter("postgres", "commits").role(Role::Commits).each_second(&mut run, |_| 540.0);
        gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |_| 0.3);
        gauge("postgres", "round_trip").role(Role::RoundTrip).each_second(&mut run, |_| round_trip_s);
        let found = findings(&run);
        found[position(&found, "many-transactions").unwrap_or_else(|| panic!("{}", shown(&found)))].confidence
    };
    // 81 round trips of 0.5 ms, and 15 ms in the database: 6 % of the second that requests take on average. Of 3 ms each, 26 %.
    assert_eq!((confidence(0.000_5), confidence(0.003)), (Confidence::Low, Confidence::Medium));
}

/// "Buy" takes 0.4 s longer from 0:20 on, at 30/s, with `each` commits per request before and after.
fn slower(each: impl Fn(u64) -> f64) -> Run {
    let buy = |second: u32, draws: &mut Draws| 0.05 * noise(0.2, draws) + if second >= 20 { 0.4 } else { 0.0 };
    let mut run = constant(60, 30, &[Request { name: "Buy", time: &buy, outcome: &passes }], 1);
    counter("postgres", "commits").role(Role::Commits).each_second(&mut run, |second| 30.0 * each(second));
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |_| 0.3);
    run
}

/// 20 requests per second with 27 commits each, and with these calls to the database that wait for an answer at a time, of which it works on 0.3.
fn awaiting(calls: f64) -> Vec<Finding> {
    let buy = |second: u32, draws: &mut Draws| 0.4 * noise(0.1, draws) * (1.0 + f64::from(second) / 20.0);
    let mut run = constant(60, 20, &[Request { name: "Buy", time: &buy, outcome: &passes }], 1);
    counter("postgres", "commits").role(Role::Commits).each_second(&mut run, |_| 540.0);
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |_| 0.3);
    let awaited = gauge("process:80", "awaited").role(Role::CallsAwaited).part("127.0.0.1:6432").label("peer", "127.0.0.1:6432");
    awaited.each_second(&mut run, |_| calls);
    findings(&run)
}

#[test]
fn answers_that_are_on_their_way_show_a_slow_path() {
    let of = |calls: f64| {
        let found = awaiting(calls);
        let trips = found.iter().find(|finding| finding.rule == "many-transactions").unwrap_or_else(|| panic!("{}", shown(&found)));
        (trips.claim.clone(), trips.next.clone(), shown(&found))
    };
    // Times rise from 0.4 s to 1.6 s, 1 s on average.
    let (claim, next, all) = of(14.0);
    assert!(claim.contains(". The path to it is slow, if 127.0.0.1:6432 leads there: answers are on their way for 6"), "{all}");
    assert!(next.starts_with("Measure the network between the service and the database"), "{all}");
    let (claim, next, all) = of(6.0);
    assert!(!claim.contains("path") && next.starts_with("Each one is a round trip."), "{all}");
    // The answers are awaited for a fifth of the time: requests wait for something else.
    let found = awaiting(4.0);
    assert!(found.first().is_none_or(|first| first.rule != "many-transactions"), "{}", shown(&found));
}

#[test]
fn as_many_round_trips_as_before_do_not_explain_a_change() {
    let found = findings(&slower(|_| 27.0));
    assert!(found[0].rule == "change" && found[0].confidence == Confidence::High, "{}", shown(&found));
    let habit = &found[position(&found, "many-transactions").unwrap()];
    let because =
        "What changed at 0:20. Not ruled out: requests took longer after it, with 27 round trips per request before it and 27 after it.";
    assert!(habit.alternatives.iter().any(|other| other.text == because), "{}", shown(&found));
    // Ten times as many from that instant on may be why.
    let found = findings(&slower(|second| if second < 20 { 2.7 } else { 27.0 }));
    assert_eq!(position(&found, "many-transactions"), Some(0), "{}", shown(&found));
}

/// The disk of the database becomes slow. Each request commits 36 times, before and after.
#[test]
fn a_commit_that_takes_longer_is_the_cause_and_not_the_number_of_commits() {
    let mut run = slower(|_| 36.0);
    let flushing = |second: u64| if second < 20 { 1.1 } else { 12.0 };
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |second| flushing(second) + 0.2);
    let wait = gauge("postgres", "sessions").role(Role::SessionsWaitingForCommit).label("wait", "IO:WALSync");
    wait.each_second(&mut run, flushing);
    let found = findings(&run);
    assert!(position(&found, "commits").is_none(), "{}", shown(&found));
    assert!(found[0].claim.starts_with("Each commit takes 11.1 ms instead of 1.02 ms from 0:20 on"), "{}", shown(&found));
}

/// The sessions that the added time is spent in are named by their statement. A commit that is delayed has no wait event.
#[test]
fn sessions_without_a_wait_are_named_by_their_statement() {
    let claims = |statement: &str| {
        let mut run = slower(|_| 1.0);
        let after = |second: u64| if second < 20 { 0.0 } else { 12.0 };
        gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, move |second| after(second) + 0.3);
        gauge("postgres", "sessions").role(Role::SessionsOnCpu).label("wait", "CPU").each_second(&mut run, after);
        let of_statement = gauge("postgres", "sessions_by_statement").role(Role::SessionsByStatement).label("statement", statement);
        of_statement.each_second(&mut run, after);
        let found = findings(&run);
        let changed = &found[position(&found, "change").unwrap_or_else(|| panic!("{}", shown(&found)))];
        (found[0].claim.clone(), changed.claim.clone())
    };
    let (first, changed) = claims("COMMIT");
    assert!(first.ends_with("active sessions run `COMMIT`, without another wait"), "{first}");
    assert!(changed.ends_with("the sessions of its database take that long for COMMIT, without another wait"), "{changed}");
    let (first, changed) = claims("SELECT * FROM orders");
    assert!(first.ends_with("active sessions run `SELECT * FROM orders`, which takes CPU time"), "{first}");
    assert!(changed.ends_with("the sessions of its database compute for that long, in \"SELECT * FROM orders\""), "{changed}");
}

/// Visitors of whom most wait, each with its own connections, on a machine that the service uses up. `connect` of the second that a request takes opens one.
#[test]
fn connections_that_take_little_of_the_time_rank_after_a_full_machine() {
    let crowd = |connect: u64| {
        let second = |number: u32| {
            let mut slice = Slice::new(number).leaf(|leaf| (leaf.arrivals_due, leaf.started, leaf.ended) = (40, 40, 10));
            for _ in 0..30 {
                let time = SECOND * (5 + u64::from(number)) / 5;
                let phases = Phases { connect: time / 100 * connect, wait: time / 100 * (100 - connect), ..Phases::default() };
                slice = slice.request_with("List", phases, time);
            }
            slice.generator(|worker| worker.connections_opened = 110).done()
        };
        let mut run = synthetic::run_of(plan(open(40.0, 40)), (0..40).map(second).collect());
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |_| 0.01);
        counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 1.9);
        counter("process:80", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| 6.0);
        findings(&run)
    };
    let found = crowd(20);
    assert!(found[0].rule == "cpu" && position(&found, "new-connections") == Some(found.len() - 1), "{}", shown(&found));
    let found = crowd(70);
    assert!(position(&found, "new-connections").is_some_and(|place| found[place].confidence == Confidence::High), "{}", shown(&found));
}

/// Four users whose iterations take 0.1 s and insert ten rows one by one. The inserts take `each_s` and a round trip of 0.1 ms.
fn inserting(each_s: f64) -> loadstone_analysis::Findings {
    let second = |number: u32| {
        let slice = Slice::new(number).leaf(|leaf| (leaf.users_asked, leaf.users_active, leaf.started, leaf.ended) = (4, 4, 20, 20));
        slice.requests("Save", 20, (95 + u64::from(number * 7 % 10)) * MS).done()
    };
    let mut run = synthetic::run_of(plan(closed(4, 40)), (0..40).map(second).collect());
    run.slices.iter_mut().for_each(|slice| slice.generator[0].in_flight_ns = 2 * SECOND);
    let inserts = |metric: &str| counter("postgres", metric).label("statement", "INSERT INTO rows (id) VALUES (?)");
    inserts("statement_calls").role(Role::StatementCalls).each_second(&mut run, |_| 200.0);
    inserts("statement_seconds").role(Role::StatementTime).each_second(&mut run, |_| 200.0 * each_s);
    gauge("postgres", "round_trip").role(Role::RoundTrip).each_second(&mut run, |_| 0.0001);
    loadstone_analysis::conclude(&run).verdict.findings
}

#[test]
fn inserts_that_hardly_take_time_are_no_finding_where_nothing_is_slow() {
    let fast = inserting(0.00003);
    assert!(fast.findings.is_empty(), "{}", shown(&fast.findings));
    let text = fast.remark.text;
    assert!(text.contains("executed 10 times per iteration"), "{text}");
    assert!(text.contains("1.31 % of the time. Requests would hardly be faster without it."), "{text}");
    let slow = inserting(0.003);
    assert_eq!(slow.findings[0].rule, "statements", "{}", shown(&slow.findings));
}
