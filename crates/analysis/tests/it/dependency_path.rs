//! Requests that take longer because the path to a database or cache does, and requests that take longer for other reasons.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::Role;
use loadstone_run_directory::Run;

use crate::changes::{Request, constant, noise, passes};
use crate::concluded::{findings, shown};
use crate::draws::Draws;
use crate::synthetic::{counter, gauge};

/// Seconds before the path is slower.
const SLOWER_FROM: u64 = 20;

/// "Buy" takes 80 ms longer from 0:20 on at 30/s, which are 2.4 requests more. "Health" needs no database.
fn slower() -> Run {
    let buy = |second: u32, draws: &mut Draws| 0.02 * noise(0.2, draws) + if u64::from(second) >= SLOWER_FROM { 0.08 } else { 0.0 };
    let health = |_: u32, draws: &mut Draws| 0.002 * noise(0.2, draws);
    let requests = [Request { name: "Buy", time: &buy, outcome: &passes }, Request { name: "Health", time: &health, outcome: &passes }];
    constant(60, 30, &requests, 1)
}

fn level(run: &mut Run, observer: &str, role: Role, before: f64, after: f64) {
    let wobble = |second: u64| 0.02 * (second % 3) as f64;
    gauge(observer, &format!("{role:?}"))
        .role(role)
        .each_second(run, |second| wobble(second) + if second < SLOWER_FROM { before } else { after });
}

fn observed(idle: (f64, f64), active: (f64, f64)) -> Run {
    let mut run = slower();
    level(&mut run, "postgres", Role::SessionsIdleInTransaction, idle.0, idle.1);
    level(&mut run, "postgres", Role::SessionsActive, active.0, active.1);
    run
}

fn named(run: &Run) -> Option<Finding> {
    findings(run).into_iter().find(|finding| finding.rule == "dependency-path")
}

/// A proxy in front of the database delays each statement.
#[test]
fn sessions_that_wait_for_the_service_show_a_slower_path() {
    let mut run = observed((0.2, 2.5), (0.1, 0.12));
    let found = findings(&run);
    let first = &found[0];
    assert!(first.rule == "dependency-path" && first.confidence == Confidence::Medium, "{}", shown(&found));
    assert!(
        first
            .claim
            .starts_with("The path to \"postgres\" is slower from 0:20 on: 2.30 more of its sessions wait for the service with an open"),
        "{}",
        first.claim
    );
    assert!(first.evidence.iter().any(|evidence| evidence.text == "the times of \"Health\" remained stable"), "{}", shown(&found));
    assert!(first.alternatives.iter().all(|other| !other.ruled_out), "{}", shown(&found));
    counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.2);
    let found = named(&run).unwrap();
    assert!(found.alternatives[0].ruled_out, "{:?}", found.alternatives);
}

/// Each statement is its own transaction, so no session waits within one. The pool's connections are in use for longer.
#[test]
fn connections_in_use_show_a_slower_path_without_transactions() {
    let mut run = observed((0.0, 0.0), (0.1, 0.12));
    gauge("prometheus", "agroal_active_count")
        .role(Role::PoolInUse)
        .part("default")
        .each_second(&mut run, |second| if second < SLOWER_FROM { 0.45 } else { 2.7 });
    let found = findings(&run);
    assert!(found[0].claim.contains("more connections of the pool \"default\" are in use"), "{}", shown(&found));
    // The database is busy with them.
    level(&mut run, "postgres", Role::SessionsActive, 0.1, 2.4);
    assert!(named(&run).is_none(), "{}", shown(&findings(&run)));
}

/// Redis is idle all the time, so no signal of the server shows that it is far away. The observer's connection does.
#[test]
fn a_longer_round_trip_shows_a_slower_path() {
    let mut run = slower();
    gauge("redis", "round_trip")
        .role(Role::RoundTrip)
        .unit("seconds")
        .each_second(&mut run, |second| if second < SLOWER_FROM { 0.000_4 } else { 0.025_4 });
    let found = findings(&run);
    let claim = "The path to \"redis\" is slower from 0:20 on: a round trip takes 25.4 ms instead of 400 µs. It delays \"Buy\"";
    assert!(found[0].claim == claim && found[0].confidence == Confidence::Medium, "{}", shown(&found));
    // A server that is busy for others answers some questions late, but not all.
    let late = |second: u64| if second >= SLOWER_FROM && !second.is_multiple_of(4) { 0.025 } else { 0.000_4 };
    gauge("redis", "round_trip").role(Role::RoundTrip).unit("seconds").each_second(&mut run, late);
    assert!(named(&run).is_none());
    gauge("redis", "round_trip").role(Role::RoundTrip).unit("seconds").each_second(&mut run, |_| 0.025);
    assert!(named(&run).is_none());
}

