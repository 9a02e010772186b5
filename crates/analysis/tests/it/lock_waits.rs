//! Locks that hold up requests for a while, and chains of sessions that wait for each other.

use loadstone_analysis::Finding;
use loadstone_metrics::{Outcome, Role};

use crate::concluded::{findings, shown};
use crate::fluid::{Load, System};
use crate::synthetic::{self, MS, Slice, counter, gauge};

/// A table is locked for 2.5 s of every 10.5 s. A request that waits for it ends after the lock.
#[test]
fn a_recurring_lock_is_seen_while_its_requests_are_in_progress() {
    let locked = |at: f64| at % 10.5 >= 8.0;
    // Six requests a second, filed under the second in which they end.
    let mut ending: Vec<Vec<u64>> = vec![Vec::new(); 84];
    for number in 0..84 * 6 {
        let start = f64::from(number) / 6.0 + 0.01;
        let wait = (0..100).map(|step| f64::from(step) / 40.0).find(|wait| !locked(start + wait)).unwrap_or(0.0);
        if let Some(second) = ending.get_mut((start + wait + 0.02) as usize) {
            second.push(((wait + 0.02) * 1e9) as u64 + u64::from(number as u32 % 5) * MS);
        }
    }
    let slice = |second: u32| {
        let slice = Slice::new(second).arrivals(6).requests("Home", 6, 10 * MS);
        ending[second as usize].iter().fold(slice, |slice, service| slice.requests("Show issue", 1, *service)).done()
    };
    let mut run = synthetic::run_of(synthetic::plan(synthetic::open(6.0, 84)), (0..84).map(slice).collect());
    let at = |second: u64| locked(second as f64 + 0.5);
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |second| if at(second) { 6.0 } else { 0.1 });
    let wait = gauge("postgres", "sessions").role(Role::SessionsWaitingForLock).label("wait", "Lock:relation");
    wait.each_second(&mut run, |second| if at(second) { 5.0 } else { 0.0 });
    counter("process:80", "run_delay")
        .role(Role::ProcessRunDelay)
        .each_second(&mut run, |second| if !at(second) && second > 0 && at(second - 1) { 4.0 } else { 0.01 });
    let found = findings(&run);
    let stall = &found[0];
    assert!(stall.claim.contains("sessions of its database then wait for a lock (Lock:relation)"), "{}", shown(&found));
    let is_correlated = |text: &str| text.starts_with("postgres/sessions{wait=Lock:relation} changes at the same time");
    assert!(stall.evidence.iter().any(|evidence| is_correlated(&evidence.text)), "{}", shown(&found));
    assert!(stall.next.starts_with("Find what holds the lock every 10."), "{}", stall.next);
}

/// Sessions wait for each other in a chain. Its head is a transaction that waits for nothing.
#[test]
fn a_chain_of_blocked_sessions_is_followed_to_its_head() {
    let fluid = System { capacity: 20.0, base: 0.05, is_shared: false }.under(Load::Ramp(1.0, 40.0, 60));
    let (update, alter, report) = ("update stock set left = $1", "alter table stock add note text", "select * from stock");
    let evidence = |pairs: &[(&str, &str, f64)]| {
        let mut run = fluid.run.clone();
        let waiting = |second: u64| fluid.open[second as usize];
        gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |second| waiting(second) + 0.2);
        let wait = gauge("postgres", "sessions").role(Role::SessionsWaitingForLock).label("wait", "Lock:tuple");
        wait.each_second(&mut run, waiting);
        for (statement, by, part) in pairs {
            let pair = gauge("postgres", "blocked_by").role(Role::SessionsBlockedBy).label("statement", statement).label("by", by);
            let pair = if *by == report { pair.label("holder", "reports") } else { pair };
            pair.each_second(&mut run, |second| part * waiting(second));
        }
        shown(&findings(&run))
    };
    let found = evidence(&[(update, alter, 0.9), (alter, report, 0.1)]);
    assert!(
        found.contains(&format!(
            "`{update}` behind a session in `{alter}`, which waits for one of \"reports\" whose last statement was `{report}`"
        )),
        "{found}"
    );
    let found = evidence(&[(update, update, 0.9), (update, report, 0.1)]);
    let expected =
        format!("`{update}` behind others of the same, and these behind a session of \"reports\" whose last statement was `{report}`");
    assert!(found.contains(&expected), "{found}");
    // A deadlock has no head.
    let found = evidence(&[(update, alter, 0.6), (alter, update, 0.4)]);
    assert!(found.contains(&format!("`{update}` behind a session whose last statement was `{alter}`")), "{found}");
}

