//! A pool of connections or threads that is used up, as the service's own metrics show. What holds its members ranks before its size.
//!
//! The rule reads `observe.prometheus`, `observe.json` or `observe.statsd`. No member is idle, and for {pools::READINGS_MIN} readings or more, one of these
//! conditions is true:
//!
//! - **Waiting operations**: a gauge (`hikaricp_connections_pending`) is 1 or more in {pools::WAITING_SHARE_MIN:%} of the readings, and another gives the
//!   size. Go's `database/sql` counts seconds of waiting instead.
//! - **No count of waiting operations**: all members are in use, and the system has {pools::REQUESTS_PER_MEMBER_MIN} times as many requests as members.
//!
//! By the utilisation law, a request holds a member for members in use / throughput:
//!
//! | observation | finding | confidence |
//! |---|---|---|
//! | members in use grew under constant load until {pools::FILLED_PART_MIN:%} were in use | some are never returned (a leak) | high |
//! | an outage, a full CPU or heap, database waits | that finding ranks first | low |
//! | a request holds its member {LONGER_HOLD_FACTOR_MIN} times as long as before | the operations have become slow | low |
//! | at most {SIMILAR_HOLD_FACTOR_MAX} times as long | the size is the limit | high |
//! | otherwise | the size, unless CPU or database may be busy | high; then medium |
//!
//! For workers (threads of a JVM, processes of PHP-FPM, uWSGI, Unicorn or Passenger), the claim names what most of them do: a call to a stub, or a statement
//! of a database. For connections, the evidence compares the wait with the statement that ran most, whose time may include that wait.
//!
//! A pool without a usable size, such as SQLAlchemy's with connections beyond its size, has as many members as were ever in use, if none was idle then.

use loadstone_metrics::Role;

use crate::Confidence;
use crate::Evidence;
use crate::evidence::acquiring;
use crate::evidence::examined;
use crate::evidence::next_limit;
use crate::evidence::occupation;
use crate::facts::Facts;
use crate::facts::growing_level::GrowingLevel;
use crate::facts::next_limits::NextLimit;
use crate::facts::pools::PoolShortage;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::clock;

/// How many times as long as before a request may hold a member where the size is the limit.
const SIMILAR_HOLD_FACTOR_MAX: f64 = 1.5;
/// And from which the operations have become slow.
const LONGER_HOLD_FACTOR_MIN: f64 = 3.0;

pub(super) const RULE: Rule = Rule {
    ids: &["connection-pool", "workers"],
    page: "connection-pool",
    title: "A pool is used up",
    says: "the service's own metrics show that a pool of connections or threads is used up",
    example: Example {
        run: "examples/connection-pool",
        claim: "All 10 connections of the pool \"shop\" are in use, and 191 operations are waiting for one on average",
    },
    needs: &["prometheus"],
    settings: &["pool", "connection", "thread", "worker"],
    precedence: 130,
    find: FindingSearch::One(find),
};

