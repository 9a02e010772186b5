//! What the database's active sessions do while work is held up: most wait for one thing, or compute.
//!
//! Made if for 5 readings or more at least one session, and 40 % of the active ones, waited for the same thing, other than the client or a timer, while
//! work was held up. For locks, the finding gives the statement that waits, and the last one of the session that holds the lock, which need not be the
//! one that took it.
//!
//! Where only the top of the load shows it, two readings are enough if they account for the wait: requests that take ΔR longer than under low load, at X
//! per second, are X·ΔR more in the system (Little 1961), and sessions in the same wait must have become 60 to 170 % of that more, beyond what goes with
//! throughput.
//!
//! If nothing was held up, but 60 % of the active sessions and at least half as many as there were requests in the system waited for one thing at high
//! load, the finding says that most of the time goes there, whatever the load.
//!
//! Sessions that compute are named if they are 60 % of the active ones, and fill the machine's cores, or 70 % of a pool that is used up, or half of all
//! that is in the system; with the statement that half of them run.

use loadstone_metrics::Role;

use crate::finding::ranked::{RankedFinding, Standing};
use crate::evidence::acquiring;
use crate::evidence::examined;
use crate::evidence::next_limit;
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::next_limits::NextLimit;

pub(super) const RULE: Rule = Rule {
    ids: &["database-waits"],
    title: "Database sessions wait or compute",
    says: "what the sessions of a database wait for, or that they compute",
    needs: &["postgres"],
    settings: &["lock", "session", "connection"],
    precedence: 280,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    // Those that wait for one of many commits have a rule of their own.
    let wait = facts.session_wait.as_ref().filter(|wait| wait.many_commits().is_none())?;
    let (event, sessions, stretch) = (wait.event, wait.sessions, (wait.from, wait.to));
    let statement = wait.statement.as_ref();
    let claim = match (wait.role, statement) {
        (Role::SessionsOnCpu, Some((statement, running, _))) => format!(
            "The database is holding up the work: {running:.1} of {:.1} active sessions run `{statement}`, and it takes them CPU time",
            wait.active
        ),
        (Role::SessionsOnCpu, None) => {
            format!("The database is holding up the work: {sessions:.1} of {:.1} active sessions compute, on average", wait.active)
        }
        _ if !wait.holds_up => format!(
            "Most of the time of requests goes to the database, whatever the load: {sessions:.1} of {:.1} active sessions wait for {event}, on average",
            wait.active
        ),
        _ => {
            format!("The database is holding up the work: {sessions:.1} of {:.1} active sessions wait for {event}, on average", wait.active)
        }
    };
    let waited = wait.waiting.as_ref().map_or_else(|| "requests".to_owned(), |waiting| waiting.what());
    let doing = if wait.role == Role::SessionsOnCpu { "computed".to_owned() } else { format!("in {event}") };
    let standing = match (wait.holds_up, &wait.waiting) {
        (false, _) => Standing::Fault,
        (true, None) => Standing::Cause,
        (true, Some(waiting)) => Standing::during(waiting),
    };
    let mut found =
        RankedFinding::new(standing, "database-waits", Subject::observed(&wait.readings.signal.observer), Confidence::Medium, claim).rests_on(
        format!("{sessions:.1} sessions {doing} while {waited} waited"),
        vec![wait.readings.name()],
        stretch,
    );
    if wait.role == Role::SessionsWaitingForLock
        && let Some(blocked) = &wait.blocked
    {
        found = found.rests_on(format!("most wait in {}", blocked.phrase()), vec![blocked.readings.name()], stretch);
    }
    if let Some((statement, running, readings)) = statement
        && wait.role != Role::SessionsOnCpu
    {
        found = found.rests_on(format!("{running:.1} active sessions were in `{statement}`"), vec![readings.name()], stretch);
    }
    let found = acquiring::add_evidence(facts, found, stretch);
    let computing = if wait.role == Role::SessionsOnCpu { found } else { found.weigh(examined::computing_sessions(wait)) };
    // What computes is on cores: the database's, which an observed process or the machine may be, are what the finding speaks of.
    let is_cores = |role| matches!(role, Role::ProcessCpu | Role::ProcessThreadCpuMax | Role::GroupCpu | Role::MachineIdle);
    let is_it = |limit: &NextLimit<'_>| {
        matches!(limit.role, Role::SessionsActive | Role::PoolInUse) || (wait.role == Role::SessionsOnCpu && is_cores(limit.role))
    };
    let found = next_limit::add_evidence(facts, computing, stretch, &is_it).beyond_the_generator(facts, stretch);
    Some(found.try_next(advice(wait.role)))
}

fn advice(role: Role) -> &'static str {
    match role {
        Role::SessionsWaitingForCommit => {
            "Each commit waits until its log is on disk: commit less often per operation (one transaction around what belongs \
             together), or in batches."
        }
        Role::SessionsWaitingForLock => {
            "Shorten the transactions that hold the lock, always take locks in the same order, or skip locked rows."
        }
        Role::SessionsWaitingForRead => {
            "Rows are being read from disk: check the active statements (is an index missing?) and the size of the buffer cache."
        }
        Role::SessionsOnCpu => {
            "Look at the statement's plan (EXPLAIN ANALYZE): is an index missing, does it read ever more rows, or is it run too often?"
        }
        _ => "Look up the wait event in the database's manual, and check which statements are active meanwhile.",
    }
}