#[test]
fn time_that_is_spent_elsewhere_is_no_slower_path() {
    let quiet = |name: &str, run: &Run| assert!(named(run).is_none(), "{name}: {}", shown(&findings(run)));
    quiet("statements run longer", &observed((0.2, 0.3), (0.1, 2.4)));
    quiet("a few sessions", &observed((0.2, 0.5), (0.1, 0.1)));
    quiet("many sessions of other clients", &observed((0.2, 20.0), (0.1, 0.1)));
    quiet("as many sessions before", &observed((9.0, 11.4), (0.1, 0.1)));
    let mut run = observed((0.2, 2.5), (0.1, 0.1));
    level(&mut run, "stub:provider", Role::CallsInFlight, 0.1, 2.4);
    quiet("a call within the transaction", &run);
    let mut run = observed((0.2, 2.5), (0.1, 0.1));
    let statement = |metric| counter("postgres", metric).label("statement", "SELECT 1");
    statement("statement_calls").role(Role::StatementCalls).each_second(&mut run, |_| 60.0);
    statement("statement_seconds").role(Role::StatementTime).each_second(&mut run, |second| if second < SLOWER_FROM { 0.06 } else { 0.6 });
    quiet("statements take ten times as long", &run);
}

/// The service uses and waits for as many cores as before.
fn with_idle_service(mut run: Run) -> Run {
    counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.2);
    counter("process:80", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| 0.02);
    run
}

/// Of four round trips, that of the commit and two statements outside of the transaction leave the session idle.
#[test]
fn a_part_of_the_added_requests_in_transactions_shows_a_wait_between_statements() {
    let run = with_idle_service(observed((0.0, 0.9), (0.1, 0.12)));
    let found = findings(&run);
    let claim = "From 0:20 on requests wait between their statements: 0.899 more sessions of \"postgres\" wait for the service, and neither is busier.";
    assert!(found[0].rule == "dependency-path" && found[0].claim.starts_with(claim), "{}", shown(&found));
    assert_eq!(found[0].confidence, Confidence::Medium);
    // Without the service's CPU, it may compute between them.
    assert!(named(&observed((0.0, 0.9), (0.1, 0.12))).is_none());
    let mut busy = observed((0.0, 0.9), (0.1, 0.12));
    counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut busy, |second| if second < SLOWER_FROM { 0.2 } else { 1.8 });
    assert!(named(&busy).is_none(), "{}", shown(&findings(&busy)));
    let mut starved = observed((0.0, 0.9), (0.1, 0.12));
    counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut starved, |_| 0.2);
    counter("process:80", "run_delay")
        .role(Role::ProcessRunDelay)
        .each_second(&mut starved, |second| if second < SLOWER_FROM { 0.1 } else { 2.0 });
    assert!(named(&starved).is_none(), "{}", shown(&findings(&starved)));
}

/// A broker writes its log in batches on one connection. Requests wait for the batch, and a quarter of them would be too many sessions.
#[test]
fn one_session_that_is_in_transactions_for_most_of_the_time_shows_the_path_that_all_wait_for() {
    let of = |idle: (f64, f64)| findings(&with_idle_service(observed(idle, (0.1, 0.1))));
    let found = of((0.0, 0.55));
    let claim = "From 0:20 on requests wait between their statements: 0.549 more sessions of \"postgres\" wait for the service";
    assert!(found[0].rule == "dependency-path" && found[0].claim.starts_with(claim), "{}", shown(&found));
    // For less of the time, or nearly as much before.
    for idle in [(0.0, 0.4), (0.4, 0.6)] {
        let found = of(idle);
        assert!(found.iter().all(|finding| finding.rule != "dependency-path"), "{idle:?}: {}", shown(&found));
    }
}

