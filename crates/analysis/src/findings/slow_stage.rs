//! The slowest layer of a pipeline is the first one whose output is below its input.
//!
//! A layer is the part of a flow from one stage to the next. By conservation of flow, the queue in front of a layer grows by its input minus its output.
//! Layers behind the slowest receive only its output, so no queue grows in front of them.
//!
//! The rule needs a flow with stages whose backlog grows, as for [`unstable-queue`](unstable-queue.md). It reports the first layer whose queue grows, if both
//! hold:
//!
//! - the 95 % interval of the growth is above zero (five-second means, Student's *t*)
//! - the growth is at least {DEFICIT_PART_MIN:%} of the layer's input
//!
//! If the queues before all layers grow, and each layer passes the same share of its input (within {SAME_SHARE_DIFFERENCE_MAX:%}), one pool of workers serves
//! them all, in the order of arrival. No layer is then the slowest, and the finding reports the shared workers as the cause.
//!
//! The evidence lists the rates of all layers and the queue in front of each. The finding shows where the limit is, not why: it ranks after the finding that
//! names the cause.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::statistics::mean_of_batches;
use crate::{Confidence, Evidence, FlowTally};

/// Minimum growth of a queue, as a part of its input, for a layer to be the slowest.
const DEFICIT_PART_MIN: f64 = 0.04;

/// Difference between the shares of their input that layers pass, up to which they are the same.
const SAME_SHARE_DIFFERENCE_MAX: f64 = 0.1;

/// From one stage to the next.
struct Layer {
    /// The stage that ends it.
    name: String,
    /// Journeys per second that entered and left it.
    came: f64,
    left: f64,
    /// Growth of its queue per second, and half of the 95 % interval.
    growth: (f64, f64),
    backlog: f64,
}

pub(super) const RULE: Rule = Rule {
    ids: &["slow-stage"],
    page: "slow-stage",
    title: "One stage of the pipeline is the slowest",
    says: "which layer of a pipeline is the slowest",
    example: Example {
        run: "examples/slow-stage",
        claim: "The slowest layer of \"E-mail\" ends in \"generated\": 20.0/s enter it and 12.5/s leave",
    },
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
        if share_workers(&layers) {
            return Some(shared(&layers, &flow.merged.name, stretch));
        }
        let slowest = layers.iter().find(|layer| layer.growth.0 - layer.growth.1 > 0.0 && layer.growth.0 >= DEFICIT_PART_MIN * layer.came)?;
        Some(finding(&layers, slowest, &flow.merged.name, stretch))
    })
}

/// Whether each layer passes the same share of its input. Workers that serve all layers in the order of arrival delay each of them by the same time, which
/// grows at the same rate. Layers with separate workers differ, and those behind the slowest pass everything.
fn share_workers(layers: &[Layer]) -> bool {
    let grows = |layer: &Layer| layer.growth.0 - layer.growth.1 > 0.0 && layer.growth.0 >= DEFICIT_PART_MIN * layer.came;
    let shares = || layers.iter().map(|layer| layer.left / layer.came.max(1e-9));
    let (least, most) = shares().fold((f64::INFINITY, 0.0_f64), |(least, most), share| (least.min(share), most.max(share)));
    layers.len() >= 2 && layers.iter().all(grows) && most - least <= SAME_SHARE_DIFFERENCE_MAX
}

/// All layers wait for the same workers.
fn shared(layers: &[Layer], flow: &str, stretch: (f64, f64)) -> RankedFinding {
    let each = layers.iter().map(|layer| format!("\"{}\" {}", layer.name, loadstone_units::share(layer.left / layer.came.max(1e-9))));
    let each: Vec<String> = each.collect();
    let (came, left) = (layers.first().map_or(0.0, |layer| layer.came), layers.last().map_or(0.0, |layer| layer.left));
    let claim = format!(
        "All layers of \"{flow}\" wait for the same workers: each passes about the same share of its input, so that {} start and {} finish",
        loadstone_units::rate(came),
        loadstone_units::rate(left)
    );
    RankedFinding::new(Standing::Cause, "slow-stage", Subject::flow(flow), Confidence::Medium, claim)
        .with(Quantity::rate("entered", came))
        .with(Quantity::rate("left", left))
        .rests_on(
            format!("share of its input that each layer passes: {}", each.join(", ")),
            vec![format!("flow/{flow}/rate/finished"), format!("flow/{flow}/backlog/all")],
            stretch,
        )
        .at_level(&format!("flow/{flow}/rate/finished"), "on average", left)
        .weigh(Alternative::not_ruled_out(
            "As many separate limits",
            "each layer may have its own workers, too few by the same share",
        ))
        .try_next(
            "Give the workers that serve all layers more places, or give the last layers separate workers, so that started work ends before more begins.",
        )
}