/// Thirty orders a second take 100 ms each, of which half is spent behind a row that another order has locked. Nothing is limited yet.
#[test]
fn a_lock_that_takes_much_of_the_time_is_reported_before_it_is_a_limit() {
    let with_lock = |waiting: &dyn Fn(u64) -> f64| {
        let slice = |second: u32| Slice::new(second).arrivals(30).requests("Order", 30, 100 * MS).done();
        let mut run = synthetic::run_of(synthetic::plan(synthetic::open(30.0, 40)), (0..40).map(slice).collect());
        gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |second| waiting(second) + 0.6);
        let wait = gauge("postgres", "sessions").role(Role::SessionsWaitingForLock).label("wait", "Lock:transactionid");
        wait.each_second(&mut run, waiting);
        findings(&run)
    };
    let found = with_lock(&|second| if second % 3 == 0 { 0.6 } else { 1.8 });
    let expected = "of their time waiting for Lock:transactionid at any load";
    assert!(found.first().is_some_and(|first| first.rule == "database-waits" && first.claim.contains(expected)), "{}", shown(&found));
    // A few short waits, and one that is long: the time of requests is spent elsewhere.
    for waiting in [&(|_| 0.3) as &dyn Fn(u64) -> f64, &|second| if second == 20 { 30.0 } else { 0.0 }] {
        let found = with_lock(waiting);
        assert!(found.iter().all(|finding| !finding.claim.contains(expected)), "{}", shown(&found));
    }
}

/// Orders take 50 ms. From 0:20 on a job locks their table again and again, and half of them wait for 0.5 s.
#[test]
fn a_lock_that_begins_with_a_change_is_its_cause_and_its_holder_is_named() {
    let slice = |second: u32| {
        let slice = Slice::new(second).arrivals(8).requests("Order", 8, 50 * MS + u64::from(second % 5) * MS);
        if second < 20 { slice.done() } else { slice.requests("Order", 8, 500 * MS + u64::from(second % 7) * MS).done() }
    };
    let with = |before: f64| {
        let mut run = synthetic::run_of(synthetic::plan(synthetic::open(8.0, 60)), (0..60).map(slice).collect());
        let waiting = move |second: u64| if second < 20 { before } else { [0.4, 2.0, 3.0][second as usize % 3] };
        gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, move |second| waiting(second) + 0.4);
        let wait = gauge("postgres", "sessions").role(Role::SessionsWaitingForLock).label("wait", "Lock:relation");
        wait.each_second(&mut run, waiting);
        let pair = gauge("postgres", "blocked_by").role(Role::SessionsBlockedBy).label("statement", "update stock set left = ?");
        pair.label("by", "select pg_sleep(?)").label("holder", "nightly").each_second(&mut run, waiting);
        findings(&run)
    };
    let found = with(0.0);
    assert_eq!(found[0].rule, "database-waits", "{}", shown(&found));
    assert!(found[0].claim.ends_with(", behind a session of \"nightly\""), "{}", shown(&found));
    assert!(found.iter().any(|finding| finding.rule == "change"), "{}", shown(&found));
}

