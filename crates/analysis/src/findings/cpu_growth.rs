//! The function in which a request's CPU time grows while work waits.
//!
//! The rule computes a differential profile (Gregg 2014) from the profiles of [runtimes](../observers.md#runtimes). A function's cores in use divided by the
//! requests that end per second are its CPU time per request (utilisation law). A higher load alone therefore makes no difference.
//!
//! Work waits in the seconds in which requests took {strain::HELD_UP_FACTOR_MIN} times as long as at best, and at least {strain::HELD_UP_BY_MIN_S:ms} longer.
//! The rule compares these with the seconds in which requests took less than {strain::HELD_UP_FACTOR_MIN} times as long.
//!
//! | condition | limit |
//! |---|---|
//! | CPU time per request, all functions | {GROWTH_FACTOR_MIN} times as much while work waits |
//! | the function's part of that growth | {GROWTH_PART_MIN:%}; medium confidence from {MEDIUM_CONFIDENCE_PART_MIN:%} on |
//! | readings | {search::READINGS_MIN} with waiting and {search::READINGS_MIN} without; {READINGS_SHARE_MIN:%} of those with waiting exceed the mean without |
//! | CPU time seen in the function while work waited | {SAMPLED_MIN_S} s, about 50 samples |
//! | requests | {profiles::REQUESTS_MIN} with waiting and {profiles::REQUESTS_MIN} without |
//!
//! The finding ranks after causes and never has high confidence: stack samples cannot distinguish a function that causes the queue from one that costs more
//! because of the queue.

use loadstone_metrics::function_labels::callers;
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};

/// Part of the growth in one function from which the finding has medium confidence.
const MEDIUM_CONFIDENCE_PART_MIN: f64 = 0.75;

pub(super) const RULE: Rule = Rule {
    ids: &["cpu-growth"],
    page: "cpu-growth",
    title: "A function takes more CPU time per request",
    says: "in which function the CPU time grows while work waits",
    example: Example {
        run: "examples/cpu-growth",
        claim: "While work waits, a request takes more CPU time of \"node:80\" (3 ms → 5.7 ms), and 83 % of the growth is in `lookup node:dns` ← \
                `send statsd.mjs:4` ← `decide shop.mjs:9`",
    },
    needs: &["native"],
    settings: &[],
    precedence: 330,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let growth = facts.cpu_growth.as_ref()?;
    let stack = std::iter::once(growth.function).chain(callers(growth.under));
    let place = stack.map(|function| format!("`{function}`")).collect::<Vec<_>>().join(" ← ");
    let name = growth.observer;
    let both = |seconds: (f64, f64), digits: (usize, usize)| {
        (loadstone_units::seconds_to(seconds.0, digits.0), loadstone_units::seconds_to(seconds.1, digits.1))
    };
    let (from, to) = both(growth.whole, growth.digits.whole);
    let (part_from, part_to) = both(growth.part, growth.digits.part);
    let claim = format!(
        "While work waits, a request takes more CPU time of \"{name}\" ({from} → {to}), and {} of the growth is in {place}",
        loadstone_units::share_to(growth.share(), growth.digits.share)
    );
    let confidence = if growth.share() >= MEDIUM_CONFIDENCE_PART_MIN { Confidence::Medium } else { Confidence::Low };
    let (unchanged, grown) = (growth.part.0 * growth.rate, growth.part.1 * growth.rate);
    let text = format!(
        "stack samples: {part_from} → {part_to} of CPU time per request in {place}, from {} readings without waiting and {} with; at the {} served while work \
         waits, this is {} instead of {} cores",
        growth.readings.0,
        growth.readings.1,
        loadstone_units::rate(growth.rate),
        loadstone_units::number(grown),
        loadstone_units::number(unchanged)
    );
    let found = RankedFinding::new(Standing::Consequence, "cpu-growth", Subject::part(name, growth.function), confidence, claim)
        .with(Quantity::share("growth_share", growth.share()))
        .with(Quantity::seconds("cpu_per_request_before", growth.whole.0))
        .with(Quantity::seconds("cpu_per_request", growth.whole.1))
        .rests_on(text, vec![growth.series.clone()], growth.span)
        .at_level(&growth.series, "while work waits", grown)
        .at_level(&growth.series, "without the growth", unchanged)
        .weigh(Alternative::not_ruled_out(
            "A queue that itself costs CPU time, so that the growth follows from the wait",
            "stack samples do not show which of them came first",
        ))
        .try_next(format!("Find out why {place} takes more CPU time per request: it may scan more, retry, or be called more often."));
    Some(found)
}