/// Statements of MariaDB without transactions: only the number of connections shows that requests hold them for longer.
#[test]
fn more_connections_to_an_idle_database_show_a_wait_between_statements() {
    let with = |opened: (f64, f64), active: (f64, f64)| {
        let mut run = with_idle_service(slower());
        level(&mut run, "mysql", Role::SessionsActive, active.0, active.1);
        level(&mut run, "mysql", Role::ConnectionsOpen, opened.0, opened.1);
        gauge("mysql", "round_trip").role(Role::RoundTrip).unit("seconds").each_second(&mut run, |_| 0.000_3);
        run
    };
    let found = findings(&with((1.0, 4.0), (0.05, 0.08)));
    let claim = "From 0:20 on requests wait while they hold connections to \"mysql\": 3.00 more are open, and neither the database nor the service is";
    assert!(found[0].rule == "dependency-path" && found[0].claim.starts_with(claim), "{}", shown(&found));
    assert!(
        found[0].evidence.iter().any(|evidence| evidence.text.starts_with("the observer's own round trip took 300 µs and 300 µs before"))
    );
    // A pool that was filled before, and a database that is busy.
    assert!(named(&with((10.0, 10.0), (0.05, 0.08))).is_none());
    assert!(named(&with((1.0, 4.0), (0.05, 2.4))).is_none());
    // Requests that wait for a member of a pool are limited by it.
    let mut pooled = with((1.0, 4.0), (0.05, 0.08));
    let waiting = gauge("prometheus", "agroal_awaiting_count").role(Role::PoolWaiting).part("default");
    waiting.each_second(&mut pooled, |second| if second < SLOWER_FROM { 0.0 } else { 2.0 });
    assert!(named(&pooled).is_none(), "{}", shown(&findings(&pooled)));
}

/// Threads of a runtime in a state and a call, before and after.
fn threads(run: &mut Run, role: Role, at: &str, levels: (f64, f64)) {
    let line = gauge("python", "threads")
        .unit("threads")
        .role(role)
        .label("wait", &format!("{role:?}"))
        .label("at", at)
        .label("under", "show views.py");
    let wobble = |second: u64| 0.05 * (second % 3) as f64;
    line.each_second(run, |second| if second < SLOWER_FROM { levels.0 } else { levels.1 + wobble(second) });
    gauge("python", "samples").each_second(run, |_| 10.0);
}

/// Each statement commits by itself and the connections stay open: only the threads in `_execute` show that it takes longer.
#[test]
fn threads_in_calls_of_an_idle_database_show_a_slower_path() {
    let with = |active: (f64, f64)| {
        let mut run = with_idle_service(observed((0.0, 0.0), active));
        level(&mut run, "postgres", Role::ConnectionsOpen, 4.0, 4.0);
        threads(&mut run, Role::ThreadsWaitingForOther, "_execute utils.py", (0.1, 2.3));
        threads(&mut run, Role::ThreadsOnCpu, "render base.py", (0.3, 0.3));
        run
    };
    let found = findings(&with((0.1, 0.05)));
    let claim = "The path to \"postgres\" is slower from 0:20 on: 2.25 more threads wait in `_execute utils.py` below `show views.py`, and neither the \
                 database nor the service is busier. It delays \"Buy\"";
    assert!(found[0].rule == "dependency-path" && found[0].claim == claim, "{}", shown(&found));
    assert!(named(&with((0.1, 2.3))).is_none(), "a busy database: {}", shown(&findings(&with((0.1, 2.3)))));
    let mut asks_more = with((0.1, 0.05));
    level(&mut asks_more, "postgres", Role::Statements, 60.0, 600.0);
    assert!(named(&asks_more).is_none(), "ten times the statements: {}", shown(&findings(&asks_more)));
    let mut locked = with((0.1, 0.05));
    threads(&mut locked, Role::ThreadsWaitingForLock, "acquire app.py", (0.0, 1.0));
    assert!(named(&locked).is_none(), "a lock of the process: {}", shown(&findings(&locked)));
    let mut few = with((0.1, 0.05));
    threads(&mut few, Role::ThreadsWaitingForOther, "_execute utils.py", (0.1, 0.5));
    threads(&mut few, Role::ThreadsOnCpu, "render base.py", (1.2, 1.2));
    assert!(named(&few).is_none(), "a few threads: {}", shown(&findings(&few)));
    let mut busy = with((0.1, 0.05));
    counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut busy, |second| if second < SLOWER_FROM { 0.2 } else { 1.9 });
    assert!(named(&busy).is_none(), "the service computes: {}", shown(&findings(&busy)));
}