/// A broker writes what it stores on one connection. From 0:20 on a job locks the table for half of the time: only one session ever waits.
#[test]
fn a_change_names_the_lock_for_which_sessions_wait_since() {
    let slice = |second: u32| {
        let time = if second < 20 { 20 * MS } else { 1_500 * MS } + u64::from(second % 5) * MS;
        Slice::new(second).arrivals(10).requests("Store", 10, time).requests("Read", 10, 2 * MS).done()
    };
    let with = |before: f64| {
        let mut run = synthetic::run_of(synthetic::plan(synthetic::open(10.0, 60)), (0..60).map(slice).collect());
        let waiting = move |second: u64| if second < 20 { before } else { [0.0, 0.5, 1.0][second as usize % 3] };
        gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, move |second| waiting(second) + 0.1);
        let wait = gauge("postgres", "sessions").role(Role::SessionsWaitingForLock).label("wait", "Lock:relation");
        wait.each_second(&mut run, waiting);
        let pair = gauge("postgres", "blocked_by").role(Role::SessionsBlockedBy).label("statement", "insert into messages values (?)");
        pair.label("by", "select pg_sleep(?)").label("holder", "nightly").each_second(&mut run, waiting);
        findings(&run)
    };
    let found = with(0.0);
    let holder = "most in `insert into messages values (?)` behind a session of \"nightly\" whose last statement was `select pg_sleep(?)`";
    assert!(found[0].rule == "change" && found[0].claim.ends_with(holder), "{}", shown(&found));
    assert!(found[0].next.starts_with("Find out what that session does from 0:"), "{}", found[0].next);
    // As many waited before.
    assert!(!with(0.5)[0].claim.contains("lock"), "{}", shown(&with(0.5)));
}

/// A second session locks a table for two of every seven seconds, at five requests a second. `idle` sessions wait for the same lock in the other seconds.
fn with_table_lock(idle: f64, fails: impl Fn(bool, u64) -> bool) -> Vec<Finding> {
    let locked = |at: f64| at % 7.0 >= 5.0;
    let mut ending: Vec<Vec<u64>> = vec![Vec::new(); 70];
    for number in 0..70 * 5 {
        let start = f64::from(number) / 5.0 + 0.01;
        let wait = (0..100).map(|step| f64::from(step) / 40.0).find(|wait| !locked(start + wait)).unwrap_or(0.0);
        if let Some(second) = ending.get_mut((start + wait + 0.02) as usize) {
            second.push(((wait + 0.02) * 1e9) as u64 + u64::from(number as u32 % 5) * MS);
        }
    }
    let slice = |second: u32| {
        let each = ending[second as usize].iter().zip(u64::from(second) * 5..);
        let slice = each.fold(Slice::new(second).arrivals(5), |slice, (ns, number)| {
            let outcome = if fails(*ns > 100 * MS, number) { Outcome::Status } else { Outcome::Passed };
            slice.request("List", 0, *ns, outcome)
        });
        slice.done()
    };
    let mut run = synthetic::run_of(synthetic::plan(synthetic::open(5.0, 70)), (0..70).map(slice).collect());
    let waiting = move |second: u64| if locked(second as f64 + 0.5) { 5.0 } else { idle };
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, move |second| waiting(second) + 0.1);
    gauge("postgres", "sessions").role(Role::SessionsWaitingForLock).label("wait", "Lock:relation").each_second(&mut run, waiting);
    let pair = gauge("postgres", "blocked_by").role(Role::SessionsBlockedBy);
    let pair = pair.label("statement", "select * from features").label("by", "lock table features in access exclusive mode");
    pair.each_second(&mut run, waiting);
    findings(&run)
}

