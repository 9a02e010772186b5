//! Journeys that took longer since a call failed and was made again.
//!
//! *15 journeys of "Time to send" took 1 min longer: their first call to "subscriber" failed there and had to be made again.*
//!
//! Made if at least three calls met a fault at a stub, and about as many journeys stand apart from all others: half as long again as the slowest of
//! those, and a second or more above their median.

use loadstone_metrics::Histogram;

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{FindingSearch, Rule};

/// Calls that failed, and slow journeys over failed calls: a call may fail twice, and some failures are made good at once.
const CALLS_MIN: u64 = 3;
const JOURNEYS_PER_CALL: (f64, f64) = (0.5, 1.1);
/// How much longer than the slowest of the others the fastest of them took, and by how much.
const GAP: f64 = 1.5;
const LONGER_MIN_S: f64 = 1.0;

pub(super) const RULE: Rule = Rule {
    ids: &["retries"],
    title: "A failed call was repeated",
    says: "journeys took longer because a call failed and was repeated",
    needs: &[],
    settings: &["retry", "backoff"],
    precedence: 150,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let faulted = facts.faulted_calls.iter().max_by_key(|faulted| faulted.count).filter(|faulted| faulted.count >= CALLS_MIN)?;
    facts.tally.flows().iter().find_map(|flow| {
        let times = &flow.merged.time;
        let (slow, delay, fastest) = delayed(times, faulted.count)?;
        let name = &flow.merged.name;
        let (calls, endpoint) = (loadstone_units::counted(faulted.count, "call"), faulted.endpoint);
        let claim = format!(
            "{} of \"{name}\" took {} longer: their first call to \"{endpoint}\" failed there and had to be made again",
            loadstone_units::counted(slow, "journey"),
            loadstone_units::seconds(delay)
        );
        let whole = (0.0, facts.tally.duration_seconds());
        Some(
            RankedFinding::new(Standing::Fault, "retries", Subject::flow(name), Confidence::Medium, claim).with(Quantity::seconds("delay", delay))
                .rests_on(
                    format!(
                        "{} of {} journeys took {} or longer, and none between that and {}",
                        loadstone_units::count(slow),
                        loadstone_units::count(times.count()),
                        loadstone_units::seconds(fastest),
                        loadstone_units::seconds(times.value_at_rank(times.count() - slow) as f64 / 1e9)
                    ),
                    vec![format!("flow/{name}/max")],
                    whole,
                )
                .rests_on(format!("{calls} met a fault at \"{endpoint}\""), vec![faulted.signal.clone()], whole)
                .weigh(Alternative::ruled_out(
                    "A queue",
                    format!(
                        "{} were held up and {calls} failed, with no journey between these and the others",
                        loadstone_units::count(slow)
                    ),
                ))
                .weigh(Alternative::not_ruled_out("That other journeys' calls failed", "it is not recorded whose call met a fault"))
                .try_next("Retry sooner at first, and later each time; a failure that is likely gone at once need not wait that long."),
        )
    })
}

/// How many journeys stand apart above the rest, about as many as calls failed; by how much; and the fastest of them. Seconds.
fn delayed(times: &Histogram, failed: u64) -> Option<(u64, f64, f64)> {
    let count = times.count();
    let part = |share: f64| (failed as f64 * share) as u64;
    let (least, most) = (part(JOURNEYS_PER_CALL.0).max(CALLS_MIN), part(JOURNEYS_PER_CALL.1).min(count / 2));
    let gap = |slow: u64| times.value_at_rank(count - slow + 1) as f64 / times.value_at_rank(count - slow).max(1) as f64;
    let slow = (least..=most).max_by(|a, b| gap(*a).total_cmp(&gap(*b)))?;
    let delay = (times.value_at_rank(count - slow / 2) as f64 - times.value_at_rank((count - slow).div_ceil(2)) as f64) / 1e9;
    let fastest = times.value_at_rank(count - slow + 1) as f64 / 1e9;
    (gap(slow) >= GAP && delay >= LONGER_MIN_S).then_some((slow, delay, fastest))
}
