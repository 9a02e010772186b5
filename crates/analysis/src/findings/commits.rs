//! Many commits for each piece of work, and sessions that wait for them: auto-commit, where one transaction would do.
//!
//! Made instead of [`database-waits`](database-waits.md) if what sessions wait for is their commit, until its log is on disk, in the binary log or at a
//! replica, and there are three commits or more for each iteration of the load, excluding the observer's own. They are counted where nearly all
//! iterations that had begun had ended; if there is no such stretch, the number is a bound from below ("at least"). Different events of a commit, one
//! after the other, count as one wait. With it come how long a commit takes, by Little's law (sessions at commit / commits per second), how long an
//! iteration waits for all of its own, and whether computing, missing indexes or a small pool could be the cause instead. Work in the background that
//! commits counts as well.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::evidence::acquiring;
use crate::evidence::examined;
use crate::evidence::next_limit;
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::commits::Commits;
use crate::facts::next_limits::NextLimit;
use crate::facts::pools::PoolShortage;
use crate::facts::session_waits::SessionWait;
use loadstone_metrics::Role;

/// Share of the sessions at commit below which those that compute or read cannot be what they wait behind.
const FEW: f64 = 0.25;
/// Part of a pool's connections that wait at commit where more of them would do the same.
const MOST: f64 = 0.5;

pub(super) const RULE: Rule = Rule {
    ids: &["commits"],
    title: "Each iteration commits many times",
    says: "database sessions wait for many commits per iteration",
    needs: &["postgres"],
    settings: &["commit", "batch", "synchronous"],
    precedence: 270,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let wait = facts.session_wait.as_ref()?;
    let commits = wait.many_commits()?;
    let stretch = (wait.from, wait.to);
    let does = if wait.holds_up { "hold up the work" } else { "take most of the time of requests" };
    let claim = format!(
        "{} for each iteration {does}: {:.1} of {:.1} active sessions of the database wait at commit, on average",
        number(commits, "At least "),
        wait.sessions,
        wait.active
    );
    let standing = match (wait.holds_up, &wait.waiting) {
        (false, _) => Standing::Fault,
        (true, None) => Standing::Cause,
        (true, Some(waiting)) => Standing::during(waiting),
    };
    let found = RankedFinding::new(standing, "commits", Subject::observed(&wait.readings.signal.observer), Confidence::High, claim)
        .rests_on(profile(wait), wait.events.iter().map(|(.., series)| series.clone()).collect(), stretch)
        .rests_on(each(wait, commits), vec![commits.series.clone()], stretch);
    let found = acquiring::add_evidence(facts, found, stretch)
        .weigh(examined::computing_sessions(wait))
        .weigh(examined::cpu(facts, wait.from, wait.to))
        .weigh(indexes_and_memory(wait));
    let found = match facts.pools.iter().find(|pool| !pool.is_threads && pool.is_during(wait.from, wait.to)) {
        Some(pool) => found.weigh(connections(wait, pool)),
        None => found,
    };
    let is_it = |limit: &NextLimit<'_>| matches!(limit.role, Role::SessionsActive | Role::PoolInUse);
    Some(next_limit::add_evidence(facts, found, stretch, &is_it).beyond_the_generator(facts, stretch).try_next(
        "Put what belongs together into one transaction (is auto-commit on?), and run again: each commit waits until its log is on disk, and one \
         replaces them all. Where the work must stay apart, let more commits share a flush (group commit), or flush less often.",
    ))
}

/// What the sessions at commit were in.
fn profile(wait: &SessionWait<'_>) -> String {
    let waited = wait.waiting.as_ref().map_or_else(|| "requests".to_owned(), |waiting| waiting.what());
    let events: Vec<String> = wait.events.iter().map(|(event, sessions, _)| format!("{sessions:.1} in {event}")).collect();
    format!("{:.1} sessions were at commit while {waited} waited: {}", wait.sessions, events.join(", "))
}

/// By Little's law, sessions at commit over commits per second are the time that each takes.
fn each(wait: &SessionWait<'_>, commits: &Commits) -> String {
    let each_s = wait.sessions / commits.rate.max(1e-9);
    format!(
        "{} commits per second, {} for each iteration of the load: by Little's law each takes {}, so an iteration waits {}{} for its commits",
        loadstone_units::number(commits.rate),
        number(commits, "at least "),
        loadstone_units::seconds(each_s),
        if commits.is_least { "at least " } else { "" },
        loadstone_units::seconds(each_s * commits.per_iteration)
    )
}

fn number(commits: &Commits, least: &str) -> String {
    format!("{}{:.1} commits", if commits.is_least { least } else { "" }, commits.per_iteration)
}

/// More connections would wait where those that there are do.
fn connections(wait: &SessionWait<'_>, pool: &PoolShortage<'_>) -> Alternative {
    const OTHER: &str = "Too few connections";
    let told = format!("{:.1} of the {} that there are wait at commit", wait.sessions, loadstone_units::number(pool.size));
    if wait.sessions >= MOST * pool.size { Alternative::ruled_out(OTHER, told) } else { Alternative::not_ruled_out(OTHER, told) }
}

/// A statement without an index computes or reads; so does one whose pages are not in memory.
fn indexes_and_memory(wait: &SessionWait<'_>) -> Alternative {
    const OTHER: &str = "Missing indexes, or too little memory for the data";
    let Some(computing) = wait.computing else {
        return Alternative::not_ruled_out(OTHER, "it was not read how many sessions compute");
    };
    let told = format!("{computing:.1} of its sessions computed and {:.1} waited for data from disk", wait.reading);
    if computing + wait.reading <= FEW * wait.sessions {
        Alternative::ruled_out(OTHER, told)
    } else {
        Alternative::not_ruled_out(OTHER, told)
    }
}
