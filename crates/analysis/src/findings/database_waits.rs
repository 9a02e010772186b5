//! Database sessions that hold up work: most active sessions wait for one thing, or compute.
//!
//! | case | limits |
//! |---|---|
//! | work is held up | for {search::READINGS_MIN} readings, {session_waits::WAITING_SHARE_MIN:%} of the active sessions wait for the same thing |
//! | only the top of the load shows it | {session_waits::TOP_READINGS_MIN} readings; the added sessions in this wait explain the added requests |
//! | nothing is held up | {session_waits::COMPUTING_SHARE_MIN:%} of the active sessions, and half as many as requests in the system, wait for one thing |
//! | locks take time | requests spend {session_waits::LOCK_SESSIONS_PER_REQUEST_MIN:%} of it there, in {session_waits::LOCK_READINGS_PART_MIN:%} of readings |
//! | sessions compute | {session_waits::COMPUTING_SHARE_MIN:%} of the active ones; they fill the cores, a pool, or half of the requests in the system |
//! | sessions execute one statement | the same, if they compute, read data and wait inside of the database by turns |
//!
//! Waits for the client or for a timer do not count.
//!
//! Requests that take ΔR longer at X per second are X·ΔR more in the system (Little 1961). The added sessions must be
//! {session_waits::SESSIONS_PER_ADDED_REQUEST.0:%} to {session_waits::SESSIONS_PER_ADDED_REQUEST.1:%} of these. Growth that follows throughput does not
//! count.
//!
//! The evidence names the statement that {session_waits::STATEMENT_SHARE_MIN:%} of the sessions run. If samples show none, it names
//! the statement whose total time grew most, if that is half of the growth of all statements (`pg_stat_statements`, the performance schema). If there is none,
//! it names up to {session_waits::STATEMENTS_MAX} statements that together reach this share, with {session_waits::ONE_OF_STATEMENTS_SHARE_MIN:%} each or more.
//!
//! For locks it names the waiting statement and the last statement of the session that holds the lock, which need not be the one that took it. If a chain of
//! sessions waits, it also names the last statement at the head of the chain: the session that waits for no other.
//!
//! If requests became slower at an instant, and hardly any session waited for a lock before it ({sessions::BEFORE_PART_MAX:%} of those after it at most),
//! the lock is the cause of the change. The claim then has the instant.
//!
//! A lock for which sessions wait in recurring pauses only is reported by [`periodic-stall`](periodic-stall.md).
//!
//! A wait in which requests spend {ranked::ACCOUNTED_TIME_MIN:%} of their time or more at any load ranks before causes of low confidence.
//!
//! Confidence is medium at most. If requests commit as often as before a change, and each commit takes twice as long, the finding reports that. The finding
//! weighs the database's CPU against a wait. Many commits per iteration are a finding of [`commits`](commits.md).

use loadstone_metrics::Role;

