//! A constant number of connections to a database limits the work: requests wait while the system opens no further connection.
//!
//! Many pools export no metrics, but the database counts its connections (`connections_total`). All of these must hold:
//!
//! - At least 10 readings show the same number while requests wait, and none before shows more.
//! - At the end of the load, at least twice as many requests are in the system as there are connections, and half as many more as at its begin.
//! - No other finding explains it: a resource that is used up, a pool with metrics, waits of sessions or threads, or a limit of calls.
//!
//! Under a constant number of users, requests do not become more. There, half of the users must be in the system, and the process must be idle. No
//! connection may wait to be accepted: all workers would then be busy. The database's counts of statements must show that a pool that may open more
//! connections would have:
//! {constant_connections::OPENING_STATEMENTS_MIN} statements or more would have begun while all of them were in use (M/G/∞). The confidence is then low:
//! the requests may spend their time elsewhere.
//!
//! Requests wait if their throughput stops, if their times grow, if the accept queue of the process grows to 5 connections (`observe.process`), or if they are
//! [hardly answered](../how-findings-work.md#when-there-is-no-finding).
//!
//! Some pools open all their connections at the start, and then show a constant number at any load. The confidence is therefore low, unless the number is that
//! of the requests served at a time, or {constant_connections::IN_USE_PART_MIN:%} of the connections were in use: by the sessions of the database, or by the
//! calls that wait for its answer (`awaited` of `observe.process`). It is then medium, and medium at most: connections of other clients count, too. A number
//! below that of the requests served at a time counts as well, if places that are held for part of the request may explain the throughput. The finding then
//! ranks before [`effective-concurrency`](effective-concurrency.md), which becomes its evidence, as does [`rate-limit`](delaying-limit.md) if the connections
//! explain the rate.

use crate::Confidence;
use crate::evidence::examined;
use crate::facts::Facts;
use crate::facts::constant_connections::{ConnectionNeed, ConstantConnections};
use crate::facts::outward_waits::DatabaseCalls;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};

pub(super) const RULE: Rule = Rule {
    ids: &["held-connections"],
    page: "held-connections",
    title: "A constant number of connections is a limit",
    says: "requests wait while the system opens no further connection to its database",
    example: Example {
        run: "examples/held-connections",
        claim: "Requests wait while the system has exactly 1 connection to \"postgres\" throughout: a pool of that size, or as many workers, is \
                the limit",
    },
    needs: &["postgres"],
    settings: &["pool", "connection", "worker", "thread"],
    precedence: 315,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let held = facts.constant_connections.as_ref()?;
    if facts.explain_waiting((held.from, held.to)) || facts.slow_connects.is_some() {
        return None;
    }
    let cpu = examined::cpu(facts, held.from, held.to);
    // Without a rise, nothing but the idle process shows that requests wait.
    let is_shown = matches!(held.need, ConnectionNeed::Rise) || cpu.ruled_out;
    is_shown.then(|| finding(facts, held, cpu))
}

fn finding(facts: &Facts<'_>, held: &ConstantConnections<'_>, cpu: Alternative) -> RankedFinding {
    let (span, number) = ((held.from, held.to), held.number);
    let connections = if number < 1.5 { "connection" } else { "connections" };
    let why = match held.need {
        ConnectionNeed::Rise => "Requests wait".to_owned(),
        ConnectionNeed::Openings { .. } => format!("{} requests are in the system at any time", loadstone_units::number(held.in_system.1)),
    };
    let claim = format!(
        "{why} while the system has exactly {number:.0} {connections} to \"{}\" throughout: a pool of that size, or as many workers, is the limit",
        held.database
    );
    let (awaited, are_in_use) = (held.awaited(), held.are_in_use());
    let stops_throughput = held.are_places || (held.explains_plateau && matches!(held.need, ConnectionNeed::Rise));
    let confidence = if are_in_use || stops_throughput { Confidence::Medium } else { Confidence::Low };
    let found = RankedFinding::new(Standing::Cause, "held-connections", Subject::observed(held.database), confidence, claim)
        .with(Quantity::count("connections", number))
        .with(Quantity::count("in_system", held.in_system.1))
        .rests_on(readings(held), vec![held.series.clone(), "in_flight/requests".to_owned()], span)
        .at_level(&held.series, "throughout", number);
    let found = match held.need {
        ConnectionNeed::Rise => found,
        ConnectionNeed::Openings { .. } => found.weigh(elsewhere()),
    };
    let found = match &facts.accept_queue {
        Some(queue) => {
            let (first, last) = (loadstone_units::number(queue.first), loadstone_units::number(queue.last));
            found.rests_on(format!("connections that waited to be accepted rose from {first} to {last}"), vec![queue.series.clone()], span)
        }
        None => found,
    };
    let found = match awaited {
        Some(awaited) => {
            let evidence = found.rests_on(waiting(awaited), vec![awaited.series.clone()], span);
            evidence.at_level(&awaited.series, "on average", awaited.calls)
        }
        None => found,
    };
    let in_use = match (awaited, held.in_use) {
        (Some(awaited), _) => waiting(awaited),
        (None, Some(used)) => format!("{} of them had a statement or an open transaction on average", loadstone_units::number(used)),
        (None, None) => "the database's sessions were not observed".to_owned(),
    };
    const FILLED: &str = "A pool that opened all its connections at the start, and is not used up";
    let filled = if are_in_use { Alternative::ruled_out(FILLED, in_use) } else { Alternative::not_ruled_out(FILLED, in_use) };
    found.weigh(filled).weigh(cpu).beyond_the_generator(facts, span).try_next(format!(
        "Look up the size of the pool in the service's configuration (`pool`, `pool_size`, `maximumPoolSize`, `connection_limit`, the number of workers). \
         Set it above {number:.0} and run again: throughput should rise."
    ))
}

/// How many of the connections wait for an answer.
fn waiting(awaited: &DatabaseCalls<'_>) -> String {
    let calls = loadstone_units::number(awaited.calls);
    match awaited.may_lead_there {
        Some(peer) => format!("{calls} calls to {peer}, which may lead to it, waited for an answer on average"),
        None => format!("{calls} of them waited for an answer on average"),
    }
}

/// How many connections there were, and what shows that there are no more.
fn readings(held: &ConstantConnections<'_>) -> String {
    let number = loadstone_units::number;
    let constant = format!("{} was {:.0} in each of {} readings", held.series, held.number, held.readings);
    match held.need {
        ConnectionNeed::Rise => {
            format!("{constant}, while the requests in the system rose from {} to {}", number(held.in_system.0), number(held.in_system.1))
        }
        ConnectionNeed::Openings { statements, calls, seconds_each } => format!(
            "{constant}, while {} requests were in the system. No more are allowed: of {} statements, each of which occupied \"{}\" for {}, \
             about {} would have begun while all of them were in use, and opened another one",
            number(held.in_system.1),
            loadstone_units::rate(calls),
            held.database,
            loadstone_units::seconds(seconds_each),
            number(statements)
        ),
    }
}

fn elsewhere() -> Alternative {
    Alternative::not_ruled_out(
        "Another place in which the requests spend their time",
        "how long they wait for a connection was not observed",
    )
}
