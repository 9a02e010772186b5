//! Failed requests whose place only the calls to dependencies show, without spans.

use loadstone_analysis::{Finding, Subject, conclude};
use loadstone_metrics::{Outcome, Role, SeriesKind};
use loadstone_run_directory::Run;

use crate::synthetic::{self, MS, Slice, gauge, open, plan};

const RATE: u64 = 40;
const FAILED_FROM: u32 = 40;

/// Every tenth of 40 requests a second fails from 0:40 on.
fn run() -> Run {
    let slices = (0..60u32).map(|second| {
        let mut slice = Slice::new(second).arrivals(RATE);
        for number in 0..RATE {
            let fails = second >= FAILED_FROM && number % 10 == 0;
            slice.record(SeriesKind::Request, "Show", 0, 10 * MS, if fails { Outcome::Status } else { Outcome::Passed });
        }
        slice.done()
    });
    synthetic::run_of(plan(open(RATE as f64, 60)), slices.collect())
}

/// A dependency with 30 calls per second, and those that it does not answer.
fn dependency(run: &mut Run, name: &str, unanswered: impl Fn(u64) -> f64) {
    gauge(name, "calls").role(Role::Calls).each_second(run, |_| 30.0);
    gauge(name, "answered").role(Role::CallsAnswered).each_second(run, |second| 30.0 - unanswered(second));
}

fn failures(run: &Run) -> Finding {
    let found = conclude(run).verdict.findings.findings;
    found.iter().find(|finding| finding.rule == "failures").cloned().unwrap_or_else(|| panic!("{found:#?}"))
}

fn since(at: u32, calls: f64) -> impl Fn(u64) -> f64 {
    move |second| if second >= u64::from(at) { calls } else { 0.0 }
}

#[test]
fn the_dependency_that_left_as_many_calls_unanswered_is_the_place() {
    let mut run = run();
    // "bank" is behind "payment": it is called twice for each order.
    dependency(&mut run, "payment", since(FAILED_FROM, 4.0));
    dependency(&mut run, "bank", since(FAILED_FROM, 8.0));
    dependency(&mut run, "cart", |second| if second % 7 == 0 { 1.0 } else { 0.0 });
    let found = failures(&run);
    assert_eq!(found.subject, Subject::Endpoint { name: "bank".to_owned() });
    assert!(found.claim.ends_with(": \"bank\" left as many calls unanswered"), "{}", found.claim);
    let text = "\"bank\" left 8/s unanswered, and 0/s in other seconds: 160 more calls, for 80 more failed requests";
    assert!(
        found.evidence.iter().any(|evidence| evidence.text == text && evidence.series == ["bank/calls", "bank/answered"]),
        "{found:#?}"
    );
    assert!(found.alternatives.iter().any(|other| other.text.starts_with("\"payment\", which also left calls unanswered")), "{found:#?}");
}

#[test]
fn other_numbers_and_other_times_of_unanswered_calls_are_no_place() {
    let about = Subject::request("Show");
    let of = |unanswered: &dyn Fn(u64) -> f64| {
        let mut run = run();
        dependency(&mut run, "payment", unanswered);
        failures(&run)
    };
    for (what, found) in [
        ("as many before", of(&|_| 4.0)),
        ("a tenth of them", of(&since(FAILED_FROM, 0.4))),
        ("far more", of(&since(FAILED_FROM, 28.0))),
        ("half a minute earlier", of(&|second| if (10..30).contains(&second) { 4.0 } else { 0.0 })),
    ] {
        assert_eq!(found.subject, about, "{what}: {found:#?}");
    }
    // A dependency that is called more often leaves more calls unanswered.
    let mut run = run();
    let twice = |second: u64| if second >= u64::from(FAILED_FROM) { 80.0 } else { 40.0 };
    gauge("payment", "calls").role(Role::Calls).each_second(&mut run, twice);
    gauge("payment", "answered").role(Role::CallsAnswered).each_second(&mut run, |second| 0.9 * twice(second));
    assert_eq!(failures(&run).subject, about);
}