use crate::Confidence;
use crate::Evidence;
use crate::evidence::acquiring;
use crate::evidence::added_time::is_commit;
use crate::evidence::examined;
use crate::evidence::next_limit;
use crate::facts::Facts;
use crate::facts::next_limits::NextLimit;
use crate::facts::session_waits::SessionWait;
use crate::facts::sessions::{self, BlockedStatement};
use crate::finding::ranked::{Account, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::clock;

pub(super) const RULE: Rule = Rule {
    ids: &["database-waits"],
    page: "database-waits",
    title: "Database sessions wait or compute",
    says: "what the sessions of a database wait for, or that they compute",
    example: Example {
        run: "corpus/node.row-lock.gross.ramp.all.1",
        claim: "The database is holding up the work: 14.7 of 15.9 active sessions wait for Lock:transactionid, on average",
    },
    needs: &["postgres"],
    settings: &["lock", "session", "connection"],
    precedence: 280,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    // Many commits per iteration have a separate rule.
    let wait = facts.session_wait.as_ref().filter(|wait| wait.many_commits().is_none())?;
    // A lock that recurs is reported with its pauses.
    let is_of_pauses = facts.recurring_lock.as_ref().is_some_and(|lock| lock.readings.name() == wait.readings.name());
    if is_of_pauses {
        return None;
    }
    let (event, sessions, stretch) = (wait.event, wait.sessions, (wait.from, wait.to));
    let statement = wait.statement.as_ref();
    let onset = lock_onset(facts, wait);
    let claim = claim(wait, onset);
    // The claim has the sessions that run one statement, where it names one.
    let in_claim = statement.filter(|_| wait.role == Role::SessionsOnCpu).map_or(sessions, |(_, running, _)| *running);
    let waited = wait.waiting.as_ref().map_or_else(|| "requests".to_owned(), |waiting| waiting.what());
    let doing = match (wait.is_mixed, wait.role) {
        (true, _) => "computed, read data or waited inside of the database".to_owned(),
        (false, Role::SessionsOnCpu) => "computed".to_owned(),
        (false, _) => format!("in {event}"),
    };
    // The sum of several waits has no signal.
    let readings = statement.filter(|_| wait.is_mixed).map_or(&wait.readings, |(_, _, readings)| readings);
    let standing = match (wait.holds_up(), &wait.waiting) {
        (false, _) if onset.is_some() => Standing::Cause,
        (false, _) => Standing::Fault,
        (true, None) => Standing::Cause,
        (true, Some(waiting)) => Standing::during(waiting),
    };
    let mut found =
        RankedFinding::new(standing, "database-waits", Subject::observed(&wait.readings.signal.observer), Confidence::Medium, claim)
            .accounting_for(wait.part_of_requests().map(Account::Time))
            .with(Quantity::count("sessions", in_claim))
            .with(Quantity::count("sessions_active", wait.active))
            .rests_on_drawn(
                Evidence::new(format!("{sessions:.1} sessions {doing} while {waited} waited"), vec![readings.name()], stretch).level(
                    &readings.name(),
                    "on average",
                    if wait.is_mixed { in_claim } else { sessions },
                    stretch,
                ),
            );
    if wait.role == Role::SessionsWaitingForLock
        && let Some(blocked) = &wait.blocked
    {
        found = found.rests_on(format!("most wait in {}", blocked.phrase()), vec![blocked.readings.name()], stretch);
    }
    if let Some((statement, running, readings)) = statement
        && wait.role != Role::SessionsOnCpu
    {
        let text = format!("{running:.1} active sessions were in `{statement}`");
        let evidence = Evidence::new(text, vec![readings.name()], stretch);
        found = found.rests_on_drawn(evidence.level(&readings.name(), "on average", *running, stretch));
    }
    let found = wait.statements.iter().fold(found, |found, (statement, running, readings)| {
        let text = format!("{running:.1} active sessions were in `{statement}`");
        found.rests_on(text, vec![readings.name()], stretch).at_level(&readings.name(), "on average", *running)
    });
    let found = acquiring::add_evidence(facts, found, stretch);
    let computing = if wait.role == Role::SessionsOnCpu { found } else { found.weigh(examined::computing_sessions(wait)) };
    // Sessions that compute use the cores of an observed process or machine, which the finding already names.
    let is_cores = |role| matches!(role, Role::ProcessCpu | Role::ProcessThreadCpuMax | Role::GroupCpu | Role::MachineIdle);
    let is_it = |limit: &NextLimit<'_>| {
        matches!(limit.role, Role::SessionsActive | Role::PoolInUse) || (wait.role == Role::SessionsOnCpu && is_cores(limit.role))
    };
    let found = next_limit::add_evidence(facts, computing, stretch, &is_it).beyond_the_generator(facts, stretch);
    Some(found.try_next(advice(wait.role)))
}