/// A call whose other end nobody observes: the finding has the place, and both reasons. What waits for something unknown may wait inside of the process.
#[test]
fn threads_in_a_call_of_an_unknown_end_are_named_with_both_reasons() {
    let with = |role: Role| {
        let mut run = with_idle_service(slower());
        threads(&mut run, role, "urlopen request.py", (0.0, 2.4));
        findings(&run)
    };
    let found = with(Role::ThreadsWaitingForIo);
    let claim = "From 0:20 on 2.45 more threads of \"python\" wait in `urlopen request.py` below `show views.py`, and the service is no busier: what it calls";
    assert!(found[0].rule == "dependency-path" && found[0].claim.starts_with(claim), "{}", shown(&found));
    assert!(with(Role::ThreadsWaitingForOther).iter().all(|finding| finding.rule != "dependency-path"));
}

/// An event loop has one thread. It is in the calls for more of the time, and the other requests wait for their turn.
#[test]
fn the_thread_of_an_event_loop_shows_a_slower_path() {
    let with = |after: f64| {
        let mut run = with_idle_service(observed((1.0, 1.0), (0.05, 0.02)));
        let line = |at: &str, role: Role| gauge("python", "threads").unit("threads").role(role).label("wait", "x").label("at", at);
        line("select selectors.py", Role::ThreadsWaitingForIo)
            .each_second(&mut run, |second| if second < SLOWER_FROM { 0.82 } else { 1.0 - after });
        line("count query.py", Role::ThreadsWaitingForOther).each_second(&mut run, |second| if second < SLOWER_FROM { 0.1 } else { after });
        findings(&run)
    };
    let found = with(0.8);
    let claim = "The path to \"postgres\" is slower from 0:20 on: 0.7 more threads wait in `count query.py`";
    assert!(found[0].rule == "dependency-path" && found[0].claim.starts_with(claim), "{}", shown(&found));
    assert!(with(0.3).iter().all(|finding| finding.rule != "dependency-path"), "a thread that is mostly idle");
}

/// The plan observes PostgreSQL at its usual port.
fn with_calls(peer: &str, awaited: (f64, f64)) -> Run {
    let mut run = with_idle_service(observed((0.0, 0.0), (0.1, 0.05)));
    run.plan.observers = vec![serde_json::json!({ "kind": "postgres", "url": "postgres://app@db/shop" })];
    let line = gauge("process:80", "awaited").role(Role::CallsAwaited).part(peer).label("peer", peer);
    line.each_second(&mut run, |second| if second < SLOWER_FROM { awaited.0 } else { awaited.1 });
    run
}

/// An event loop waits without a thread. The kernel knows which connections have no answer.
#[test]
fn calls_without_an_answer_show_a_slower_path() {
    let found = findings(&with_calls("10.0.0.2:5432", (0.1, 1.9)));
    let claim = "The path to \"postgres\" is slower from 0:20 on: 1.80 more calls to 10.0.0.2:5432 wait for an answer, and the server is no busier. It \
                 delays \"Buy\"";
    assert!(found[0].rule == "dependency-path" && found[0].claim == claim, "{}", shown(&found));
    assert!(found[0].alternatives.iter().any(|other| other.ruled_out && other.text.starts_with("The server itself")), "{}", shown(&found));
    // A proxy has a port that no observer reads.
    let found = findings(&with_calls("127.0.0.1:15432", (0.1, 1.9)));
    let claim = "From 0:20 on 127.0.0.1:15432 answers later: 1.80 more calls to it wait, and \"postgres\" is no busier.";
    assert!(found[0].rule == "dependency-path" && found[0].claim.starts_with(claim), "{}", shown(&found));
    let mut alone = with_calls("127.0.0.1:15432", (0.1, 1.9));
    alone.signals.retain(|series| series.signal.observer != "postgres");
    let found = findings(&alone);
    assert!(
        found[0].claim
            == "From 0:20 on 127.0.0.1:15432 answers later: 1.80 more calls to it wait. The path to it is slower, or what answers there. It delays \"Buy\""
    );
}

