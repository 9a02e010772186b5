//! Closed load gets less done with as many users in requests: the system held them.
//!
//! *Requests ended at 2/s instead of 200/s from 0:25 to 0:31, while 20 users stayed and kept waiting for them.*
//!
//! Under closed load, N users end N / (R + Z) requests per second, for a response time R and a time Z between requests. Made if fewer requests ended, by
//! a quarter or more, while the number of users stayed the same and as many of them were in requests: then it is not Z, which the script decides. Looked
//! for by the test for steps of [`change`](change.md) at one in a thousand; not made where times or failures tell the same.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::instant::clock;

/// Seconds between instants that are taken for the same.
const TOGETHER_S: f64 = 3.0;

pub(super) const RULE: Rule = Rule {
    ids: &["throughput"],
    title: "Fewer requests end",
    says: "closed load completes less work with as many users",
    needs: &[],
    settings: &[],
    precedence: 200,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let drop = facts.throughput.as_ref()?;
    // Where the times tell it, or failures, that says more.
    let is_near = |at: f64| (at - drop.at).abs() <= TOGETHER_S;
    let is_told = facts.changes.found.iter().any(|change| is_near(change.at))
        || facts.failing.iter().filter_map(|failing| failing.when.onset()).any(is_near);
    if is_told {
        return None;
    }
    let users = loadstone_units::counted(drop.users.round() as u64, "user");
    let when = match drop.until {
        Some(until) => format!("from {} to {}", clock(drop.at), clock(until)),
        None => format!("from {} on", clock(drop.at)),
    };
    let claim = format!(
        "Requests ended at {} instead of {} {when}, while {users} stayed and kept waiting for them",
        loadstone_units::rate(drop.during),
        loadstone_units::rate(drop.before)
    );
    let standing = if drop.until.is_some() { Standing::Passing } else { Standing::Symptom };
    Some(
        RankedFinding::new(standing, "throughput", Subject::Whole, Confidence::Medium, claim)
            .rests_on(
                format!(
                    "{} requests ended meanwhile, and {} at other times of that load",
                    loadstone_units::count(drop.counts.1),
                    loadstone_units::count(drop.counts.0)
                ),
                vec!["rate/requests".to_owned()],
                (drop.at, drop.until.unwrap_or(facts.tally.duration_seconds())),
            )
            .weigh(Alternative::ruled_out(
                "Users who pause for longer, or whose script does",
                format!(
                    "{} of them were in a request on average, and {} before",
                    loadstone_units::number(drop.in_flight.1),
                    loadstone_units::number(drop.in_flight.0)
                ),
            ))
            .weigh(Alternative::ruled_out("The load generator", "it did not stand still in most of those seconds"))
            .try_next(format!(
                "Look for what stood still in the system at {}: the slowest requests of the report ended then.",
                clock(drop.at)
            )),
    )
}
