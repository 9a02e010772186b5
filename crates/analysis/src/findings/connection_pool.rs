//! A pool that is used up, as a service's own metrics show it. What keeps its members in use comes before its size.
//!
//! *All 2 connections of a pool are in use, and 24 operations are waiting for one on average.*
//!
//! Made from what `observe.prometheus`, `observe.json` or `observe.statsd` read, if none of the pool's members is idle, no more than a fifth of them is
//! missing from those in use (connections that were lost are neither), and one of these holds:
//!
//! - over ten readings or more, a gauge of waiting operations (`hikaricp_connections_pending`, `db_pool_waiting`) is at 1 or more in 80 % of them, and
//!   another gauge of the pool stood at one number: its size. Where a client only counts the seconds spent waiting (Go's `database/sql`), seconds per
//!   second are the number that waits;
//! - nobody counts who waits, all members are in use (`jetty_threads_busy` = `jetty_threads_config_max`), work is held up, and 1.5 times as many requests
//!   as members are in the system.
//!
//! How many wait for each member in use is, by Little's law, how many times as long operations wait as they use it.
//!
//! **Statements that look slow to the service.** Where the pool counts how often and how long a connection was waited for (HikariCP's acquire time) and
//! the database how long its statements took, the wait is set beside the `select` that was executed most: if half or more of what a service sees of it is
//! the wait for a connection, the evidence says so. It belongs to this finding, `commits` and `database-waits`.
//!
//! **A pool is a place where work waits.** Who holds its members, and for how long, comes before its size. By the utilisation law a request holds a
//! member for members in use / throughput:
//!
//! - **the members in use grew steadily under the same load until 70 % of them were**: some are never given back, a leak (high confidence)
//! - **the database went away, a CPU or heap is used up, or sessions of the database wait or compute, in the same stretch**: that finding comes first;
//!   the pool follows from it, with low confidence
//! - **each member is held at least 3 times as long as before**: whatever they are used for has become slow (low confidence)
//! - **each member is held at most 1.5 times as long as before**: the size is the limit (high confidence)
//! - **neither is known**: medium, unless an observed process and database are seen to be idle

use loadstone_metrics::Role;

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::evidence::acquiring;
use crate::evidence::examined;
use crate::evidence::next_limit;
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::growing_level::GrowingLevel;
use crate::facts::next_limits::NextLimit;
use crate::facts::pools::PoolShortage;
use crate::instant::clock;

/// Times longer than before that a request may hold a member for the size to be the limit, and from which something else is.
const HELD_ALIKE: f64 = 1.5;
const HELD_LONGER: f64 = 3.0;

pub(super) const RULE: Rule = Rule {
    ids: &["connection-pool", "workers"],
    title: "A pool is used up",
    says: "the service's own metrics show that a pool of connections or threads is used up",
    needs: &["prometheus"],
    settings: &["pool", "connection", "thread", "worker"],
    precedence: 130,
    find: FindingSearch::One(find),
};

#[expect(clippy::too_many_lines, reason = "one finding, its evidence and its advice in the order in which they are read")]
fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let pool = facts.pools.first()?;
    let (rule, members, member) =
        if pool.is_threads { ("workers", "threads", "thread") } else { ("connection-pool", "connections", "connection") };
    let size = loadstone_units::number(pool.size);
    let held_longer = pool.held_longer().filter(|times| *times >= HELD_LONGER);
    let behind = holders(facts, pool);
    let waiting = match (pool.waiting, pool.in_system) {
        (Some((mean, _)), _) => format!("{} operations are waiting for one on average", loadstone_units::number(mean)),
        (None, count) => format!("{} requests are in the system on average", loadstone_units::number(count.unwrap_or(0.0))),
    };
    let whose = if pool.is_threads { "" } else { " of a pool" };
    let claim = format!("All {size} {members}{whose} are in use, and {waiting}");
    let (standing, confidence, claim) = match (&behind, held_longer) {
        _ if pool.filled.is_some() => (Standing::Cause, Confidence::High, format!("{claim}: some are never given back (a leak)")),
        (Some(_), _) => (Standing::Consequence, Confidence::Low, claim),
        (None, Some(_)) => (Standing::Cause, Confidence::Low, format!("{claim}: whatever they are used for has become slow")),
        (None, None) => (Standing::Cause, Confidence::High, claim),
    };
    let mut found =
        RankedFinding::new(standing, rule, Subject::part(pool.name, ""), confidence, claim).with(Quantity::count("size", pool.size));
    if let Some((mean, _)) = pool.waiting {
        found = found.with(Quantity::count("waiting", mean));
    }
    let span = (pool.from, pool.to);
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
        None => format!("\"{}\": {} was {size}, all that there are", pool.name, pool.series[0]),
    };
    found = found.rests_on(text, pool.series.clone(), span);
    if let Some((before, now)) = pool.held {
        let text = format!(
            "each request holds a {member} for {}, and for {} before",
            loadstone_units::seconds(now),
            loadstone_units::seconds(before)
        );
        found = found.rests_on(text, pool.series.clone(), span);
    }
    if let Some(GrowingLevel { first, last, .. }) = pool.filled {
        let (first, last) = (loadstone_units::number(first.max(0.0)), loadstone_units::number(last.min(pool.size)));
        let text =
            format!("until {} those in use grew steadily, from {first} to {last}, though as much was done all the while", clock(pool.from));
        found = found.rests_on(text, pool.series.clone(), (0.0, pool.from));
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
        format!("Find where a {member} is taken and not given back, such as the way out after an error. A larger pool only lasts longer.")
    } else if held_longer.is_some() {
        format!("Find out what the {members} are held for: observe the process and what it calls, such as its database.")
    } else {
        format!("Have more than {size} {members}, or use each for less time, and run again.")
    };
    let is_it = |limit: &NextLimit<'_>| limit.role == Role::PoolInUse && [limit.part.part, limit.part.observer].contains(&pool.name);
    Some(next_limit::add_evidence(facts, found, span, &is_it).try_next(next))
}

/// Nothing that was found holds the members: is it the size?
fn size_or_holders(facts: &Facts<'_>, pool: &PoolShortage<'_>, found: RankedFinding) -> RankedFinding {
    if let Some(times) = pool.held_longer().filter(|times| *times <= HELD_ALIKE) {
        return found.weigh(Alternative::ruled_out(
            "Something slow that keeps them in use for longer",
            format!("each is held {} times as long as before", loadstone_units::number(times)),
        ));
    }
    let found = found.weigh(examined::cpu(facts, pool.from, pool.to));
    if pool.is_threads { found } else { found.weigh(examined::database(facts, pool.from, pool.to)) }
}

/// What was found to keep the members in use, as part of a sentence.
fn holders(facts: &Facts<'_>, pool: &PoolShortage<'_>) -> Option<String> {
    if let Some(outage) = facts.outages.iter().find(|outage| pool.is_during(outage.from, outage.to)) {
        return Some(format!("\"{}\" went away", outage.observer));
    }
    if facts.used_up().any(|exhausted| pool.is_during(exhausted.from, exhausted.to)) {
        return Some("another resource is used up".to_owned());
    }
    let wait = facts.session_wait.as_ref().filter(|wait| pool.is_during(wait.from, wait.to))?;
    Some(match wait.role {
        Role::SessionsOnCpu => format!("{} sessions of the database compute", loadstone_units::number(wait.sessions)),
        Role::SessionsWaitingForCommit => format!("{} sessions of the database wait at commit", loadstone_units::number(wait.sessions)),
        _ => format!("{} sessions of the database wait for {}", loadstone_units::number(wait.sessions), wait.event),
    })
}