/// The pauses and the waits are one thing: the first finding has the table and the holder, and no other repeats the lock.
#[test]
fn a_recurring_lock_is_one_finding_with_its_holder() {
    let found = with_table_lock(0.0, |_, _| false);
    let first = &found[0];
    assert!(first.rule == "periodic-stall" && first.claim.starts_with("Every 7.0"), "{}", shown(&found));
    let holder = "(Lock:relation), most in `select * from features` behind a session whose last statement was `lock table features in access exclusive mode`";
    assert!(first.claim.ends_with(holder), "{}", first.claim);
    assert!(found.iter().all(|finding| finding.rule != "database-waits"), "{}", shown(&found));
    assert!(first.alternatives.iter().any(|other| other.text.contains("pauses sessions waited for the same lock")), "{}", shown(&found));
}

/// A job waits for a transaction that the service has left open, gets its lock, and sleeps. Only then does the service's only session wait.
#[test]
fn the_holder_is_the_session_for_which_requests_wait() {
    let locked = |second: u64| second >= 5 && (second - 5).is_multiple_of(7);
    let slice = |second: u32| {
        let slow = if second >= 6 && (second - 6).is_multiple_of(7) { 1_200 * MS } else { 20 * MS };
        let fast = Slice::new(second).arrivals(10).requests("Show", 5, 20 * MS + u64::from(second % 3) * MS);
        fast.requests("Show", 5, slow).done()
    };
    let with = |job: &str| {
        let mut run = synthetic::run_of(synthetic::plan(synthetic::open(10.0, 70)), (0..70).map(slice).collect());
        let wait = gauge("postgres", "sessions").role(Role::SessionsWaitingForLock).label("wait", "Lock:relation");
        wait.each_second(&mut run, |second| if locked(second) { 1.0 } else { 0.0 });
        let pair = |statement: &str, by: &str| {
            gauge("postgres", "blocked_by").role(Role::SessionsBlockedBy).label("statement", statement).label("by", by)
        };
        // It waits for longer than the requests do, before the pause and at its beginning.
        let before = move |second: u64| if locked(second + 1) || locked(second + 2) || locked(second) { 1.0 } else { 0.0 };
        pair(job, "select * from shares").each_second(&mut run, before);
        pair("select * from users", "select pg_sleep(?)").each_second(&mut run, move |second| if locked(second) { 0.5 } else { 0.0 });
        findings(&run)
    };
    let found = with("lock table users in access exclusive mode");
    let holder = "most in `select * from users` behind a session whose last statement was `select pg_sleep(?)`";
    assert!(found[0].claim.ends_with(holder), "{}", shown(&found));
    // Several requests that wait for one of their kind are the majority.
    let found = with("update users set seen = ?");
    assert!(found[0].claim.contains("most in `update users set seen = ?` behind"), "{}", shown(&found));
}

/// About as many sessions wait for it in the other seconds: the pauses have another cause.
#[test]
fn a_lock_that_is_always_waited_for_is_not_the_cause_of_pauses() {
    let found = with_table_lock(4.0, |_, _| false);
    let pauses = found.iter().find(|finding| finding.rule == "periodic-stall").unwrap_or_else(|| panic!("{}", shown(&found)));
    assert!(!pauses.claim.contains("wait for a lock"), "{}", shown(&found));
}

/// Clients that write the same row give up after the lock: their failures follow from it.
#[test]
fn failures_in_the_pauses_of_a_lock_rank_after_it() {
    let found = with_table_lock(0.0, |waited, number| waited && number % 3 > 0);
    let [first, rest @ ..] = &found[..] else { panic!("nothing was found") };
    assert_eq!(first.rule, "periodic-stall", "{}", shown(&found));
    assert!(first.evidence.iter().any(|evidence| evidence.text.contains("of \"List\" failed in the pauses, and 0")), "{}", shown(&found));
    assert!(rest.iter().any(|finding| finding.rule == "failures"), "{}", shown(&found));
    // Failures at any time are no evidence of the lock.
    let found = with_table_lock(0.0, |_, number| number % 9 == 0);
    assert!(!shown(&found).contains("failed in the pauses"), "{}", shown(&found));
}
