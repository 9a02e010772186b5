//! Some requests get no response any more: a leaked connection, a deadlock, or a worker that hangs.
//!
//! The rule reports a request if at least {COUNT_MIN} of its samples were still open at the end of the run. They must have been open for at least
//! {OPEN_MIN_S} s, and for {OPEN_FACTOR_MIN} times as long as any that ended.
//!
//! A long queue is ruled out, because requests that end have then waited as long as those that are still open. It is not ruled out if no such request ended.
//! A process at the limit of its CPU is the other alternative.
//!
//! The claim names the instant of the last response if it is earlier: requests that were sent before may have timed out.
//!
//! If other requests waited and were served in that time, these may have the lowest priority. The rule cannot distinguish that from something that is not
//! released, and the claim lists both. The confidence is medium.
//!
//! If new connections were opened meanwhile and no request on them was answered, while requests on older connections were, all workers of the server are held
//! by open connections. The claim then states how many connections were ever served: with workers that hold their connection, that is their number.
//!
//! The rule reports nothing if connections [wait to be accepted](accept-queue.md), since the requests then wait there.

use crate::Confidence;
use crate::Evidence;
use crate::evidence::examined;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::facts::unanswered::Unanswered;
use crate::facts::unserved_connections::UnservedConnections;
use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::instant::{clock, named};

/// In a queue of any length, requests that end have waited as long as those that are still open.
fn long_queue(all: &[Unanswered]) -> Alternative {
    const OTHER: &str = "A long queue";
    if all.iter().any(|unanswered| unanswered.longest_s > 0.0) {
        Alternative::ruled_out(OTHER, "requests that ended waited far less, and began later")
    } else {
        Alternative::not_ruled_out(OTHER, "no such request ended, so the time in the queue is unknown")
    }
}

pub(super) const RULE: Rule = Rule {
    ids: &["unanswered"],
    page: "unanswered",
    title: "Requests are no longer answered",
    says: "requests that got no response before the run ended",
    example: Example {
        run: "corpus/go.unreturned-connections.plain.constant.all.1",
        claim: "94 requests of \"List\" got no response before the run ended, the first from about 0:13 on: something that they need is not \
                released (leaked connections, a lock, workers that hang)",
    },
    needs: &[],
    settings: &["pool", "connection", "lock", "worker", "timeout"],
    precedence: 50,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let all = &facts.unanswered;
    let first = all.first()?;
    // Their connections were never accepted.
    if facts.accept_queue.is_some() {
        return None;
    }
    let names: Vec<&str> = all.iter().map(|unanswered| unanswered.name.as_str()).collect();
    let count: u64 = all.iter().map(|unanswered| unanswered.count).sum();
    let from = all.iter().map(|unanswered| unanswered.from).fold(f64::INFINITY, f64::min);
    let open = all.iter().map(|unanswered| unanswered.open_s.0).fold(0.0, f64::max);
    // With strict priorities, the lowest is not served while others wait.
    let served = facts.plateaus.limited.iter().any(|plateau| plateau.high.to > from && names.iter().all(|name| *name != plateau.name));
    let why = if served {
        "while others waited and were served: these have the lowest priority (starvation), or something that only they need is not released"
    } else {
        "something that they need is not released (leaked connections, a lock, workers that hang)"
    };
    let joint = if served { ", " } else { ": " };
    let unserved = facts.unserved_connections.as_ref();
    let claim = match unserved {
        Some(unserved) => format!(
            "No new connection was served from {} to {}, while requests on {} were: the server serves only so many connections at a time, and holds \
             a worker for each open one",
            clock(unserved.from),
            clock(unserved.to),
            loadstone_units::counted(unserved.served, "older connection")
        ),
        None => format!(
            "{} of {} got no response before the run ended, the first from about {} on{joint}{why}",
            loadstone_units::counted(count, "request"),
            named(&names),
            clock(from)
        ),
    };
    let end = facts.tally.duration_seconds();
    let found = RankedFinding::new(Standing::Cause, "unanswered", Subject::requests(names.iter().copied()), Confidence::Medium, claim)
        .with(Quantity::count("unanswered", count as f64))
        .with(Quantity::seconds("from", from))
        .with(Quantity::seconds("open", open))
        .rests_on_drawn(last_answers(
            all,
            format!(
                "when the run ended, they had been open for up to {}; {}",
                loadstone_units::seconds(open),
                if first.longest_s > 0.0 {
                    format!("no \"{}\" that ended took longer than {}", first.name, loadstone_units::seconds(first.longest_s))
                } else {
                    format!("no \"{}\" ended at all", first.name)
                }
            ),
            (from, end),
        ));
    let found = RankedFinding { uncertainty: GeneratorUncertainty::None, ..found };
    if let Some(unserved) = unserved {
        return Some(of_unserved(facts, found, unserved));
    }
    Some(found.weigh(long_queue(all)).weigh(examined::cpu(facts, from, end)).try_next(
        "Check what they hold and wait for: the pool's metrics (in use, waiting), the database's sessions (idle in transaction), a thread \
                 dump of the target. Give every wait a time limit.",
    ))
}

/// With the numbers of connections. A long queue would let requests on new connections end, too.
fn of_unserved(facts: &Facts<'_>, found: RankedFinding, unserved: &UnservedConnections) -> RankedFinding {
    let span = (unserved.from, unserved.to);
    let text = format!(
        "{} were opened from {} to {}, and no request on them was answered meanwhile; {} on older ones were",
        loadstone_units::counted(unserved.opened, "connection"),
        clock(unserved.from),
        clock(unserved.to),
        loadstone_units::counted(unserved.answered, "request")
    );
    found
        .with(Quantity::count("served", unserved.served as f64))
        .rests_on(text, vec!["in_flight/connections".to_owned(), "rate/requests".to_owned()], span)
        .weigh(examined::cpu(facts, span.0, span.1))
        .try_next(
            "Look up the number of workers or threads of the server, and raise it. If it keeps idle connections open, let it close them sooner \
             (`KeepAliveTimeout`, `keepalive_timeout`).",
        )
}

/// The slowest responses of the requests that ended, next to all that are open.
fn last_answers(all: &[Unanswered], text: String, stretch: (f64, f64)) -> Evidence {
    let series = vec!["in_flight/requests".to_owned(), "response/max".to_owned()];
    let evidence = Evidence::new(text, series, stretch).of_requests(all.iter().map(|unanswered| unanswered.name.as_str()));
    match all.first().filter(|first| all.len() == 1 && first.longest_s > 0.0) {
        Some(first) => evidence.level("response/max", "longest that ended", first.longest_s, (0.0, stretch.1)),
        None => evidence,
    }
}