/// "Pay" takes 40 ms longer from the same instant on: 3.6 requests more in all. "Health" needs no such call.
#[test]
fn the_requests_that_a_slower_endpoint_delays_are_named() {
    let later = |second: u32, by: f64| if u64::from(second) >= SLOWER_FROM { by } else { 0.0 };
    let buy = |second: u32, draws: &mut Draws| 0.02 * noise(0.2, draws) + later(second, 0.08);
    let pay = |second: u32, draws: &mut Draws| 0.01 * noise(0.2, draws) + later(second, 0.04);
    let health = |_: u32, draws: &mut Draws| 0.002 * noise(0.2, draws);
    let requests = [
        Request { name: "Buy", time: &buy, outcome: &passes },
        Request { name: "Pay", time: &pay, outcome: &passes },
        Request { name: "Health", time: &health, outcome: &passes },
    ];
    let mut run = constant(60, 30, &requests, 1);
    let line = gauge("process:80", "awaited").role(Role::CallsAwaited).part("10.0.0.9:443").label("peer", "10.0.0.9:443");
    line.each_second(&mut run, |second| if second < SLOWER_FROM { 0.1 } else { 2.8 });
    let found = named(&run).unwrap_or_else(|| panic!("{}", shown(&findings(&run))));
    assert!(
        found.claim.ends_with("It delays \"Buy\" and \"Pay\"") || found.claim.ends_with("It delays \"Pay\" and \"Buy\""),
        "{}",
        found.claim
    );
    let next = "Find out what listens at 10.0.0.9:443 and what ";
    assert!(found.next.starts_with(next) && found.next.contains("calls it for"), "{}", found.next);
}

/// A call to another service within a transaction also leaves sessions idle. The addresses show which of the two it is.
#[test]
fn a_call_within_a_transaction_is_named_by_its_address() {
    let in_transaction = |peer: Option<&str>| {
        let mut run = with_calls("10.0.0.9:443", (0.1, 2.3));
        level(&mut run, "postgres", Role::SessionsIdleInTransaction, 0.2, 2.5);
        if let Some(peer) = peer {
            let line = gauge("process:80", "awaited").role(Role::CallsAwaited).part(peer).label("peer", peer);
            line.each_second(&mut run, |_| 0.1);
        }
        findings(&run)
    };
    let found = in_transaction(Some("10.0.0.2:5432"));
    assert!(
        found[0].rule == "dependency-path" && found[0].claim.starts_with("From 0:20 on 10.0.0.9:443 answers later"),
        "{}",
        shown(&found)
    );
    // Without a connection to the database, that address may be its proxy.
    let found = in_transaction(None);
    assert!(found[0].claim.starts_with("The path to \"postgres\" is slower from 0:20 on: 2.30 more of its sessions"), "{}", shown(&found));
}

#[test]
fn calls_that_have_other_reasons_are_no_slower_path() {
    let quiet = |name: &str, run: &Run| assert!(named(run).is_none(), "{name}: {}", shown(&findings(run)));
    quiet("hardly more calls", &with_calls("10.0.0.2:5432", (0.1, 0.5)));
    quiet("as many calls before", &with_calls("10.0.0.2:5432", (8.0, 9.8)));
    quiet("a queue of jobs", &with_calls("10.0.0.2:5432", (0.1, 30.0)));
    let mut run = with_calls("10.0.0.2:5432", (0.1, 1.9));
    level(&mut run, "postgres", Role::SessionsActive, 0.1, 2.2);
    quiet("the database is busier", &run);
    let mut run = with_calls("10.0.0.2:5432", (0.1, 1.9));
    level(&mut run, "postgres", Role::Statements, 60.0, 400.0);
    quiet("more statements", &run);
}
