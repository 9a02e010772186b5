//! Many commits per iteration of the load, and database sessions that wait for them: auto-commit, where one transaction would do.
//!
//! The rule reports this instead of [`database-waits`](database-waits.md) if both of these hold:
//!
//! - database sessions wait for their commit: for the log on disk, the binary log or a replica. Consecutive wait events of a commit count as one wait.
//! - the database commits {session_waits::MANY_COMMITS_MIN} times or more per iteration of the load, without the observer's own commits.
//!
//! The rule counts commits where nearly all iterations that had begun had also ended. Without such a stretch, the number is a lower bound ("at least").
//!
//! The evidence gives the time of one commit by Little's law (sessions at commit / commits per second), and the time that an iteration waits for all of its
//! commits.
//!
//! Commits in which requests spend {ranked::ACCOUNTED_TIME_MIN:%} of their time or more at any load rank before causes of low confidence.
//!
//! The finding weighs these alternatives:
//!
//! | alternative | ruled out if |
//! |---|---|
//! | the database's CPU | fewer sessions compute than wait at commit |
//! | missing indexes, or too little memory | computing and reading sessions are at most {READING_PART_MAX:%} of those at commit |
//! | too few connections | {WAITING_CONNECTIONS_PART_MIN:%} of the pool's connections or more wait at commit |
//!
//! The rule cannot distinguish commits of background work from those of the load.

use crate::Confidence;
use crate::Evidence;
use crate::evidence::acquiring;
use crate::evidence::examined;
use crate::evidence::next_limit;
use crate::facts::Facts;
use crate::facts::commits::Commits;
use crate::facts::next_limits::NextLimit;
use crate::facts::pools::PoolShortage;
use crate::facts::session_waits::SessionWait;
use crate::finding::Alternative;
use crate::finding::ranked::{Account, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use loadstone_metrics::Role;

/// Computing and reading sessions, as a part of those at commit, up to which indexes and memory are not the cause.
const READING_PART_MAX: f64 = 0.25;
/// Part of a pool's connections at commit from which additional connections would wait there as well.
const WAITING_CONNECTIONS_PART_MIN: f64 = 0.5;

pub(super) const RULE: Rule = Rule {
    ids: &["commits"],
    page: "commits",
    title: "Each iteration commits many times",
    says: "database sessions wait for many commits per iteration",
    example: Example {
        run: "corpus/jvm.many-commits.plain.ramp.all.1",
        claim: "At least 25.9 commits for each iteration hold up the work: 17.9 of 18.1 active sessions of the database wait at commit, on average",
    },
    needs: &["postgres"],
    settings: &["commit", "batch", "synchronous"],
    precedence: 270,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let wait = facts.session_wait.as_ref()?;
    let commits = wait.many_commits()?;
    let stretch = (wait.from, wait.to);
    let does = if wait.holds_up() { "hold up the work" } else { "take most of the time of requests" };
    let claim = format!(
        "{} for each iteration {does}: {:.1} of {:.1} active sessions of the database wait at commit, on average",
        number(commits, "At least "),
        wait.sessions,
        wait.active
    );
    let standing = match (wait.holds_up(), &wait.waiting) {
        (false, _) => Standing::Fault,
        (true, None) => Standing::Cause,
        (true, Some(waiting)) => Standing::during(waiting),
    };
    let found = RankedFinding::new(standing, "commits", Subject::observed(&wait.readings.signal.observer), Confidence::High, claim)
        .accounting_for(wait.part_of_requests().map(Account::Time))
        .with(Quantity::count("commits_per_iteration", commits.per_iteration))
        .with(Quantity::count("sessions_at_commit", wait.sessions))
        .with(Quantity::count("sessions_active", wait.active))
        .rests_on_drawn(wait.events.iter().fold(
            Evidence::new(profile(wait), wait.events.iter().map(|(.., series)| series.clone()).collect(), stretch),
            |evidence, (_, sessions, series)| evidence.level(series, "on average", *sessions, stretch),
        ))
        .rests_on_drawn(Evidence::new(each(wait, commits), vec![commits.series.clone()], stretch).level(
            &commits.series,
            "on average",
            commits.rate,
            (commits.from, commits.to),
        ));
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
        "Combine related statements into one transaction (is auto-commit on?), and run again: each commit waits until its log is on disk. If the \
         transactions must remain separate, let more commits share a flush (group commit), or flush less often.",
    ))
}

/// The wait events of the sessions at commit.
fn profile(wait: &SessionWait<'_>) -> String {
    let waited = wait.waiting.as_ref().map_or_else(|| "requests".to_owned(), |waiting| waiting.what());
    let events: Vec<String> = wait.events.iter().map(|(event, sessions, _)| format!("{sessions:.1} in {event}")).collect();
    format!("{:.1} sessions were at commit while {waited} waited: {}", wait.sessions, events.join(", "))
}

/// By Little's law, sessions at commit divided by commits per second is the time of one commit.
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

/// A pool that is too small, as another cause. Additional connections would wait at commit as well.
fn connections(wait: &SessionWait<'_>, pool: &PoolShortage<'_>) -> Alternative {
    const OTHER: &str = "Too few connections";
    let waiting = format!("{:.1} of the {} connections wait at commit", wait.sessions, loadstone_units::number(pool.size));
    if wait.sessions >= WAITING_CONNECTIONS_PART_MIN * pool.size {
        Alternative::ruled_out(OTHER, waiting)
    } else {
        Alternative::not_ruled_out(OTHER, waiting)
    }
}

/// A statement without an index computes or reads, as does a statement whose pages are not in memory.
fn indexes_and_memory(wait: &SessionWait<'_>) -> Alternative {
    const OTHER: &str = "Missing indexes, or too little memory for the data";
    let Some(computing) = wait.computing else {
        return Alternative::not_ruled_out(OTHER, "the number of computing sessions was not observed");
    };
    let busy = format!("{computing:.1} of its sessions computed and {:.1} waited for data from disk", wait.reading);
    if computing + wait.reading <= READING_PART_MAX * wait.sessions {
        Alternative::ruled_out(OTHER, busy)
    } else {
        Alternative::not_ruled_out(OTHER, busy)
    }
}