#[expect(clippy::too_many_lines, reason = "one finding, its evidence and its advice in the order in which they are read")]
fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let pool = facts.pools.first()?;
    let (rule, members, member) = match (pool.is_threads, pool.series[0].to_ascii_lowercase().contains("thread")) {
        (true, true) => ("workers", "threads", "thread"),
        (true, false) => ("workers", "workers", "worker"),
        (false, _) => ("connection-pool", "connections", "connection"),
    };
    let size = loadstone_units::number(pool.size);
    let held_longer = pool.held_longer().filter(|times| *times >= LONGER_HOLD_FACTOR_MIN);
    let behind = holders(facts, pool);
    let waiting = match (pool.waiting, pool.waits) {
        (Some((mean, _)), _) => format!("{} operations are waiting for one on average", loadstone_units::number(mean)),
        (None, Some(rate)) => format!("{} operations have to wait for one", loadstone_units::rate(rate)),
        (None, None) => format!("{} requests are in the system on average", loadstone_units::number(pool.in_system.unwrap_or(0.0))),
    };
    let whose = if pool.is_threads { "of" } else { "of the pool" };
    let (all, are) = if pool.size < 1.5 { (format!("The only {member}"), "is") } else { (format!("All {size} {members}"), "are") };
    let claim = format!("{all} {whose} \"{}\" {are} in use, and {waiting}", pool.name);
    let span = (pool.from, pool.to);
    let doing = if pool.is_threads && behind.is_none() { occupation::of(facts, pool.size, span) } else { None };
    let (standing, confidence, claim) = match (&behind, held_longer, &doing) {
        _ if pool.filled.is_some() => (Standing::Cause, Confidence::High, format!("{claim}: some are never returned (a leak)")),
        (Some(_), _, _) => (Standing::Consequence, Confidence::Low, claim),
        (None, Some(_), Some(doing)) => (Standing::Cause, Confidence::Medium, format!("{claim}: {}", doing.claim)),
        (None, Some(_), None) => (Standing::Cause, Confidence::Low, format!("{claim}: the operations that use them have become slow")),
        (None, None, Some(doing)) => (Standing::Cause, Confidence::High, format!("{claim}: {}", doing.claim)),
        (None, None, None) => (Standing::Cause, Confidence::High, claim),
    };
    let mut found =
        RankedFinding::new(standing, rule, Subject::part(pool.name, ""), confidence, claim).with(Quantity::count("size", pool.size));
    found = match (pool.waiting, pool.waits, pool.in_system) {
        (Some((mean, _)), ..) => found.with(Quantity::count("waiting", mean)),
        (None, Some(rate), _) => found.with(Quantity::rate("waits", rate)),
        (None, None, Some(count)) => found.with(Quantity::count("in_system", count)),
        (None, None, None) => found,
    };
    let text = match pool.waiting {
        Some((mean, share)) => {
            let times = loadstone_units::number(mean / pool.size);
            format!(
                "\"{}\": {} was {} on average, and 1 or more in {} of its readings: by Little's law operations waited {times} times as long for a \
                 {member} as they used it",
                pool.name,
                pool.series[0],
                loadstone_units::number(mean),
                loadstone_units::share(share)
            )
        }
        None => format!("\"{}\": {} was {size}, the whole pool", pool.name, pool.series[0]),
    };
    let (label, level) = pool.waiting.map_or(("all of them", pool.size), |(mean, _)| ("on average", mean));
    let evidence = Evidence::new(text, pool.series.clone(), span);
    found = found.rests_on_drawn(pool.series.iter().take(1).fold(evidence, |evidence, series| evidence.level(series, label, level, span)));
    if let Some((before, now)) = pool.held {
        let text = format!(
            "each request holds a {member} for {}, and held it for {} before",
            loadstone_units::seconds(now),
            loadstone_units::seconds(before)
        );
        found = found.rests_on(text, pool.series.clone(), span);
    }
    if let Some(GrowingLevel { first, last, .. }) = pool.filled {
        let (first, last) = (loadstone_units::number(first.max(0.0)), loadstone_units::number(last.min(pool.size)));
        let text = format!("until {}, the {members} in use grew steadily from {first} to {last} at constant throughput", clock(pool.from));
        found = found.rests_on(text, pool.series.clone(), (0.0, pool.from));
    }
    if let Some(doing) = &doing {
        found = found.rests_on(doing.evidence.clone(), doing.series.clone(), span);
    }
    if !pool.is_threads {
        found = acquiring::add_evidence(facts, found, span);
    }
    let found = match (behind, held_longer) {
        _ if pool.filled.is_some() => found,
        (Some(why), None) => found.weigh(Alternative::not_ruled_out("Something slow that keeps them in use for longer", why)),
        (why, Some(times)) => {
            let why = why.map_or_else(String::new, |why| format!("{why}, and "));
            let held = format!("{why}each {member} is held {} times as long as before", loadstone_units::number(times));
            found.weigh(Alternative::ruled_out("A pool that is only too small", held))
        }
        (None, None) => size_or_holders(facts, pool, found),
    };
    let next = if pool.filled.is_some() {
        format!("Find the code that takes a {member} and does not return it, such as an error path. A larger pool only lasts longer.")
    } else if let Some(doing) = &doing {
        format!("{} configure more than {size} {members}. Run again: fewer requests should wait.", doing.advice)
    } else if held_longer.is_some() {
        format!("Find out which operation holds the {members}: observe the process and its dependencies, such as its database.")
    } else {
        format!("Configure more than {size} {members}, or hold each for less time, and run again.")
    };
    let is_it = |limit: &NextLimit<'_>| limit.role == Role::PoolInUse && [limit.part.part, limit.part.observer].contains(&pool.name);
    Some(next_limit::add_evidence(facts, found, span, &is_it).try_next(next))
}

/// Weighs the holders against the size, where no finding explains what holds the members.
fn size_or_holders(facts: &Facts<'_>, pool: &PoolShortage<'_>, found: RankedFinding) -> RankedFinding {
    if let Some(times) = pool.held_longer().filter(|times| *times <= SIMILAR_HOLD_FACTOR_MAX) {
        return found.weigh(Alternative::ruled_out(
            "Something slow that keeps them in use for longer",
            format!("each is held {} times as long as before", loadstone_units::number(times)),
        ));
    }
    let found = found.weigh(examined::cpu(facts, pool.from, pool.to));
    if pool.is_threads { found } else { found.weigh(examined::database(facts, pool.from, pool.to)) }
}

/// The finding that explains what holds the members, as part of a sentence.
fn holders(facts: &Facts<'_>, pool: &PoolShortage<'_>) -> Option<String> {
    if let Some(outage) = facts.outages.iter().find(|outage| pool.is_during(outage.from, outage.to)) {
        return Some(format!("\"{}\" became unreachable", outage.observer));
    }
    if facts.used_up().any(|exhausted| pool.is_during(exhausted.from, exhausted.to)) {
        return Some("another resource is exhausted".to_owned());
    }
    let wait = facts.session_wait.as_ref().filter(|wait| pool.is_during(wait.from, wait.to))?;
    Some(match wait.role {
        Role::SessionsOnCpu => format!("{} sessions of the database compute", loadstone_units::number(wait.sessions)),
        Role::SessionsWaitingForCommit => format!("{} sessions of the database wait at commit", loadstone_units::number(wait.sessions)),
        _ => format!("{} sessions of the database wait for {}", loadstone_units::number(wait.sessions), wait.event),
    })
}
