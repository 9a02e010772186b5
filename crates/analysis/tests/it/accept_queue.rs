//! Servers with a process or thread per connection, of which all are busy: the kernel queues further connections.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{Outcome, Role};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::synthetic::{self, MS, SECOND, Slice, counter, gauge};

fn is_reported(found: &[Finding]) -> bool {
    found.iter().any(|finding| finding.rule == "accept-queue")
}

/// Three workers with keep-alive: requests on the accepted connections take 260 ms, about ten end per second, and all others wait to be accepted.
fn prefork(cpu: f64, queued: impl Fn(u64) -> f64) -> Run {
    let slice = |second: u32| {
        let asked = 4 + u64::from(second) / 2;
        Slice::new(second).leaf(|leaf| (leaf.arrivals_due, leaf.started, leaf.ended) = (asked, asked, 10)).requests(
            "Home",
            10,
            260 * 1_000_000,
        )
    };
    let stage = OpenStage::Rate { from: 4.0, to: 34.0, duration_ns: 60 * SECOND, timing: Timing::Even };
    let mut run =
        synthetic::run_of(synthetic::plan(LoadProfile::Open { stages: vec![stage] }), (0..60).map(|second| slice(second).done()).collect());
    counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| cpu);
    gauge("process:80", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |_| cpu.min(1.0) / 3.0);
    gauge("process:80", "threads").role(Role::ProcessThreads).each_second(&mut run, |_| 4.0);
    gauge("process:80", "accept_queue").role(Role::AcceptQueue).each_second(&mut run, queued);
    run
}

fn growing(second: u64) -> f64 {
    if second < 5 { 0.0 } else { (second - 5) as f64 + 9.0 }
}

#[test]
fn workers_that_are_all_busy_leave_connections_in_the_accept_queue() {
    let found = findings(&prefork(0.3, growing));
    let first = &found[0];
    assert!(first.rule == "accept-queue" && first.confidence == Confidence::High, "{}", shown(&found));
    assert!(
        first.claim.starts_with("Connections wait until \"process:80\" accepts them, from 0:06 on and up to 63 at once"),
        "{}",
        first.claim
    );
    assert!(first.evidence.iter().any(|evidence| evidence.text.contains("its 4 threads")), "{}", shown(&found));
}

/// The process is idle: it cannot open another descriptor.
#[test]
fn a_process_without_free_descriptors_is_not_called_busy() {
    let with_descriptors = |open: fn(u64) -> f64| {
        let mut run = prefork(0.05, growing);
        gauge("process:80", "descriptors").role(Role::ProcessDescriptors).each_second(&mut run, open);
        gauge("process:80", "descriptors_limit").role(Role::ProcessDescriptorsMax).each_second(&mut run, |_| 1024.0);
        findings(&run)
    };
    let found = with_descriptors(|second| if second < 5 { 25.0 } else { 1024.0 });
    let claim = "accepts them, from 0:06 on and up to 63 at once: all its 1,024 descriptors are open";
    assert!(found[0].claim.ends_with(claim), "{}", shown(&found));
    assert!(
        found[0].evidence.iter().any(|evidence| evidence.text == "process:80/descriptors reached the limit of 1,024"),
        "{}",
        shown(&found)
    );
    let found = with_descriptors(|_| 900.0);
    assert!(found[0].claim.contains("all its workers are busy"), "{}", shown(&found));
}

/// Others open and close connections by turns from the start on.
#[test]
fn a_process_that_lacks_descriptors_by_turns_from_the_start_is_named_too() {
    let is_full = |second: u64| second % 7 < 5;
    let with_descriptors = |open: f64| {
        let mut run = prefork(0.05, |second| if second % 7 < 5 { 40.0 } else { 0.0 });
        gauge("process:80", "descriptors")
            .role(Role::ProcessDescriptors)
            .each_second(&mut run, |second| if is_full(second) { open } else { 500.0 });
        gauge("process:80", "descriptors_limit").role(Role::ProcessDescriptorsMax).each_second(&mut run, |_| 1024.0);
        findings(&run)
    };
    let found = with_descriptors(1024.0);
    assert!(found[0].claim.ends_with("all its 1,024 descriptors are open"), "{}", shown(&found));
    let found = with_descriptors(900.0);
    assert!(!is_reported(&found), "{}", shown(&found));
}

#[test]
fn a_queue_that_is_as_long_from_the_start_is_reported_too() {
    let found = findings(&prefork(0.3, |_| 20.0));
    assert!(is_reported(&found), "{}", shown(&found));
}

#[test]
fn connections_that_wait_for_a_moment_are_no_finding() {
    let moments: [fn(u64) -> f64; 3] = [|_| 0.0, |second| if second % 5 == 0 { 20.0 } else { 0.0 }, |_| 2.0];
    for queued in moments {
        let found = findings(&prefork(0.3, queued));
        assert!(!is_reported(&found), "{}", shown(&found));
    }
}

#[test]
fn workers_that_compute_with_all_cores_are_not_too_few() {
    let found = findings(&prefork(2.0, growing));
    assert!(!is_reported(&found), "{}", shown(&found));
}

/// Nothing is observed. Three connections are served in the first seconds, and requests on them for the whole run. Those on new connections stay open, or
/// `first_answers` of each second end.
fn keep_alive(first_answers: u64) -> Run {
    let slice = |second: u32| {
        let mut slice = Slice::new(second).arrivals(20).requests("Home", 10, 260 * MS);
        for _ in 0..if second < 3 { 1 } else { first_answers } {
            slice = slice.request_connecting("Home", MS, 260 * MS);
        }
        for open in if second == 39 { 0..60 } else { 0..0 } {
            slice = slice.request("Home", 0, (5 + open / 2) * SECOND, Outcome::Interrupted);
        }
        slice.generator(|generator| generator.connections_opened = 4).done()
    };
    synthetic::run_of(synthetic::plan(synthetic::open(20.0, 40)), (0..40).map(slice).collect())
}

#[test]
fn new_connections_that_nobody_serves_show_workers_held_by_open_ones() {
    let found = findings(&keep_alive(0));
    let claim = "No new connection was served from 0:03 to 0:40, while requests on 3 older connections were";
    assert!(found[0].rule == "unanswered" && found[0].claim.starts_with(claim), "{}", shown(&found));
    assert!(
        found[0].evidence.iter().any(|evidence| evidence.text.starts_with("148 connections were opened from 0:03 to 0:40")),
        "{}",
        shown(&found)
    );
    // Where some new connections are served, something else is not released.
    let found = findings(&keep_alive(1));
    assert!(found[0].claim.starts_with("60 requests of \"Home\" got no response"), "{}", shown(&found));
}