fn finding(layers: &[Layer], slowest: &Layer, flow: &str, stretch: (f64, f64)) -> RankedFinding {
    let claim = format!(
        "The slowest layer of \"{flow}\" ends in \"{}\": {} enter it and {} leave",
        slowest.name,
        loadstone_units::rate(slowest.came),
        loadstone_units::rate(slowest.left)
    );
    let first = layers.first().map_or_else(String::new, |layer| format!("started {}", loadstone_units::rate(layer.came)));
    let rates = layers.iter().map(|layer| format!("{} {}", layer.name, loadstone_units::rate(layer.left)));
    let queues = layers.iter().map(|layer| format!("{:.0} before \"{}\"", layer.backlog, layer.name));
    let (growth, half) = slowest.growth;
    let (started, finished) = (format!("flow/{flow}/rate/started"), format!("flow/{flow}/rate/finished"));
    RankedFinding::new(Standing::Consequence, "slow-stage", Subject::flow(flow), Confidence::High, claim)
        .with(Quantity::rate("entered", slowest.came))
        .with(Quantity::rate("left", slowest.left))
        .with(Quantity::rate("growth", growth).within(growth - half, growth + half))
        .rests_on(
            format!("rates of all layers: {}", std::iter::once(first).chain(rates).collect::<Vec<_>>().join(", ")),
            vec![started.clone(), finished.clone()],
            stretch,
        )
        .at_level(&started, "started", layers.first().map_or(0.0, |layer| layer.came))
        .at_level(&finished, "finished", layers.last().map_or(0.0, |layer| layer.left))
        .rests_on_drawn(grown(layers, slowest, flow, stretch,
            format!(
                "queues at the end of the load: {}; the one before \"{}\" grew by {growth:.1} per second (95 % interval {:.1}–{:.1})",
                queues.collect::<Vec<_>>().join(", "),
                slowest.name,
                growth - half,
                growth + half
            ),
        ))
        .try_next(format!(
            "Fix this layer first: later layers cannot receive more than {}. A finding above this one names the cause; if there \
             is none, observe the processes of this layer.",
            loadstone_units::rate(slowest.left)
        ))
}

/// The queue in front of a layer, with its growth up to the end of the load. The queue before the first stage is drawn as the open journeys: nothing grows
/// behind it.
fn grown(layers: &[Layer], slowest: &Layer, flow: &str, (from, to): (f64, f64), text: String) -> Evidence {
    let place = layers.iter().position(|layer| layer.name == slowest.name).unwrap_or(0);
    let (stage, at_end) = match place {
        0 => ("all", layers.iter().map(|layer| layer.backlog).sum()),
        _ => (layers[place - 1].name.as_str(), slowest.backlog),
    };
    let series = format!("flow/{flow}/backlog/{stage}");
    let began = (at_end - slowest.growth.0 * (to - from)).max(0.0);
    Evidence::new(text, vec![series.clone()], (from, to)).line(&series, "grows", vec![(from, began), (to, at_end)])
}

/// `None` for a flow without stages, or with too few seconds. A layer's output is its input minus the growth of its queue: a journey that ends before its
/// stage was read still passes the layer.
fn layers(facts: &Facts<'_>, flow: &FlowTally, (from, to): (f64, f64)) -> Option<Vec<Layer>> {
    let stages = flow.merged.stages.len();
    let inside = |slice: &&loadstone_metrics::Snapshot| slice.start as f64 / 1e9 >= from && slice.end as f64 / 1e9 <= to + 0.5;
    // For each second: how many entered, and how many were in each layer at its end.
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
