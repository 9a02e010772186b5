//! The slowest layer of a pipeline: the first stage whose output lags its input, with the rates of all of them side by side.
//!
//! By conservation of flow, what piles up before a stage is what came in less what went out. Stages behind the slowest get no more than it lets out, so
//! nothing piles up before them; the first with a growing queue is the one to mend.
//!
//! *The slowest layer of "E-mail" is the one that ends in "generated": 60/s come to it and 21/s leave.*
//!
//! Made for a flow with stages whose backlog grows (as under [`unstable-queue`](unstable-queue.md)): the first layer that lets out less than comes to it,
//! with a 95 % interval above zero (five-second means, Student's *t*) and by 4 % of what came or more. Layers behind the slowest get no more than it lets
//! out, so nothing piles up before them. The evidence has the rates of all layers side by side and the queue before each. It says where, and follows the
//! finding that says why.

use crate::finding::ranked::{RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::statistics::mean_of_batches;
use crate::{Confidence, FlowTally};

/// Part of what comes in by which a queue must grow to be called one that lags.
const DEFICIT_MIN: f64 = 0.04;

/// From one stage to the next.
struct Layer {
    /// The stage that ends it.
    name: String,
    /// Journeys per second that came to it, and that it let out.
    came: f64,
    left: f64,
    /// Growth per second of what is between, and half of its 95 % interval.
    growth: (f64, f64),
    backlog: f64,
}

pub(super) const RULE: Rule = Rule {
    ids: &["slow-stage"],
    title: "One stage of the pipeline is the slowest",
    says: "the slowest layer of a pipeline",
    needs: &[],
    settings: &["worker"],
    precedence: 350,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    facts.waiting.iter().filter(|waiting| waiting.is_unstable()).find_map(|waiting| {
        let flow = facts.tally.flows().iter().find(|flow| waiting.flow.as_deref() == Some(&*flow.merged.name))?;
        let stretch = (waiting.from, waiting.load_to);
        let layers = layers(facts, flow, stretch)?;
        let slowest = layers.iter().find(|layer| layer.growth.0 - layer.growth.1 > 0.0 && layer.growth.0 >= DEFICIT_MIN * layer.came)?;
        Some(told(&layers, slowest, &flow.merged.name, stretch))
    })
}

fn told(layers: &[Layer], slowest: &Layer, flow: &str, stretch: (f64, f64)) -> RankedFinding {
    let claim = format!(
        "The slowest layer of \"{flow}\" is the one that ends in \"{}\": {} come to it and {} leave",
        slowest.name,
        loadstone_units::rate(slowest.came),
        loadstone_units::rate(slowest.left)
    );
    let first = layers.first().map_or_else(String::new, |layer| format!("started {}", loadstone_units::rate(layer.came)));
    let rates = layers.iter().map(|layer| format!("{} {}", layer.name, loadstone_units::rate(layer.left)));
    let queues = layers.iter().map(|layer| format!("{:.0} before \"{}\"", layer.backlog, layer.name));
    let (growth, half) = slowest.growth;
    RankedFinding::new(Standing::Consequence, "slow-stage", Subject::flow(flow), Confidence::High, claim)
        .rests_on(
            format!("side by side: {}", std::iter::once(first).chain(rates).collect::<Vec<_>>().join(", ")),
            vec![format!("flow/{flow}/rate/finished")],
            stretch,
        )
        .rests_on(
            format!(
                "queues at the end of the load: {}; the one before \"{}\" grew by {growth:.1} per second (95 % interval {:.1}–{:.1})",
                queues.collect::<Vec<_>>().join(", "),
                slowest.name,
                growth - half,
                growth + half
            ),
            vec![format!("flow/{flow}/backlog/all")],
            stretch,
        )
        .try_next(format!(
            "Mend this layer first: the ones behind it get no more than {}, whatever they could do. A finding before this one says what holds it up; if there \
             is none, observe what does its work.",
            loadstone_units::rate(slowest.left)
        ))
}

/// `None` for a flow without stages, and where too few seconds were seen. What a layer lets out is what came less what stays: a journey that ends before its
/// stage was read passes it all the same.
fn layers(facts: &Facts<'_>, flow: &FlowTally, (from, to): (f64, f64)) -> Option<Vec<Layer>> {
    let stages = flow.merged.stages.len();
    let inside = |slice: &&loadstone_metrics::Snapshot| slice.start as f64 / 1e9 >= from && slice.end as f64 / 1e9 <= to + 0.5;
    // Of each second: how many came, and how many stood in each layer at its end.
    let seconds = facts.run.slices.iter().filter(inside).filter_map(|slice| {
        let seen = slice.flows.iter().find(|seen| seen.name == flow.merged.name).filter(|seen| seen.stages.len() == stages)?;
        let length = f64::from(slice.seconds());
        let standing: Vec<f64> = seen.stages.iter().map(|stage| stage.backlog as f64).collect();
        let first = (seen.backlog as f64 - standing.iter().sum::<f64>()).max(0.0);
        Some((seen.started as f64 / length, length, std::iter::once(first).chain(standing).collect::<Vec<f64>>()))
    });
    let seconds: Vec<(f64, f64, Vec<f64>)> = seconds.collect();
    let (.., last) = seconds.last().filter(|_| stages > 0 && seconds.len() > 1)?;
    let names = flow.merged.stages.iter().map(|stage| stage.name.to_string()).chain(["finish".to_owned()]);
    let mut came = seconds.iter().map(|(came, ..)| came).sum::<f64>() / seconds.len() as f64;
    let layer = |(place, name): (usize, String)| {
        let growth =
            mean_of_batches(&seconds.windows(2).map(|pair| (pair[1].2[place] - pair[0].2[place]) / pair[1].1).collect::<Vec<f64>>());
        let layer = Layer { name, came, left: (came - growth.0).max(0.0), growth, backlog: last[place] };
        came = layer.left;
        layer
    };
    Some(names.enumerate().map(layer).collect())
}
