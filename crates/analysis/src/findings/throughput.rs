//! Throughput of closed load fell while the same number of users waited in requests: the system delayed them.
//!
//! In closed load, N users complete N / (R + Z) requests per second, with a response time R and a time Z between requests. The rule reports a drop if all of
//! these hold:
//!
//! - throughput fell by at least a quarter
//! - the number of users stayed the same
//! - as many users as before were in a request, so that the script's time Z does not explain the drop
//!
//! It detects the drop with the step test of [`change`](change.md), at a significance of one in a thousand. It reports nothing within {SAME_INSTANT_S_MAX} s
//! of a change of times or of failures, since these findings are more specific. The confidence is medium: the rule cannot see what stalled.

use crate::Confidence;
use crate::Evidence;
use crate::facts::Facts;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::instant::clock;

/// Maximum seconds between two instants that count as the same.
const SAME_INSTANT_S_MAX: f64 = 3.0;

pub(super) const RULE: Rule = Rule {
    ids: &["throughput"],
    page: "throughput",
    title: "Throughput fell while the load stayed the same",
    says: "closed load completes fewer requests with the same number of users",
    example: Example {
        run: "examples/throughput",
        claim: "Requests ended at 2/s instead of 200/s from 0:25 to 0:31, while 20 users waited for them as before",
    },
    needs: &[],
    settings: &[],
    precedence: 200,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let drop = facts.throughput.as_ref()?;
    // Changed times or failures are the more specific finding.
    let is_near = |at: f64| (at - drop.at).abs() <= SAME_INSTANT_S_MAX;
    let is_reported = facts.changes.found.iter().any(|change| is_near(change.at))
        || facts.failing.iter().filter_map(|failing| failing.when.onset()).any(is_near);
    if is_reported {
        return None;
    }
    let users = loadstone_units::counted(drop.users.round() as u64, "user");
    let when = match drop.until {
        Some(until) => format!("from {} to {}", clock(drop.at), clock(until)),
        None => format!("from {} on", clock(drop.at)),
    };
    let claim = format!(
        "Requests ended at {} instead of {} {when}, while {users} waited for them as before",
        loadstone_units::rate(drop.during),
        loadstone_units::rate(drop.before)
    );
    let span = (drop.at, drop.until.unwrap_or(facts.tally.duration_seconds()));
    let standing = if drop.until.is_some() { Standing::Passing } else { Standing::Symptom };
    Some(
        RankedFinding::new(standing, "throughput", Subject::Whole, Confidence::Medium, claim)
            .with(Quantity::rate("throughput_before", drop.before))
            .with(Quantity::rate("throughput", drop.during))
            .with(Quantity::count("users", drop.users))
            .rests_on_drawn(
                Evidence::new(
                    format!(
                        "{} requests ended in that time, and {} at other times of this load",
                        loadstone_units::count(drop.counts.1),
                        loadstone_units::count(drop.counts.0)
                    ),
                    vec!["rate/requests".to_owned()],
                    span,
                )
                .level("rate/requests", "before", drop.before, (0.0, drop.at))
                .level("rate/requests", "during", drop.during, span),
            )
            .weigh(Alternative::ruled_out(
                "Users or scripts that pause for longer",
                format!(
                    "{} users were in a request on average, and {} before",
                    loadstone_units::number(drop.in_flight.1),
                    loadstone_units::number(drop.in_flight.0)
                ),
            ))
            .weigh(Alternative::ruled_out("The load generator", "it did not stall in most of these seconds"))
            .try_next(format!("Find what stalled in the system at {}: the slowest requests of the report ended then.", clock(drop.at))),
    )
}
