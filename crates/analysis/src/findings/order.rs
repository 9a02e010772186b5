//! Served out of order: most pass quickly while some starve.
//!
//! In a queue that is served in order, all wait alike. Where the next one is picked otherwise, later ones overtake, and the oldest wait far longer
//! than the median. That takes a queue: without one, journeys only overtake each other because some take longer by themselves.
//!
//! Where the calls that serve a journey were seen, their mean length is the measure: in order, next to nobody is overtaken by one that started eight of
//! them later. The median is none then, as it grows with the backlog.
//!
//! *"Time to send" is served out of order: half take 1.52 s or less, while the oldest waited 53.7 s and was overtaken again and again.*
//!
//! Made if at least 5 journeys were overtaken by one that started much later. Where stubs saw the calls that serve the journeys: more than 8 of their
//! mean hold times and 2 s later, and 5 % of all journeys. On one system, 15 to 41 % were where no order was kept, and 0 to 1.9 % where it was. Where no
//! calls were seen: more than 5 medians and 2 s later, 1 % of all, and the longest waited 1.5 times as long as it takes to work off the largest backlog,
//! which is how long everyone would wait in order. Journeys whose call failed are not counted. Only where work waited: without a queue, journeys overtake
//! each other because some simply take longer.
//!
//! Priorities look the same, and so do keys whose messages wait for each other. You know whether they are intended, and no run does: the confidence is
//! medium.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::waiting::WaitingStretch;
use crate::{Confidence, FlowTally};

/// A journey was starved when one that started so much later finished first: this many mean hold times of the calls that serve it, since calls differ in
/// length by themselves; where none were seen, five medians. Two seconds at least.
const HOLDS: f64 = 8.0;
const MEDIANS: f64 = 5.0;
const LATER_MIN_S: f64 = 2.0;
/// How much longer the longest must have waited than it would have in order, where only the medians tell.
const LONGER_THAN_IN_ORDER: f64 = 1.5;
/// Starved journeys needed to call it a pattern, and their share of all: by hold times, and by medians. Without an order, it is a sixth and more.
const STARVED_MIN: u64 = 5;
const STARVED_SHARE_MIN: (f64, f64) = (0.05, 0.01);

pub(super) const RULE: Rule = Rule {
    ids: &["order"],
    title: "Work is served out of order",
    says: "journeys are overtaken by later ones",
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
    let (least, share) = if hold > 0.0 { (HOLDS * hold, STARVED_SHARE_MIN.0) } else { (MEDIANS * median, STARVED_SHARE_MIN.1) };
    let least = least.max(LATER_MIN_S);
    let starved = slice.overtaken.count() - slice.overtaken.count_at_or_below((least * 1e9) as u64);
    // Those whose call failed were not passed over: they wait until it is made again.
    let starved = starved.saturating_sub(facts.faulted_calls.iter().map(|faulted| faulted.count).sum());
    if starved < STARVED_MIN || (starved as f64) < share * slice.finished as f64 {
        return None;
    }
    let name = &slice.name;
    let oldest = flow.oldest_max_ns as f64 / 1e9;
    let longest = f64::max(slice.time.max() as f64 / 1e9, oldest);
    let in_order = flow.backlog_max as f64 / waiting.throughput.max(1e-9);
    if hold == 0.0 && longest < LONGER_THAN_IN_ORDER * in_order {
        return None;
    }
    let claim = format!(
        "\"{name}\" is served out of order: half take {} or less, while the oldest waited {} and was overtaken repeatedly",
        loadstone_units::seconds(median),
        loadstone_units::seconds(longest)
    );
    let worst = slice.overtaken.max() as f64 / 1e9;
    let finding = RankedFinding::new(Standing::Fault, "order", Subject::flow(&flow.merged.name), Confidence::High, claim)
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
        .rests_on(
            format!(
                "no more than {} were ever open, and {} finished: in order, none would have waited much longer than {}",
                loadstone_units::count(flow.backlog_max),
                loadstone_units::rate(waiting.throughput),
                loadstone_units::seconds(in_order)
            ),
            waiting.columns(),
            (waiting.from, waiting.to),
        );
    let finding = if hold > 0.0 {
        finding.weigh(Alternative::ruled_out(
            "Calls of different length",
            format!(
                "they took {} on average, and the worst was overtaken by {}",
                loadstone_units::seconds(hold),
                loadstone_units::seconds(worst)
            ),
        ))
    } else {
        finding.weigh(Alternative::not_ruled_out(
            "Journeys that take longer by themselves",
            "the calls that serve them were not seen (as stubs of the test)",
        ))
    };
    Some(
        finding
            .weigh(Alternative::not_ruled_out(
                "Priorities, or messages of one key that wait for each other",
                "they look the same from outside, and you know whether they are intended",
            ))
            .try_next(
                "Pick the oldest first (ORDER BY creation time, with a matching index), and run again: the longest times should \
             come close to the median at that moment.",
            ),
    )
}
