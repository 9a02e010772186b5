//! Journeys took longer because a call failed and was repeated.
//!
//! The rule needs a stub that counts the calls it failed, and a flow. It reports a flow if all of these hold:
//!
//! - at least {FAILED_CALLS_MIN} calls met a fault at a stub
//! - the number of delayed journeys is {JOURNEYS_PER_CALL.0} to {JOURNEYS_PER_CALL.1} times the number of failed calls
//! - the fastest delayed journey took at least {GAP_RATIO_MIN} times as long as the slowest other one
//! - the delayed journeys took at least {DELAY_MIN_S} s longer than the others, by their medians
//!
//! The gap between the two kinds rules out a queue. A stub does not record which journey a failed call belongs to, so the confidence is medium.

use loadstone_metrics::Histogram;

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};

/// Minimum of failed calls, and the range of slow journeys per failed call: a call may fail twice, and some retries succeed at once.
const FAILED_CALLS_MIN: u64 = 3;
const JOURNEYS_PER_CALL: (f64, f64) = (0.5, 1.1);
/// Minimum ratio of the fastest delayed journey to the slowest other one, and the minimum delay.
const GAP_RATIO_MIN: f64 = 1.5;
const DELAY_MIN_S: f64 = 1.0;

pub(super) const RULE: Rule = Rule {
    ids: &["retries"],
    page: "retries",
    title: "A failed call was repeated",
    says: "journeys took longer because a call failed and was repeated",
    example: Example {
        run: "examples/retries",
        claim: "15 journeys of \"Time to send\" took 1 min longer: their first call to \"subscriber\" failed and was repeated",
    },
    needs: &[],
    settings: &["retry", "backoff"],
    precedence: 150,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let faulted = facts.faulted_calls.iter().max_by_key(|faulted| faulted.count).filter(|faulted| faulted.count >= FAILED_CALLS_MIN)?;
    facts.tally.flows().iter().find_map(|flow| {
        let times = &flow.merged.time;
        let (slow, delay, fastest) = delayed(times, faulted.count)?;
        let name = &flow.merged.name;
        let (calls, endpoint) = (loadstone_units::counted(faulted.count, "call"), faulted.endpoint);
        let claim = format!(
            "{} of \"{name}\" took {} longer: their first call to \"{endpoint}\" failed and was repeated",
            loadstone_units::counted(slow, "journey"),
            loadstone_units::seconds(delay)
        );
        let whole = (0.0, facts.tally.duration_seconds());
        Some(
            RankedFinding::new(Standing::Fault, "retries", Subject::flow(name), Confidence::Medium, claim).with(Quantity::seconds("delay", delay))
                .with(Quantity::count("journeys", slow as f64))
                .rests_on(
                    format!(
                        "{} of {} journeys took {} or longer; none took between {} and that",
                        loadstone_units::count(slow),
                        loadstone_units::count(times.count()),
                        loadstone_units::seconds(fastest),
                        loadstone_units::seconds(times.value_at_rank(times.count() - slow) as f64 / 1e9)
                    ),
                    vec![format!("flow/{name}/max")],
                    whole,
                )
                .at_level(&format!("flow/{name}/max"), "the delayed ones: at least", fastest)
                .rests_on(format!("{calls} met a fault at \"{endpoint}\""), vec![faulted.signal.clone()], whole)
                .weigh(Alternative::ruled_out(
                    "A queue",
                    format!(
                        "{} journeys were delayed and {calls} failed, and no journey lies between the delayed ones and the others",
                        loadstone_units::count(slow)
                    ),
                ))
                .weigh(Alternative::not_ruled_out("Failed calls of other journeys", "a stub does not record which journey a failed call belongs to"))
                .try_next("Retry soon after the first failure, and wait longer each time: a short failure is often over at once."),
        )
    })
}

/// The number of delayed journeys, about as many as calls failed; their delay; and the fastest of them. Seconds.
fn delayed(times: &Histogram, failed: u64) -> Option<(u64, f64, f64)> {
    let count = times.count();
    let part = |share: f64| (failed as f64 * share) as u64;
    let (least, most) = (part(JOURNEYS_PER_CALL.0).max(FAILED_CALLS_MIN), part(JOURNEYS_PER_CALL.1).min(count / 2));
    let gap = |slow: u64| times.value_at_rank(count - slow + 1) as f64 / times.value_at_rank(count - slow).max(1) as f64;
    let slow = (least..=most).max_by(|a, b| gap(*a).total_cmp(&gap(*b)))?;
    let delay = (times.value_at_rank(count - slow / 2) as f64 - times.value_at_rank((count - slow).div_ceil(2)) as f64) / 1e9;
    let fastest = times.value_at_rank(count - slow + 1) as f64 / 1e9;
    (gap(slow) >= GAP_RATIO_MIN && delay >= DELAY_MIN_S).then_some((slow, delay, fastest))
}
