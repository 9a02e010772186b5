//! Resources that fill up while the load is constant and requests are fast: reported before requests wait for them, and when they do.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::Role;
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::fluid::constant;
use crate::pipeline::{Pipeline, healthy, simulate};
use crate::synthetic::{MS, SECOND, Slice, gauge};

const RATE: u64 = 50;

fn of_rule<'f>(found: &'f [Finding], rule: &str) -> Option<&'f Finding> {
    found.iter().find(|finding| finding.rule == rule)
}

fn lookups(run: &mut Run, count: impl Fn(u64) -> f64) {
    gauge("node:80", "work").role(Role::RuntimeWork).label("type", "look-ups of names").each_second(run, count);
    gauge("node:80", "work_max").role(Role::RuntimeWorkMax).label("type", "look-ups of names").each_second(run, |_| 2.0);
}

fn asked(run: &mut Run, rate: impl Fn(u64) -> f64) {
    gauge("stub:dns", "lookups").role(Role::NameLookups).label("name", "statsd.test").each_second(run, rate);
}

/// Requests are fast for two minutes, while the queue of look-ups grows by 40 each second.
fn short() -> Run {
    let mut run = constant(120, RATE, |_| (5 * MS, 0));
    lookups(&mut run, |second| 40.0 * second as f64 + (second % 3) as f64);
    run
}

#[test]
fn a_run_that_is_too_short_reports_that_and_the_reason() {
    let mut run = short();
    asked(&mut run, |_| 400.0);
    let found = findings(&run);
    let reported = &found[0];
    assert!(reported.rule == "growing-backlog" && reported.confidence == Confidence::High, "{}", shown(&found));
    assert!(
        reported.claim.contains("look-ups of names have piled up in \"node:80\", 40") && reported.claim.contains("requests remain fast"),
        "{}",
        shown(&found)
    );
    // 4,760 in the queue at 400 per second are 12 s. The time limit of 30 s is reached at 12,000, 180 s later.
    let text = &reported.evidence[1].text;
    assert!(text.contains("waits 11.8 s in the queue") && text.contains("100 ms longer each second"), "{text}");
    assert!(text.contains("after another 182 s") || text.contains("after another 3 min") || text.contains("after another 182"), "{text}");
    assert!(reported.alternatives.is_empty() && reported.next.contains("or only memory grows"), "{}", shown(&found));
    assert!(reported.next.starts_with("Run for 600 s") || reported.next.starts_with("Run for 10 min"), "{}", reported.next);
}

#[test]
fn the_queue_that_had_grown_when_requests_began_to_wait_is_named_with_the_time() {
    let mut run = constant(240, RATE, |second| (if second < 150 { 5 * MS } else { 4_000 * MS }, 0));
    lookups(&mut run, |second| 40.0 * second.min(160) as f64);
    let found = findings(&run);
    let reported = &found[0];
    assert!(reported.rule == "late-onset" && reported.confidence == Confidence::High, "{}", shown(&found));
    assert!(reported.claim.contains("look-ups of names had piled up in \"node:80\""), "{}", shown(&found));
    let at: f64 = reported.evidence[0].to_seconds;
    assert!((140.0..=152.0).contains(&at), "{at}: {}", shown(&found));
}

/// The load ends three seconds after requests begin to wait, so no second of it is slow. The waiting requests end eighteen seconds later.
#[test]
fn requests_that_begin_to_wait_at_the_end_of_the_load_are_not_reported_as_fast() {
    let mut run = short();
    run.slices.truncate(118);
    run.slices.push(Slice::new(139).requests("Order", 100, 21 * SECOND).done());
    let found = findings(&run);
    let reported = &found[0];
    assert!(reported.rule == "late-onset" && reported.confidence == Confidence::Medium, "{}", shown(&found));
    assert!(
        reported.claim.starts_with("Requests wait from 1:58 on") && reported.claim.contains("look-ups of names had piled up"),
        "{}",
        shown(&found)
    );
    assert!(reported.evidence[1].text.starts_with("100 requests that began from then on took up to 21.0 s"), "{}", shown(&found));
    assert!(of_rule(&found, "growing-backlog").is_none(), "{}", shown(&found));
}

