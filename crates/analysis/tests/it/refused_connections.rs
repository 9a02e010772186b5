//! Databases that refuse connections while requests fail, and failures with another cause.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{Outcome, Role};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::synthetic::{self, MS, SECOND, Slice, counter, gauge};

const SECONDS: u64 = 40;
/// When failures begin.
const FROM: u64 = 16;

/// A ramp from 2/s to 20/s of requests that take 60 ms. From then on, a quarter of them fails after a fourth of that time.
fn failing(from: u64) -> Run {
    failing_after(from, 15)
}

fn failing_after(from: u64, failed_ms: u64) -> Run {
    let slice = |second: u32| {
        let rate = 2 + 18 * u64::from(second) / SECONDS;
        let mut slice = Slice::new(second).arrivals(rate);
        for n in 0..rate {
            let fails = u64::from(second) >= from && n % 4 == 0;
            let (ms, outcome) = if fails { (failed_ms, Outcome::Status) } else { (60, Outcome::Passed) };
            slice = slice.request("Show flow", 0, ms * MS + n * MS / 5, outcome);
        }
        slice.done()
    };
    let stage = OpenStage::Rate { from: 2.0, to: 20.0, duration_ns: SECONDS * SECOND, timing: Timing::Even };
    let plan = synthetic::plan(LoadProfile::Open { stages: vec![stage] });
    synthetic::run_of(plan, (0..SECONDS as u32).map(slice).collect())
}

/// With so many open connections by second.
fn with_connections(open: impl Fn(u64) -> f64) -> Run {
    with_connections_from(FROM, open)
}

fn with_connections_from(from: u64, open: impl Fn(u64) -> f64) -> Run {
    observed(failing(from), open)
}

fn observed(mut run: Run, open: impl Fn(u64) -> f64) -> Run {
    gauge("postgres", "connections_total").role(Role::ConnectionsOpen).each_second(&mut run, open);
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |_| 0.3);
    run
}

/// Two or three, and from 0:16 on exactly three.
fn rises_to_three(second: u64) -> f64 {
    if second < FROM { 1.0 + (second % 2) as f64 } else { 3.0 }
}

fn refused(found: &[Finding]) -> Option<&Finding> {
    found.iter().find(|finding| finding.rule == "refused-connections")
}

#[test]
fn a_limit_of_a_role_that_is_in_use_is_the_cause_of_failures() {
    let mut run = with_connections(|second| 4.0 + rises_to_three(second));
    let of_role = |metric, role| gauge("postgres", metric).role(role).part("role app");
    of_role("connections_limited", Role::LimitedConnections).each_second(&mut run, rises_to_three);
    of_role("connections_allowed", Role::LimitedConnectionsMax).each_second(&mut run, |_| 3.0);
    let found = findings(&run);
    let claim = "\"postgres\" refuses further connections from 0:16 on: it allows the role app 3, all in use, and ";
    assert!(found[0].rule == "refused-connections" && found[0].claim.starts_with(claim), "{}", shown(&found));
    assert_eq!(found[0].confidence, Confidence::High);
    // The failures are its consequence.
    assert!(found.iter().skip(1).any(|finding| finding.rule == "failures"), "{}", shown(&found));
    // A limit that is not reached explains nothing.
    of_role("connections_allowed", Role::LimitedConnectionsMax).each_second(&mut run, |_| 30.0);
    let found = findings(&run);
    assert!(refused(&found).is_none_or(|finding| finding.confidence < Confidence::High), "{}", shown(&found));
}

#[test]
fn refusals_that_the_server_counts_name_the_number_of_connections() {
    for (metric, role) in [("connections_refused", Role::ConnectionsRefused), ("connections_failed", Role::ConnectionsFailed)] {
        let mut run = with_connections(rises_to_three);
        counter("postgres", metric).role(role).each_second(&mut run, |second| if second < FROM { 0.0 } else { 3.0 });
        let found = findings(&run);
        let claim = "\"postgres\" refuses connections beyond 3 from 0:16 on, and ";
        assert!(found[0].claim.starts_with(claim) && found[0].confidence == Confidence::High, "{}", shown(&found));
        // Fast failures next to slow successes are no slow instance.
        assert!(found.iter().all(|finding| finding.rule != "slow-part" && finding.rule != "two-kinds"), "{}", shown(&found));
        // As many as before the failures began: a client with a wrong password.
        counter("postgres", metric).role(role).each_second(&mut run, |_| 3.0);
        let found = findings(&run);
        assert!(refused(&found).is_none_or(|finding| finding.confidence < Confidence::High), "{}", shown(&found));
    }
}

/// Nothing counts what PostgreSQL refuses by a role's limit.
#[test]
fn a_number_of_connections_that_is_reached_with_the_first_failures_is_a_limit() {
    let found = findings(&with_connections(rises_to_three));
    let claim = "The system reaches 3 connections to \"postgres\" and gets no more from 0:16 on, and ";
    assert!(found[0].claim.starts_with(claim) && found[0].confidence == Confidence::Medium, "{}", shown(&found));
}

#[test]
fn failures_with_another_cause_are_no_refused_connections() {
    let quiet = |name: &str, run: &Run| {
        let found = findings(run);
        assert!(refused(&found).is_none(), "{name}: {}", shown(&found));
        assert_eq!(found[0].rule, "failures", "{name}: {}", shown(&found));
    };
    quiet("a pool that was filled at the start", &with_connections(|_| 10.0));
    quiet("a pool that was filled at the start, soon before", &with_connections_from(4, |_| 1.0));
    quiet("connections that come and go", &with_connections(|second| 2.0 + (second % 5) as f64));
    quiet("a pool that grew long before", &with_connections(|second| f64::min(second as f64, 6.0)));
    quiet("more connections than ever", &with_connections(|second| 1.0 + second as f64 / 4.0));
    quiet("a pool that fills while statements wait and time out", &observed(failing_after(FROM, 500), rises_to_three));
    quiet("a single refused connection", &{
        let mut run = with_connections(|_| 10.0);
        counter("postgres", "refused").role(Role::ConnectionsRefused).each_second(&mut run, |second| f64::from(u8::from(second == 20)));
        run
    });
}
