//! Sessions that wait at commit: distinguishes many commits per iteration from few, and from a database that computes or reads.

use loadstone_analysis::{Confidence, Finding, conclude};
use loadstone_metrics::Role;
use loadstone_run_directory::Run;

use crate::pipeline::{Pipeline, healthy, simulate};
use crate::synthetic::{SyntheticSignal, counter, gauge};

/// 20 iterations per second start, and 16.7 pass.
fn held_up(signals: &[(SyntheticSignal, Role, f64)]) -> Vec<Finding> {
    let mut run: Run = simulate(&Pipeline { matching: (1, 0.06), senders: 60, ..healthy() }, 3);
    run.signals.retain(|series| !series.signal.name.starts_with("process"));
    signals.iter().for_each(|(signal, role, value)| signal.clone().role(*role).each_second(&mut run, |_| *value));
    conclude(&run).verdict.findings.findings
}

fn session(wait: &str) -> SyntheticSignal {
    gauge("mysql", "sessions").label("wait", wait)
}

/// Five active sessions: at commit in three wait events, none of them with the majority; computing; reading; and the commits per second.
fn at_commit(each: [f64; 3], computing: f64, reading: f64, commits: f64) -> Vec<(SyntheticSignal, Role, f64)> {
    let active = each.iter().sum::<f64>() + computing + reading;
    vec![
        (session("io/file/sql/binlog"), Role::SessionsWaitingForCommit, each[0]),
        (session("Commit"), Role::SessionsWaitingForCommit, each[1]),
        (session("synch/mutex/sql/MYSQL_BIN_LOG::LOCK_log"), Role::SessionsWaitingForCommit, each[2]),
        (session("CPU"), Role::SessionsOnCpu, computing),
        (session("io/file/innodb/innodb_data_file"), Role::SessionsWaitingForRead, reading),
        (gauge("mysql", "active"), Role::SessionsActive, active),
        (counter("mysql", "commits"), Role::Commits, commits),
    ]
}

fn shown(found: &[Finding]) -> String {
    let lines = found.iter().map(|finding| {
        let evidence: Vec<&str> = finding.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
        format!(
            "{} ({:?}): {}\n· {}\nor {}\n",
            finding.rule,
            finding.confidence,
            finding.claim,
            evidence.join("\n· "),
            finding.alternatives.iter().map(|other| other.text.as_str()).collect::<Vec<_>>().join("\nor ")
        )
    });
    lines.collect()
}

fn says(finding: &Finding, part: &str) -> bool {
    finding.evidence.iter().any(|evidence| evidence.text.contains(part))
        || finding.alternatives.iter().any(|other| other.text.contains(part))
}

/// The consecutive wait events of a commit are one wait: no single event has 40 % of the sessions.
#[test]
fn the_events_of_a_commit_are_one_wait() {
    let found = held_up(&at_commit([1.6, 1.4, 1.0], 0.8, 0.1, 200.0));
    let first = &found[0];
    assert_eq!(first.rule, "commits", "{}", shown(&found));
    let claim = "10.0 commits for each iteration hold up the work: 4.0 of 4.9 active sessions of the database wait at commit, on average";
    assert_eq!(first.claim, claim);
    // 4 sessions at 200 commits per second: 20 ms per commit, ten per iteration.
    for part in [
        "1.6 in io/file/sql/binlog, 1.4 in Commit, 1.0 in synch/mutex",
        "each takes 20.0 ms, so an iteration waits 200 ms",
        "The database's CPU. Ruled out: 0.8",
        "Missing indexes, or too little memory for the data. Ruled out: 0.8 of its sessions computed and 0.1 waited",
    ] {
        assert!(says(first, part), "{part}: {}", shown(&found));
    }
    // No process was observed, so a saturated CPU is not ruled out.
    assert_eq!(first.confidence, Confidence::Medium);
    assert!(!found.iter().any(|finding| finding.rule == "database-waits"), "{}", shown(&found));
}