#[test]
fn queues_that_level_off_or_fluctuate_are_no_finding() {
    let steady = || constant(120, RATE, |_| (5 * MS, 0));
    let quiet = |name: &str, count: &dyn Fn(u64) -> f64| {
        let mut run = steady();
        lookups(&mut run, count);
        let found = findings(&run);
        assert!(of_rule(&found, "growing-backlog").is_none() && of_rule(&found, "late-onset").is_none(), "{name}: {}", shown(&found));
    };
    quiet("level", &|_| 3_000.0);
    quiet("levels off", &|second| 3_000.0 * (1.0 - (-(second as f64) / 15.0).exp()));
    quiet("saw-tooth", &|second| 100.0 * (second % 30) as f64);
    quiet("a few", &|second| second as f64 / 10.0);
    quiet("shrinks", &|second| 5_000.0 - 40.0 * second as f64);
}

#[test]
fn a_queue_that_grows_with_the_load_is_no_finding() {
    let mut run = constant(30, RATE, |_| (5 * MS, 0));
    lookups(&mut run, |second| 40.0 * second as f64);
    let found = findings(&run);
    assert!(of_rule(&found, "growing-backlog").is_none(), "{}", shown(&found));
}

/// A name that moves to its second address after 60 s.
fn moved(asks: impl Fn(u64) -> f64, believed: f64) -> Run {
    let mut run = constant(120, RATE, |_| (5 * MS, 0));
    asked(&mut run, asks);
    gauge("stub:dns", "ttl").role(Role::NameBelieved).label("name", "statsd.test").each_second(&mut run, |_| believed);
    let number = |second| if second < 60 { 1.0 } else { 2.0 };
    gauge("stub:dns", "address_number").role(Role::NameAddress).label("name", "statsd.test").each_second(&mut run, number);
    run
}

#[test]
fn a_name_that_moved_and_was_not_resolved_again_is_found() {
    let found = findings(&moved(|second: u64| if second == 1 { 2.0 } else { 0.0 }, 5.0));
    let reported = of_rule(&found, "stale-address").unwrap_or_else(|| panic!("{}", shown(&found)));
    assert!(reported.claim.starts_with("\"statsd.test\" got another address at 1:0"), "{}", reported.claim);
    assert!(reported.evidence[0].text.contains("looked it up 2 times before, last at 0:02"), "{}", reported.evidence[0].text);
    let persistent = "A persistent connection, which needs no lookup while it is open. Not ruled out";
    assert!(reported.confidence == Confidence::Medium && reported.alternatives[0].text.starts_with(persistent), "{}", shown(&found));
    // Resolved again, cached for longer than the run, or never used.
    let once = |second: u64| f64::from(u8::from(second == 1));
    let often = |second: u64| f64::from(u8::from(second.is_multiple_of(5)));
    for run in [moved(often, 5.0), moved(once, 60.0), moved(|_| 0.0, 5.0)] {
        let found = findings(&run);
        assert!(of_rule(&found, "stale-address").is_none(), "{}", shown(&found));
    }
}

/// Ten senders are too few for these journeys, which a message queue shows as well: the overload is visible, and no run is too short for
/// it.
#[test]
fn a_queue_with_visibly_waiting_journeys_is_not_reported_as_a_hidden_queue() {
    let with_queue = |senders: usize| {
        let mut run = simulate(&Pipeline { senders, ..healthy() }, 2);
        gauge("redis", "list").part("queue:send").role(Role::QueueLength).each_second(&mut run, |second| 4.0 * second.min(60) as f64);
        findings(&run)
    };
    let found = with_queue(20);
    assert!(of_rule(&found, "growing-backlog").is_some(), "{}", shown(&found));
    let found = with_queue(10);
    assert!(found[0].rule == "workers" && of_rule(&found, "growing-backlog").is_none(), "{}", shown(&found));
}
