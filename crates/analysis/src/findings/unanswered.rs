//! Requests that are no longer answered: a connection that is not given back, a deadlock, a worker that hangs.
//!
//! *11 requests of "Buy" were not answered any more, the first from about 0:12 on: something that they need is held for good (connections that are not
//! given back, a lock, workers that hang).*
//!
//! Made if at least 3 requests of a name were still open at the end of the run, for 1.5 s or more and three times as long as any that ended. In a queue,
//! however long, those that end have waited as long as those that are left. If others waited and were served meanwhile, it may be that these come last
//! (starvation by priority), and that is said first.

use crate::finding::Alternative;
use crate::evidence::examined;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::unanswered::Unanswered;
use crate::instant::{clock, named};

/// In a queue, however long, those that end have waited as long as those that are left.
fn long_queue(all: &[Unanswered]) -> Alternative {
    const OTHER: &str = "A queue that is only long";
    if all.iter().any(|unanswered| unanswered.longest_s > 0.0) {
        Alternative::ruled_out(OTHER, "those that ended had waited far less, and came after them")
    } else {
        Alternative::not_ruled_out(OTHER, "none of them ended, which would tell how long others waited")
    }
}

pub(super) const RULE: Rule = Rule {
    ids: &["unanswered"],
    title: "Requests are no longer answered",
    says: "requests that receive no answer any more",
    needs: &[],
    settings: &["pool", "connection", "lock", "worker", "timeout"],
    precedence: 50,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let all = &facts.unanswered;
    let first = all.first()?;
    let names: Vec<&str> = all.iter().map(|unanswered| unanswered.name.as_str()).collect();
    let count: u64 = all.iter().map(|unanswered| unanswered.count).sum();
    let from = all.iter().map(|unanswered| unanswered.from).fold(f64::INFINITY, f64::min);
    let open = all.iter().map(|unanswered| unanswered.open_s.0).fold(0.0, f64::max);
    // While others waited and were served, what comes last is not reached.
    let served = facts.plateaus.limited.iter().any(|plateau| plateau.high.to > from && names.iter().all(|name| *name != plateau.name));
    let why = if served {
        "while others waited and were served: it comes last (starvation by priority), or something that only it needs is held for good"
    } else {
        "something that they need is held for good (connections that are not given back, a lock, workers that hang)"
    };
    let joint = if served { ", " } else { ": " };
    let claim = format!(
        "{} of {} were not answered any more, the first from about {} on{joint}{why}",
        loadstone_units::counted(count, "request"),
        named(&names),
        clock(from)
    );
    let end = facts.tally.duration_seconds();
    let found = RankedFinding::new(Standing::Cause, "unanswered", Subject::requests(names.iter().copied()), Confidence::Medium, claim)
        .with(Quantity::count("unanswered", count as f64)).rests_on(
        format!(
            "they had been open for up to {} when the run ended; {}",
            loadstone_units::seconds(open),
            if first.longest_s > 0.0 {
                format!("no \"{}\" that ended took longer than {}", first.name, loadstone_units::seconds(first.longest_s))
            } else {
                format!("no \"{}\" ended at all", first.name)
            }
        ),
        vec!["in_flight/requests".to_owned(), "response/max".to_owned()],
        (from, end),
    );
    let found = RankedFinding { uncertainty: GeneratorUncertainty::None, ..found };
    Some(
        found
            .weigh(long_queue(all))
            .weigh(examined::cpu(facts, from, end))
            .try_next(
                "Look at what they hold and wait for: the pool's own metrics (in use, waiting), the database's sessions (idle in transaction), a thread \
                 dump of the target. Give every wait a time limit.",
            ),
    )
}
