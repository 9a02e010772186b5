//! What the database's active sessions wait for.

use metrics::Role;

use super::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;

/// Commits per iteration that are worth mentioning.
const COMMITS_PER_ITERATION: f64 = 3.0;

/// Work waits, and most of the database's active sessions wait for one thing.
pub(super) fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let wait = facts.session_wait.as_ref()?;
    let (event, sessions, stretch) = (wait.event, wait.sessions, (wait.waiting.from, wait.waiting.to));
    let claim =
        format!("The database is holding up the work: {sessions:.1} of {:.1} active sessions wait for {event}, on average", wait.active);
    let mut found = RankedFinding::new(Standing::during(&wait.waiting), "database-waits", Confidence::Medium, claim).rests_on(
        format!("{sessions:.1} sessions in {event} while {} waited", wait.waiting.what()),
        vec![wait.readings.name()],
        stretch,
    );
    if wait.role == Role::SessionsWaitingForLock
        && let Some(blocked) = &wait.blocked
    {
        found = found.rests_on(format!("most wait in {}", blocked.phrase()), vec![blocked.readings.name()], stretch);
    }
    if wait.role == Role::SessionsWaitingForCommit
        && let Some(commits) = wait.commits.as_ref().filter(|commits| commits.per_iteration >= COMMITS_PER_ITERATION)
    {
        let rate = units::number(commits.rate);
        let text = format!("{rate} commits per second, {:.1} for each iteration of the load", commits.per_iteration);
        found = found.rests_on(text, vec![commits.series.clone()], stretch);
    }
    Some(found.or("The database's CPU. Ruled out: more sessions wait than compute.").try_next(advice(wait.role)))
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
        _ => "Look up the wait event in the database's manual, and check which statements are active meanwhile.",
    }
}
