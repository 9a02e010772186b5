//! A backlog grows as long as the load lasts, because more journeys start than finish.
//!
//! The rule needs a flow. It reports the flow if its backlog [grows](../findings.md#when-work-waits) until the load ends: the 95 % interval of started minus
//! finished per second is above zero, and the growth is at least {waiting::BACKLOG_GROWTH_PART_MIN:%} of the input.
//!
//! The evidence has the growth with its interval, the backlog at the end of the load, the time needed to work it off at the measured throughput, and the time
//! it took.
//!
//! The finding is a consequence and ranks after its cause. If it is the only finding, nothing that works off the queue was observed, and the rule cannot name
//! the limit.

use crate::Evidence;
use crate::facts::Facts;
use crate::facts::waiting::WaitingStretch;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::{Confidence, FlowTally};

pub(super) const RULE: Rule = Rule {
    ids: &["unstable-queue"],
    page: "unstable-queue",
    title: "A backlog grows throughout the load",
    says: "a flow whose backlog grows as long as the load lasts",
    example: Example {
        run: "examples/unstable-queue",
        claim: "The backlog of \"Time to send\" grows by 19.5 per second as long as the load lasts: 20/s arrive and 0.489/s finish",
    },
    needs: &[],
    settings: &["worker"],
    precedence: 360,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let waiting = facts.waiting.iter().find(|waiting| waiting.is_unstable())?;
    let flow = facts.tally.flows().iter().find(|flow| waiting.flow.as_deref() == Some(&*flow.merged.name))?;
    Some(grows(facts, waiting, flow))
}

fn grows(facts: &Facts<'_>, waiting: &WaitingStretch, flow: &FlowTally) -> RankedFinding {
    let (growth, half) = waiting.growth;
    let what = waiting.what();
    let drain = waiting.backlog / waiting.throughput.max(1e-9);
    let claim = format!(
        "The backlog of {what} grows by {growth:.1} per second as long as the load lasts: {} arrive and {} finish",
        loadstone_units::rate(waiting.started),
        loadstone_units::rate(waiting.finished)
    );
    let row = flow.row(facts.tally.load_end());
    let drained = match row.drain {
        Some(drained) => match drained.seconds {
            Some(seconds) => format!("it took {}", loadstone_units::seconds(seconds)),
            None => format!("{} were still open when the run ended", loadstone_units::count(drained.left)),
        },
        None => "the run ended with its load".to_owned(),
    };
    RankedFinding::new(Standing::Consequence, "unstable-queue", Subject::flow(&flow.merged.name), Confidence::High, claim)
        .with(Quantity::rate("growth", growth).within(growth - half, growth + half))
        .with(Quantity::rate("started", waiting.started))
        .with(Quantity::rate("finished", waiting.finished))
        .rests_on_drawn(grown(
            waiting,
            growth,
            format!(
                "it grew by {growth:.2} per second (95 % interval {:.2}–{:.2}), to {:.0} at the end of the load",
                growth - half,
                growth + half,
                waiting.backlog
            ),
        ))
        .rests_on(
            format!(
                "at {} it takes {} to work off the backlog after the load; {drained}",
                loadstone_units::rate(waiting.throughput),
                loadstone_units::seconds(drain)
            ),
            waiting.columns(),
            (waiting.load_to, waiting.to),
        )
        .weigh(Alternative::ruled_out(
            "A burst that the queue absorbs and works off",
            format!("it grew until the load ended, at {}", crate::instant::clock(waiting.load_to)),
        ))
        .try_next(format!(
            "Below {} the backlog is stable. A finding above this one names the limit. If there is none, observe what \
             works off the queue: its processes, its database, the endpoints that it calls (as stubs of the test).",
            loadstone_units::rate(waiting.throughput)
        ))
}

/// The queue, with the growth of the sentence up to the end of the load.
fn grown(waiting: &WaitingStretch, growth: f64, text: String) -> Evidence {
    let (from, to) = (waiting.from, waiting.load_to);
    let columns = waiting.columns();
    let series = columns[0].clone();
    let began = (waiting.backlog - growth * (to - from)).max(0.0);
    Evidence::new(text, columns, (from, to)).line(&series, "grows", vec![(from, began), (to, waiting.backlog)])
}