#[test]
fn one_commit_per_iteration_is_not_many() {
    let found = held_up(&at_commit([1.6, 1.4, 1.0], 0.8, 0.1, 20.0));
    assert!(
        found[0].rule == "database-waits" && found[0].claim.contains("4.0 of 4.9 active sessions wait for their commit"),
        "{}",
        shown(&found)
    );
    assert!(!shown(&found).contains("commits for each"), "{}", shown(&found));
}

#[test]
fn many_commits_are_no_cause_if_sessions_wait_for_something_else() {
    let mut signals = at_commit([0.2, 0.1, 0.1], 0.4, 0.1, 200.0);
    signals.push((session("row lock"), Role::SessionsWaitingForLock, 4.0));
    signals.retain(|(_, role, _)| *role != Role::SessionsActive);
    signals.push((gauge("mysql", "active"), Role::SessionsActive, 4.9));
    let found = held_up(&signals);
    assert!(found[0].rule == "database-waits" && found[0].claim.contains("row lock"), "{}", shown(&found));
    // Concurrent computing sessions leave missing indexes possible.
    let found = held_up(&at_commit([1.6, 1.4, 1.0], 2.0, 1.0, 200.0));
    assert!(
        found[0].rule == "commits" && says(&found[0], "Missing indexes, or too little memory for the data. Not ruled out"),
        "{}",
        shown(&found)
    );
}

/// Of 8 connections, 4 wait at commit: more would do the same. Of 40, this is unknown.
#[test]
fn too_few_connections_are_compared_with_those_that_wait_at_commit() {
    for (size, reported) in [
        (8.0, "Too few connections. Ruled out: 4.0 of the 8 connections"),
        (40.0, "Too few connections. Not ruled out: 4.0 of the 40 connections"),
    ] {
        let pool = |metric: &str| gauge("metrics", metric).part("payments");
        let members = vec![
            (pool("hikaricp_connections"), Role::PoolSize, size),
            (pool("hikaricp_connections_active"), Role::PoolInUse, size),
            (pool("hikaricp_connections_pending"), Role::PoolWaiting, 3.0),
        ];
        let found = held_up(&[at_commit([1.6, 1.4, 1.0], 0.8, 0.1, 200.0), members].concat());
        let commits = found.iter().find(|finding| finding.rule == "commits").unwrap_or_else(|| panic!("{}", shown(&found)));
        assert!(says(commits, reported), "{reported}: {}", shown(&found));
    }
}

/// The service's own metrics, and the database's statistics of a statement.
fn statements(waiting: f64, acquired: f64, calls: f64, seconds: f64) -> Vec<(SyntheticSignal, Role, f64)> {
    let of = |metric: &str, statement: &str| counter("mysql", metric).label("statement", statement);
    let pool = |metric: &str| counter("metrics", metric).part("payments");
    let (select, insert) = ("SELECT token FROM methods WHERE id = ?", "INSERT INTO payments VALUES ( ? )");
    vec![
        (pool("hikaricp_connections_acquire_seconds_sum"), Role::PoolWaitTime, waiting),
        (pool("hikaricp_connections_acquire_seconds_count"), Role::PoolAcquisitions, acquired),
        (of("statement_calls", select), Role::StatementCalls, calls),
        (of("statement_seconds", select), Role::StatementTime, seconds),
        (of("statement_calls", insert), Role::StatementCalls, 2.0 * calls),
        (of("statement_seconds", insert), Role::StatementTime, 40.0 * seconds),
    ]
}

/// The numbers of the case: 1.9 of 2.1 ms.
#[test]
fn selects_look_slow_because_they_wait_for_a_connection() {
    let database = at_commit([1.6, 1.4, 1.0], 0.8, 0.1, 200.0);
    let found = held_up(&[database.clone(), statements(0.76, 400.0, 160.0, 0.032)].concat());
    let part = "a `SELECT token FROM methods WHERE id = ?` that first needs one from \"payments\" takes 2.10 ms, of which 1.90 ms \
     (90.5 %) are this wait; the database takes 200 µs";
    assert!(says(&found[0], part), "{}", shown(&found));
    // The database takes most of it.
    let found = held_up(&[database, statements(0.04, 400.0, 160.0, 0.032)].concat());
    assert!(!shown(&found).contains("look slow"), "{}", shown(&found));
}
