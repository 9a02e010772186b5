//! A queue is served out of order: most journeys finish quickly, while some starve.
//!
//! In a queue that is served in order, all journeys wait equally long. Otherwise later journeys overtake, and the oldest wait far longer than the median.
//!
//! The rule examines flows whose work [waited](../findings.md#when-work-waits). Without a queue, journeys overtake each other only because some take longer.
//! It reports a flow if at least {STARVED_MIN} journeys were overtaken by one that started much later:
//!
//! | calls that serve the journeys | started later by more than | share of all journeys |
//! |---|---|---|
//! | observed by a stub | {LATER_HOLDS_MIN} mean hold times, and {LATER_MIN_S} s | {STARVED_SHARE_MIN.0:%} |
//! | not observed | {LATER_MEDIANS_MIN} medians, and {LATER_MIN_S} s | {STARVED_SHARE_MIN.1:%} |
//!
//! Hold times are the better measure, because the median grows with the backlog. On one system, 15 to 41 % of the journeys starved without an order, and 0 to
//! 1.9 % with one. If no calls were observed, the longest wait must also be {LONGER_THAN_IN_ORDER_MIN} times the time needed to work off the largest backlog.
//! The rule does not count journeys whose call failed.
//!
//! Priorities look the same from outside, and so do messages of one key that wait for each other. No run shows whether these are intended, so the confidence
//! is medium.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::facts::waiting::WaitingStretch;
use crate::{Confidence, FlowTally};

/// A journey starved if one that started this much later finished first: in mean hold times of the calls that serve it, since calls differ in length
/// without a queue, and in medians if no calls were observed. At least two seconds.
const LATER_HOLDS_MIN: f64 = 8.0;
const LATER_MEDIANS_MIN: f64 = 5.0;
const LATER_MIN_S: f64 = 2.0;
/// How many times as long the longest must have waited as in order, if only medians are known.
const LONGER_THAN_IN_ORDER_MIN: f64 = 1.5;
/// Starved journeys that make a pattern, and their share of all: by hold times, and by medians. Without an order, the share is a sixth or more.
const STARVED_MIN: u64 = 5;
const STARVED_SHARE_MIN: (f64, f64) = (0.05, 0.01);

pub(super) const RULE: Rule = Rule {
    ids: &["order"],
    page: "order",
    title: "Work is served out of order",
    says: "journeys are overtaken by later ones",
    example: Example {
        run: "examples/order",
        claim: "\"Time to send\" is served out of order: half of the journeys take 4.50 s or less, while the oldest waited 49.6 s and was \
                overtaken repeatedly",
    },
    needs: &[],
    settings: &["order", "priority"],
    precedence: 140,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    facts.waiting.iter().find_map(|waiting| {
        let flow = facts.tally.flows().iter().find(|flow| waiting.flow.as_deref() == Some(&*flow.merged.name))?;
        starved(facts, waiting, flow)
    })
}

#[expect(clippy::too_many_lines, reason = "one finding and its evidence in the order in which they are read")]
fn starved(facts: &Facts<'_>, waiting: &WaitingStretch, flow: &FlowTally) -> Option<RankedFinding> {
    let slice = &flow.merged;
    let median = slice.time.quantile(0.5)? as f64 / 1e9;
    let holds = facts.called.iter().filter_map(|endpoint| endpoint.hold.as_ref()?.mean(waiting.from, waiting.to));
    let hold = holds.fold(0.0, f64::max);
    let (least, share) = if hold > 0.0 { (LATER_HOLDS_MIN * hold, STARVED_SHARE_MIN.0) } else { (LATER_MEDIANS_MIN * median, STARVED_SHARE_MIN.1) };
    let least = least.max(LATER_MIN_S);
    let starved = slice.overtaken.count() - slice.overtaken.count_at_or_below((least * 1e9) as u64);
    // A journey whose call failed waits for the retry and was not starved.
    let starved = starved.saturating_sub(facts.faulted_calls.iter().map(|faulted| faulted.count).sum());
    if starved < STARVED_MIN || (starved as f64) < share * slice.finished as f64 {
        return None;
    }
    let name = &slice.name;
    let oldest = flow.oldest_max_ns as f64 / 1e9;
    let longest = f64::max(slice.time.max() as f64 / 1e9, oldest);
    let in_order = flow.backlog_max as f64 / waiting.throughput.max(1e-9);
    if hold == 0.0 && longest < LONGER_THAN_IN_ORDER_MIN * in_order {
        return None;
    }
    let claim = format!(
        "\"{name}\" is served out of order: half of the journeys take {} or less, while the oldest waited {} and was overtaken repeatedly",
        loadstone_units::seconds(median),
        loadstone_units::seconds(longest)
    );
    let worst = slice.overtaken.max() as f64 / 1e9;
    let finding = RankedFinding::new(Standing::Fault, "order", Subject::flow(&flow.merged.name), Confidence::High, claim)
        .with(Quantity::seconds("median", median))
        .with(Quantity::seconds("oldest", longest))
        .with(Quantity::count("overtaken", starved as f64))
        .rests_on(
            format!(
                "{} of {} journeys were overtaken by one that started more than {} later; the worst by {}",
                loadstone_units::count(starved),
                loadstone_units::count(slice.finished),
                loadstone_units::seconds(least),
                loadstone_units::seconds(worst)
            ),
            vec![format!("flow/{name}/order/overtaken"), format!("flow/{name}/oldest/age")],
            (waiting.from, waiting.to),
        )
        .at_level(&format!("flow/{name}/oldest/age"), "the oldest waited", longest)
        .rests_on(
            format!(
                "at most {} were open at a time, and {} finished: in order, none would have waited much longer than {}",
                loadstone_units::count(flow.backlog_max),
                loadstone_units::rate(waiting.throughput),
                loadstone_units::seconds(in_order)
            ),
            waiting.columns(),
            (waiting.from, waiting.to),
        );
    let finding = if hold > 0.0 {
        finding.weigh(Alternative::ruled_out(
            "Calls that take different times",
            format!(
                "calls took {} on average, and the worst journey was overtaken by {}",
                loadstone_units::seconds(hold),
                loadstone_units::seconds(worst)
            ),
        ))
    } else {
        finding.weigh(Alternative::not_ruled_out(
            "Journeys that take longer by themselves",
            "the calls that serve them were not observed (as stubs of the test)",
        ))
    };
    Some(
        finding
            .weigh(Alternative::not_ruled_out(
                "Priorities, or messages of one key that wait for each other",
                "they look the same from outside; only you know whether they are intended",
            ))
            .try_next(
                "Serve the oldest first (ORDER BY creation time, with a matching index), and run again: the longest times should \
                 approach the median at that moment.",
            ),
    )
}
