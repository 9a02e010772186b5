//! Where requests spend their time, in runs in which nothing is limited and nothing changes.

use loadstone_analysis::{Confidence, Finding, conclude};
use loadstone_metrics::Role;
use loadstone_run_directory::Run;
use serde_json::json;

use crate::changes::{Request, constant, noise, passes};
use crate::concluded::{findings, shown};
use crate::draws::Draws;
use crate::synthetic::{counter, gauge};

/// Two "Buy" and two "List" a second for half a minute, of the given times. Seconds.
fn steady(buy: f64, list: f64) -> Run {
    varying(buy, list, 0.05)
}

/// `sigma`: the standard deviation of the logarithm of the times of "Buy".
fn varying(buy: f64, list: f64, sigma: f64) -> Run {
    let buy = move |_: u32, draws: &mut Draws| buy * noise(sigma, draws);
    let list = move |_: u32, draws: &mut Draws| list * noise(0.2, draws);
    let requests = [Request { name: "Buy", time: &buy, outcome: &passes }, Request { name: "List", time: &list, outcome: &passes }];
    constant(30, 2, &requests, 1)
}

/// Threads that wait in a call to another process.
fn waiting_in(run: &mut Run, call: &str, threads: f64) {
    let signal = gauge("python", "threads").role(Role::ThreadsWaitingForIo).label("at", call).label("under", "checkout orders.py");
    signal.each_second(run, |second| threads + 0.1 * (second % 2) as f64);
}

/// Calls that an address has not answered.
fn awaited(run: &mut Run, peer: &str, calls: f64) {
    gauge("app", "awaited").role(Role::CallsAwaited).part(peer).each_second(run, |second| calls + 0.1 * (second % 2) as f64);
}

fn named(found: &[Finding]) -> Option<&Finding> {
    found.iter().find(|finding| finding.rule == "long-wait")
}

fn remark(run: &Run) -> String {
    conclude(run).verdict.findings.remark.text
}

/// A mail server that greets late from the begin of the run delays one request, and the system carries the load.
#[test]
fn a_request_that_waits_for_a_second_in_one_call_is_reported_with_it() {
    let mut run = steady(1.5, 0.02);
    waiting_in(&mut run, "send_mail mail.py", 2.9);
    let found = findings(&run);
    let claim = "waiting for the network, a disk or another process in `send_mail mail.py` below `checkout orders.py`";
    let first = &found[0];
    assert!(first.rule == "long-wait" && first.claim.ends_with(claim) && first.confidence == Confidence::Medium, "{}", shown(&found));
    assert!(first.claim.starts_with("Each \"Buy\" takes 1.5"), "{}", first.claim);
    assert!(first.evidence[0].text.contains(", 2.95 waited for the network"), "{}", shown(&found));
}

/// The same share of the time, but no user notices it: the remark states the place.
#[test]
fn a_short_wait_is_a_remark() {
    let mut run = steady(0.15, 0.02);
    waiting_in(&mut run, "send_mail mail.py", 0.2);
    assert!(named(&findings(&run)).is_none(), "{}", shown(&findings(&run)));
    assert!(remark(&run).contains(" waited for the network, a disk or another process in `send_mail mail.py`"), "{}", remark(&run));
}

/// Long requests whose time is spent elsewhere, or that may be spent by another request.
#[test]
fn a_wait_that_explains_too_little_is_not_reported() {
    for (buy, list, threads) in [(1.5, 0.02, 1.0), (1.5, 1.4, 3.5), (1.5, 0.02, 14.0)] {
        let mut run = steady(buy, list);
        waiting_in(&mut run, "send_mail mail.py", threads);
        assert!(named(&findings(&run)).is_none(), "{buy} {list} {threads}: {}", shown(&findings(&run)));
    }
}

fn round_trips(run: &mut Run, seconds: f64) {
    gauge("redis", "round_trip").role(Role::RoundTrip).unit("seconds").each_second(run, |second| seconds + 0.001 * (second % 3) as f64);
    run.plan.observers = vec![json!({ "kind": "redis", "url": "redis://127.0.0.1:6380" })];
}

/// Another client's long commands hold up a Redis from the begin of the run.
#[test]
fn a_server_that_answers_its_observer_late_is_reported() {
    let mut run = steady(0.3, 0.3);
    awaited(&mut run, "127.0.0.1:6380", 1.0);
    round_trips(&mut run, 0.28);
    let found = findings(&run);
    let claim = "Requests spend 87.7 % of their time waiting for answers of 127.0.0.1:6380 (\"redis\"); half of its observer's round trips take 281 ms or \
                 longer";
    assert!(named(&found).is_some_and(|finding| finding.claim == claim), "{}", shown(&found));
    // A server at another address, and one that is fast.
    round_trips(&mut run, 0.000_4);
    assert!(named(&findings(&run)).is_none(), "{}", shown(&findings(&run)));
    assert!(remark(&run).contains("waited for answers of 127.0.0.1:6380 (\"redis\")"), "{}", remark(&run));
}

/// A proxy waits for the service behind it. The service computes, or waits for its own dependencies.
#[test]
fn a_service_that_has_the_requests_itself_is_no_place_to_wait_for() {
    let behind_a_proxy = |computes: f64| {
        let mut run = steady(1.5, 0.02);
        gauge("nginx", "awaited").role(Role::CallsAwaited).part("127.0.0.1:8000").each_second(&mut run, |_| 3.0);
        counter("app", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| computes);
        run.plan.observers = vec![json!({ "kind": "process", "port": 8000, "name": "app" })];
        run
    };
    let found = findings(&behind_a_proxy(2.0));
    assert!(named(&found).is_none(), "{}", shown(&found));
    let found = findings(&behind_a_proxy(0.1));
    assert!(
        named(&found).is_some_and(|finding| finding.claim.ends_with("waiting for answers of 127.0.0.1:8000 (\"app\")")),
        "{}",
        shown(&found)
    );
}

/// A client of a registry waits for changes all the time, with as many calls as there are requests on average.
#[test]
fn a_long_poll_is_no_place_of_requests() {
    let mut run = varying(1.0, 0.02, 0.8);
    gauge("app", "awaited").role(Role::CallsAwaited).part("127.0.0.1:8500").each_second(&mut run, |_| 3.0);
    let found = findings(&run);
    assert!(named(&found).is_none() && !remark(&run).contains("8500"), "{}\n{}", shown(&found), remark(&run));
}

#[test]
fn a_statement_with_most_of_the_time_is_a_remark() {
    let mut run = steady(0.5, 0.1);
    let sessions = gauge("postgres", "sessions").role(Role::SessionsByStatement).label("statement", "SELECT 1");
    sessions.each_second(&mut run, |second| 0.8 + 0.1 * (second % 2) as f64);
    assert!(remark(&run).contains("waited for the statement `SELECT 1` of \"postgres\""), "{}", remark(&run));
    assert!(named(&findings(&run)).is_none());
}
