//! Requests that hold up others while they are under way, and requests that happen to be under way while others are slow.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{Outcome, Role, SeriesKind};
use loadstone_run_directory::Run;

use crate::changes::noise;
use crate::concluded::{findings, shown};
use crate::draws::Draws;
use crate::synthetic::{self, Slice, gauge, open, plan};

/// One minute with 20 of "List" per second, which take 3 ms, and "Export", which takes 200 ms. `exports` decides whether one ends in a second, and `blocked` by
/// how long a fifth of the others are delayed in it. Seconds.
fn service(exports: impl Fn(u32) -> bool, blocked: impl Fn(u32) -> f64) -> Run {
    let mut draws = Draws::new(3);
    let slices = (0..60).map(|second| {
        let mut slice = Slice::new(second).arrivals(20);
        for number in 0..20 {
            let delay = if number % 5 == 0 { blocked(second) * (0.5 + 0.5 * draws.uniform()) } else { 0.0 };
            let time = 0.003 * noise(0.2, &mut draws) + delay;
            slice.record(SeriesKind::Request, "List", 20_000, (time * 1e9) as u64, Outcome::Passed);
        }
        if exports(second) {
            slice.record(SeriesKind::Request, "Export", 20_000, (0.2 * noise(0.02, &mut draws) * 1e9) as u64, Outcome::Passed);
        }
        slice.done()
    });
    synthetic::run_of(plan(open(20.0, 60)), slices.collect())
}

fn named(run: &Run) -> Option<Finding> {
    findings(run).into_iter().find(|finding| finding.rule == "interference")
}

#[test]
fn a_request_that_blocks_an_event_loop_is_named() {
    let exports = |second: u32| second.is_multiple_of(2);
    let mut run = service(exports, |second| if exports(second) { 0.2 } else { 0.0 });
    let found = findings(&run);
    assert!(found[0].rule == "interference" && found[0].confidence == Confidence::High, "{}", shown(&found));
    assert!(found[0].claim.starts_with("\"Export\" holds up other requests: the longest of them take 1"), "{}", found[0].claim);
    assert!(found[0].next.contains("\"Export\" and \"List\" share"), "{}", found[0].next);
    let delay = gauge("node:80", "delay_max").role(Role::EventLoopDelay).unit("seconds");
    delay.each_second(&mut run, |second| if exports(second as u32) { 0.19 } else { 0.002 });
    let found = findings(&run);
    assert!(found[0].claim.starts_with("\"Export\" holds up other requests: it blocks the event loop"), "{}", shown(&found));
}

/// Every seven seconds: the pauses are periodic, and the request explains them.
#[test]
fn the_request_ranks_before_the_pauses_that_it_causes() {
    let exports = |second: u32| second % 7 == 3;
    let found = findings(&service(exports, |second| if exports(second) { 0.2 } else { 0.0 }));
    assert_eq!(found[0].rule, "interference", "{}", shown(&found));
}

#[test]
fn requests_that_do_not_hold_up_others_are_not_accused() {
    let quiet = |name: &str, run: &Run| assert!(named(run).is_none(), "{name}: {}", named(run).unwrap().claim);
    let mut draws = Draws::new(9);
    let random: Vec<bool> = (0..60).map(|_| draws.uniform() < 0.4).collect();
    let other: Vec<bool> = (0..60).map(|_| draws.uniform() < 0.3).collect();
    let when = |list: &Vec<bool>, second: u32| list[second as usize];
    quiet("nobody waits", &service(|second| second.is_multiple_of(2), |_| 0.0));
    quiet("all the time", &service(|_| true, |second| if second.is_multiple_of(2) { 0.2 } else { 0.0 }));
    quiet("pauses of something else", &service(|second| when(&random, second), |second| if when(&other, second) { 0.2 } else { 0.0 }));
    quiet("others wait at any time", &service(|second| when(&random, second), |_| 0.2));
    quiet("a few times", &service(|second| second % 20 == 5, |second| if second % 20 == 5 { 0.2 } else { 0.0 }));
    quiet("half of the pauses", &service(|second| second % 10 == 3, |second| if second % 5 == 3 { 0.2 } else { 0.0 }));
    quiet("far longer than it takes", &service(|second| second % 5 == 3, |second| if second % 5 == 3 { 3.0 } else { 0.0 }));
}
