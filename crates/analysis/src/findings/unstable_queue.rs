//! An unstable queue: more comes in than goes out, for as long as the load lasts.
//!
//! Made if more comes in than goes out for as long as the load lasts. It gives the growth with its interval, how long the backlog would take to work off
//! at the throughput seen, and how long it did take. It is a consequence and comes after its cause. Where it stands alone, whatever works the queue off
//! was not observed.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::waiting::WaitingStretch;
use crate::{Confidence, FlowTally};

pub(super) const RULE: Rule = Rule {
    ids: &["unstable-queue"],
    title: "More comes in than goes out",
    says: "a backlog grows as long as the load lasts",
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
        "The backlog of {what} grows by {growth:.1} per second as long as the load lasts: {} arrive, {} leave",
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
        .rests_on(
            format!(
                "grew by {growth:.2} per second (95 % interval {:.2}–{:.2}), to {:.0} at the end of the load",
                growth - half,
                growth + half,
                waiting.backlog
            ),
            waiting.columns(),
            (waiting.from, waiting.load_to),
        )
        .rests_on(
            format!(
                "at {} it takes {} to work that off after the load; {drained}",
                loadstone_units::rate(waiting.throughput),
                loadstone_units::seconds(drain)
            ),
            waiting.columns(),
            (waiting.load_to, waiting.to),
        )
        .weigh(Alternative::ruled_out(
            "A burst that the queue absorbs and works off again",
            format!("it grew until the load ended, at {}", crate::instant::clock(waiting.load_to)),
        ))
        .try_next(format!(
            "Below {} it is stable. The finding before this one says what keeps it from going faster; if there is none, observe what \
             works the queue off: its processes, its database, the endpoints that it calls (as stubs of the test).",
            loadstone_units::rate(waiting.throughput)
        ))
}
