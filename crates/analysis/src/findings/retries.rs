//! Journeys took longer because a call failed and was repeated, or retries keep the system down after a spike of the load.
//!
//! **Delayed journeys** (`retries`) need a stub that counts the calls it failed, and a flow. The rule reports a flow if all of these hold:
//!
//! - at least {FAILED_CALLS_MIN} calls met a fault at a stub
//! - the number of delayed journeys is {JOURNEYS_PER_CALL.0} to {JOURNEYS_PER_CALL.1} times the number of failed calls
//! - the fastest delayed journey took at least {GAP_RATIO_MIN} times as long as the slowest other one
//! - the delayed journeys took at least {DELAY_MIN_S} s longer than the others, by their medians
//!
//! The gap between the two kinds rules out a queue. A stub does not record which journey a failed call belongs to, so the confidence is medium.
//!
//! **Retries that keep a system down** (`retry-storm`): a spike of open load is over, the load is what it was before, and requests still fail. Users that give
//! up repeat their requests, the system works through requests that nobody waits for, and the next ones are late, too (metastable failure; Bronson et al.
//! 2021). All of these must hold:
//!
//! | observation | condition |
//! |---|---|
//! | the load after the spike, to the end of the load | {retry_storm::AFTER_MIN_S} s or more; the spike was {retry_storm::SPIKE_FACTOR_MIN} times as high |
//! | the same load before the spike | {retry_storm::BEFORE_MIN_S} s or more, with {retry_storm::SERVED_FAILED_SHARE_MAX:%} failed requests at most |
//! | failed requests in each third of the time after | {retry_storm::DOWN_FAILED_SHARE_MIN:%} or more |
//! | requests for each arrival | {retry_storm::ATTEMPTS_FACTOR_MIN} times as many as before |
//! | time in the system | {retry_storm::SLOWER_FACTOR_MIN} times as long as before: requests wait, and do not fail at once |
//! | requests sent per second | more than the system ever answered in {retry_storm::ANSWERED_OVER_S} s |
//!
//! Full resources, changes and failures that began with the spike are consequences, and rank after it, unless the system answers hardly any request.
//!
//! The spike may also have broken a part of the system, which looks the same. The confidence is medium if the system answers some requests, otherwise low. A
//! pause of the load decides: a system that only retries keep down then recovers.

use loadstone_metrics::Histogram;

use crate::facts::Facts;
use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::clock;
use crate::{Confidence, Evidence, Grade};

/// Minimum of failed calls, and the range of slow journeys per failed call: a call may fail twice, and some retries succeed at once.
const FAILED_CALLS_MIN: u64 = 3;
const JOURNEYS_PER_CALL: (f64, f64) = (0.5, 1.1);
/// Minimum ratio of the fastest delayed journey to the slowest other one, and the minimum delay.
const GAP_RATIO_MIN: f64 = 1.5;
const DELAY_MIN_S: f64 = 1.0;

pub(super) const RULE: Rule = Rule {
    ids: &["retries", "retry-storm"],
    page: "retries",
    title: "A failed call was repeated",
    says: "a failed call was repeated and delayed journeys, or retries keep a system down",
    example: Example {
        run: "examples/retries",
        claim: "15 journeys of \"Time to send\" took 1 min longer: their first call to \"subscriber\" failed and was repeated",
    },
    needs: &[],
    settings: &["retry", "backoff"],
    precedence: 150,
    find: FindingSearch::Each(find),
};

fn find(facts: &Facts<'_>) -> Vec<RankedFinding> {
    storm(facts).into_iter().chain(delayed_journeys(facts)).collect()
}

/// Retries that keep the system down.
fn storm(facts: &Facts<'_>) -> Option<RankedFinding> {
    let storm = facts.retry_storm.as_ref()?;
    let (number, rate, share) = (loadstone_units::number, loadstone_units::rate, loadstone_units::share);
    let after = (storm.spike.1, storm.to);
    let claim = format!(
        "Retries{} keep the system down after the spike ended at {}: {} of the requests fail at {}, which it served before, and each arrival sends {} instead \
         of {}",
        most_failed(facts).map(|name| format!(" of \"{name}\"")).unwrap_or_default(),
        clock(storm.spike.1),
        share(storm.failed.1),
        rate(storm.load),
        number(storm.attempts.1),
        number(storm.attempts.0)
    );
    let answers_some = storm.answers_some();
    let confidence = if answers_some { Confidence::Medium } else { Confidence::Low };
    let why = if answers_some { "it still answers some requests in time" } else { "it answers hardly any request in time" };
    let found =
        RankedFinding::new(Standing::Cause, "retry-storm", Subject::Whole, confidence, claim)
            .with(Quantity::count("attempts", storm.attempts.1))
            .with(Quantity::share("failed_share", storm.failed.1))
            .rests_on(
                format!(
                    "at {} from {} to {}, {} of the requests failed; the spike was {}",
                    rate(storm.load),
                    clock(storm.served.0),
                    clock(storm.served.1),
                    share(storm.failed.0),
                    rate(storm.spike_load)
                ),
                vec!["failures/share".to_owned()],
                storm.served,
            )
            .rests_on_drawn(
                Evidence::new(
                    format!("{} were sent after it, retries included, and the system never answered more than {}", rate(storm.sent), rate(storm.answered_max)),
                    vec!["rate/requests".to_owned()],
                    after,
                )
                .level("rate/requests", "sent", storm.sent, after)
                .level("rate/requests", "most that it answered", storm.answered_max, after),
            )
            .weigh(Alternative::not_ruled_out("A part of the system that broke in the spike", format!("{why}; only a pause of the load decides")))
            .try_next(
                "Stop the load for some seconds and continue: if the system then serves it, limit the retries (a budget of 10 % of the requests, longer and \
                 random pauses before each), and let the system reject requests whose users have given up.",
            );
    // A late generator does not let the target fail.
    let uncertainty = if facts.generator.grade() == Grade::Invalid { GeneratorUncertainty::None } else { GeneratorUncertainty::Possible };
    Some(RankedFinding { uncertainty, ..found })
}

/// The request that has most of the failures, which are what is repeated.
fn most_failed<'f>(facts: &'f Facts<'_>) -> Option<&'f str> {
    let most = facts.failing.iter().max_by_key(|failing| failing.failed)?;
    let all: u64 = facts.failing.iter().map(|failing| failing.failed).sum();
    (2 * most.failed > all).then_some(&*most.key.name)
}

fn delayed_journeys(facts: &Facts<'_>) -> Option<RankedFinding> {
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
            RankedFinding::new(Standing::Fault, "retries", Subject::flow(name), Confidence::Medium, claim)
                .with(Quantity::seconds("delay", delay))
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
                .weigh(Alternative::not_ruled_out(
                    "Failed calls of other journeys",
                    "a stub does not record which journey a failed call belongs to",
                ))
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
