//! The first finding is the cause of most of the added time, not of a short part of the run.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{Outcome, Role};
use loadstone_plan::{ClosedStage, LoadProfile};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::draws::Draws;
use crate::synthetic::{self, MS, SECOND, Slice, gauge, open, plan};

const SECONDS: u32 = 100;
const RATE: u64 = 20;
/// When work waits for the pool, and when for a lock of the database.
const POOL_FROM: u64 = 12;
const LOCK_FROM: u64 = 50;

/// For so many seconds each, and so many requests at a time.
#[derive(Debug, Clone, Copy)]
struct Waits {
    pool: (u64, u64),
    lock: (u64, u64),
}

impl Waits {
    fn waiting(self, second: u64) -> (u64, u64) {
        let during = |from: u64, (seconds, count): (u64, u64)| if (from..from + seconds).contains(&second) { count } else { 0 };
        (during(POOL_FROM, self.pool), during(LOCK_FROM, self.lock))
    }

    fn run(self) -> Run {
        let second = |number: u32| {
            let (pool, lock) = self.waiting(u64::from(number));
            let mut slice = Slice::new(number).arrivals(RATE).requests("List", RATE, 10 * MS + (pool + lock) * SECOND / RATE).done();
            slice.generator[0].in_flight_ns = (pool + lock) * SECOND + RATE * 10 * MS;
            slice
        };
        let mut run = synthetic::run_of(plan(open(RATE as f64, u64::from(SECONDS))), (0..SECONDS).map(second).collect());
        let hikari = |metric, role| gauge("app", metric).role(role).part("shop");
        let (pool, lock) = (move |second| self.waiting(second).0 as f64, move |second| self.waiting(second).1 as f64);
        hikari("hikaricp_connections", Role::PoolSize).each_second(&mut run, |_| 10.0);
        hikari("hikaricp_connections_active", Role::PoolInUse).each_second(&mut run, |second| if pool(second) > 0.0 { 10.0 } else { 0.4 });
        hikari("hikaricp_connections_pending", Role::PoolWaiting).each_second(&mut run, pool);
        gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |second| 0.3 + lock(second));
        gauge("postgres", "sessions").role(Role::SessionsWaitingForLock).label("wait", "Lock:tuple").each_second(&mut run, lock);
        run
    }

    fn found(self) -> Vec<Finding> {
        findings(&self.run())
    }
}

#[test]
fn the_cause_of_most_of_the_added_time_ranks_first() {
    for seed in 0..crate::seeds(12, 200) {
        let mut draws = Draws::new(seed ^ 0x9a17);
        let between = |low: u64, high: u64, draws: &mut Draws| low + ((high - low) as f64 * draws.uniform()) as u64;
        let (short, long) =
            ((between(8, 12, &mut draws), between(6, 12, &mut draws)), (between(25, 35, &mut draws), between(20, 40, &mut draws)));
        for (waits, first) in
            [(Waits { pool: short, lock: long }, "database-waits"), (Waits { pool: long, lock: short }, "connection-pool")]
        {
            let found = waits.found();
            assert_eq!(found[0].rule, first, "{waits:?}: {}", shown(&found));
        }
    }
}

/// Without the other, the short one is the cause of all added time.
#[test]
fn a_short_cause_ranks_first_where_it_is_the_only_one() {
    let found = Waits { pool: (0, 0), lock: (10, 10) }.found();
    assert_eq!(found[0].rule, "database-waits", "{}", shown(&found));
    // The connections in use are as many as the requests that were added, and the database is idle.
    let found = Waits { pool: (10, 2), lock: (0, 0) }.found();
    assert_eq!(found[0].rule, "connection-pool", "{}", shown(&found));
    let found = Waits { pool: (0, 0), lock: (0, 0) }.found();
    assert!(found.is_empty(), "{}", shown(&found));
}

/// A ramp of users to a service that passes 100 requests per second. Above 37 users, `failed` of ten requests more end after the given time.
fn refusing(failed: u64, time: u64, outcome: Outcome) -> Vec<Finding> {
    let second = |number: u32| {
        let users = 1 + 2 * u64::from(number);
        let passed = (40 * users).min(100);
        let slice = Slice::new(number).leaf(|leaf| (leaf.users_asked, leaf.users_active) = (users, users));
        let slice = slice.requests("Show", passed, users.min(37) * SECOND / passed);
        let more = if users > 37 { passed * failed / 10 } else { 0 };
        (0..more).fold(slice, |slice, _| slice.request("Show", 0, time, outcome)).done()
    };
    let profile = LoadProfile::Closed { stages: vec![ClosedStage { from: 1, to: 61, duration_ns: 30 * SECOND }] };
    findings(&synthetic::run_of(plan(profile), (0..30).map(second).collect()))
}

#[test]
fn failures_of_many_requests_precede_a_guess_at_a_limit() {
    let found = refusing(9, 8 * MS, Outcome::Reset);
    let shows = |rule: &str| found.iter().any(|finding| finding.rule == rule);
    assert!(found[0].rule == "failures" && found[0].confidence == Confidence::High, "{}", shown(&found));
    assert!(shows("rate-limit"), "{}", shown(&found));
    // Few failures, and those of requests that waited, are effects of the limit.
    for found in [refusing(1, 8 * MS, Outcome::Reset), refusing(9, 2 * SECOND, Outcome::Timeout), refusing(9, 2 * SECOND, Outcome::Status)]
    {
        assert!(found[0].rule != "failures" && found.iter().any(|finding| finding.rule == "failures"), "{}", shown(&found));
    }
}