/// The instant from which sessions wait for locks, if that is when requests became slower, and if hardly any did before.
fn lock_onset(facts: &Facts<'_>, wait: &SessionWait<'_>) -> Option<f64> {
    let changes = facts.changes.found.iter().filter(|_| wait.role == Role::SessionsWaitingForLock);
    let mut with_it = changes.filter(|change| sessions::waiting_since(&facts.signals, &wait.readings, change).is_some());
    with_it.next().map(|change| change.at)
}

fn claim(wait: &SessionWait<'_>, onset: Option<f64>) -> String {
    let (event, sessions) = (wait.event, wait.sessions);
    let holder = wait.blocked.as_ref().filter(|_| wait.role == Role::SessionsWaitingForLock).and_then(BlockedStatement::holder);
    let behind = holder.map_or_else(String::new, |name| format!(", behind a session of {name:?}"));
    let slower_commit = wait.slower_commit.map(|commit| {
        format!(
            "Each commit takes {} instead of {} from {} on: {sessions:.1} of {:.1} active sessions wait for {event}, on average",
            loadstone_units::seconds(commit.after_s),
            loadstone_units::seconds(commit.before_s),
            clock(commit.at),
            wait.active
        )
    });
    slower_commit.unwrap_or_else(|| claim_of_wait(wait, onset)) + &behind
}

fn claim_of_wait(wait: &SessionWait<'_>, onset: Option<f64>) -> String {
    let (event, sessions) = (wait.event, wait.sessions);
    match (wait.role, &wait.statement, wait.takes_time_of) {
        (Role::SessionsOnCpu, Some((statement, running, _)), _) if is_commit(statement) => format!(
            "The database is holding up the work: {running:.1} of {:.1} active sessions run `{statement}`, without another wait",
            wait.active
        ),
        (Role::SessionsOnCpu, Some((statement, running, _)), _) => format!(
            "The database is holding up the work: {running:.1} of {:.1} active sessions run `{statement}`, which {}",
            wait.active,
            if wait.is_mixed { "computes and reads data" } else { "takes CPU time" }
        ),
        (Role::SessionsOnCpu, None, _) => {
            let each = wait.statements.iter().map(|(statement, running, _)| format!("{running:.1} run `{statement}`"));
            let each: Vec<String> = each.collect();
            let of_each = if each.is_empty() { String::new() } else { format!(": {}", each.join(", ")) };
            format!("The database is holding up the work: {sessions:.1} of {:.1} active sessions compute, on average{of_each}", wait.active)
        }
        (Role::SessionsWaitingForLock, _, Some(in_system)) => {
            let share = loadstone_units::share(sessions / in_system);
            let many = format!("{sessions:.1} of {in_system:.1} in the system do, on average");
            match onset {
                Some(at) => format!("From {} on requests spend {share} of their time waiting for {event}: {many}", clock(at)),
                None => format!("Requests spend {share} of their time waiting for {event} at any load: {many}"),
            }
        }
        (_, _, Some(_)) => format!(
            "Requests spend most of their time in the database at any load: {sessions:.1} of {:.1} active sessions wait for {event}, on average",
            wait.active
        ),
        _ => {
            format!("The database is holding up the work: {sessions:.1} of {:.1} active sessions wait for {event}, on average", wait.active)
        }
    }
}

fn advice(role: Role) -> &'static str {
    match role {
        Role::SessionsWaitingForCommit => {
            "Each commit waits until its log is on disk: commit less often per operation (one transaction around related \
             statements), or in batches."
        }
        Role::SessionsWaitingForLock => {
            "Shorten the transactions that hold the lock, always take locks in the same order, or skip locked rows."
        }
        Role::SessionsWaitingForRead => {
            "Rows are being read from disk: check the active statements (is an index missing?) and the size of the buffer cache."
        }
        Role::SessionsOnCpu => {
            "Examine the statement's plan (EXPLAIN ANALYZE): is an index missing, does it read more and more rows, or does it run too often?"
        }
        _ => "Look up the wait event in the database's manual, and check which statements are active meanwhile.",
    }
}
