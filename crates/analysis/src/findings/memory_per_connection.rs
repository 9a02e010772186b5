//! Memory limits the number of clients, because the service allocates much memory for each connection.
//!
//! The rule needs `observe.process`. While the load opens at least {CONNECTIONS_MIN} connections, it fits the memory of each observed process to the number
//! of open connections (least squares). It reports a process if all of these hold:
//!
//! - the slope is at least {EACH_MIN_BYTES:kB} per connection; most runtimes need 10 to 60 kB
//! - all connections together take at least {ALL_MIN_BYTES:MB}
//! - the number of connections explains at least {EXPLAINED_MIN:%} of the variance of the memory
//!
//! Two alternatives must be ruled out:
//!
//! - **A leak** continues to grow after all clients have connected. At least {LEVEL_READINGS_MIN} readings must show the constant number of connections, and
//!   memory must grow by at most {LATER_GROWTH_PART_MAX:%} of the earlier growth. If the number of connections never becomes constant, the rule cannot
//!   distinguish the two and reports nothing.
//! - **A backlog** of requests also takes memory. The rule reports nothing if {BUSY_PART_MIN:%} of the connections or more have a request in progress.

use loadstone_metrics::Role;

use crate::{Confidence, Evidence};
use crate::facts::Facts;
use crate::finding::{Quantity, QuantityUnit, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::facts::readings::SignalReadings;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::statistics::LeastSquaresLine;

/// Connections that must have been added for a slope to mean something.
const CONNECTIONS_MIN: f64 = 100.0;
/// Minimum memory per connection, and of all connections together. A connection with its buffers and objects takes 10 to 60 kB in most runtimes.
const EACH_MIN_BYTES: f64 = 100e3;
const ALL_MIN_BYTES: f64 = 100e6;
/// Part of the variance of memory that the number of connections must explain.
const EXPLAINED_MIN: f64 = 0.8;
/// Maximum growth after the number of connections became constant, as a part of the growth before. More indicates a leak.
const LATER_GROWTH_PART_MAX: f64 = 0.3;

/// Part of the load's connections that the process must have.
const OWN_CONNECTIONS_PART_MIN: f64 = 0.5;

/// Readings with a constant number of connections that are needed to detect a leak.
const LEVEL_READINGS_MIN: usize = 8;
/// Part of the connections with a request in progress from which the requests may take the memory.
const BUSY_PART_MIN: f64 = 0.5;

pub(super) const RULE: Rule = Rule {
    ids: &["memory-per-connection"],
    page: "memory-per-connection",
    title: "Each connection costs memory",
    says: "each connection takes a lot of memory",
    example: Example {
        run: "examples/memory-per-connection",
        claim: "\"process:8081\" uses 299 kB of memory per connection: 2000 connections take 598 MB",
    },
    needs: &["process"],
    settings: &["connection", "memory"],
    precedence: 160,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let mut processes = facts.signals.parts_with(Role::ProcessMemory);
    processes.find_map(|process| {
        let sockets = facts.signals.read(process, Role::ProcessConnections);
        judge(facts, process.observer, &facts.signals.read(process, Role::ProcessMemory)?, sockets.as_ref())
    })
}

fn judge(facts: &Facts<'_>, process: &str, memory: &SignalReadings<'_>, sockets: Option<&SignalReadings<'_>>) -> Option<RankedFinding> {
    let open = facts.run.slices.iter().map(|slice| {
        let connections: u64 = slice.generator.iter().map(|worker| worker.connections).sum();
        (slice.end as f64 / 1e9, connections as f64)
    });
    // A reading within the second whose connections are known.
    let points: Vec<(f64, f64, f64)> = open.filter_map(|(at, connections)| Some((at, connections, memory.mean(at - 1.0, at)?))).collect();
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let least = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let risen = points.iter().position(|point| point.1 >= 0.99 * most)?;
    let ramp = &points[..=risen];
    let (each, explained) = line(ramp)?;
    let (first, full) = (ramp.first()?, ramp.last()?);
    // The connections of the load are those of the process that listens at the target. A database behind it has only a few.
    let has_them = |sockets: &SignalReadings<'_>| {
        sockets.mean(full.0 - 1.5, full.0 + 1.5).is_none_or(|open| open >= OWN_CONNECTIONS_PART_MIN * full.1)
    };
    if !sockets.is_none_or(has_them) {
        return None;
    }
    let all = each * (most - least);
    // A leak continues after the number of connections became constant. If that never happens, the two cannot be distinguished.
    let level: Vec<&(f64, f64, f64)> = points[risen..].iter().filter(|point| point.1 >= 0.99 * most).collect();
    let afterwards = level.iter().map(|point| point.2 - full.2).fold(0.0, f64::max);
    let busy = busy_share(facts, &level);
    if most - least < CONNECTIONS_MIN
        || each < EACH_MIN_BYTES
        || all < ALL_MIN_BYTES
        || explained < EXPLAINED_MIN
        || level.len() < LEVEL_READINGS_MIN
        || afterwards > LATER_GROWTH_PART_MAX * all
        || busy >= BUSY_PART_MIN
    {
        return None;
    }
    let claim = format!(
        "\"{process}\" uses {:.0} kB of memory per connection: {:.0} connections take {:.0} MB",
        each / 1e3,
        most - least,
        all / 1e6
    );
    Some(
        RankedFinding::new(Standing::Fault, "memory-per-connection", Subject::observed(process), Confidence::High, claim)
            .with(Quantity::new("memory_per_connection", each, QuantityUnit::Bytes))
            .with(Quantity::count("connections", most - least))
            .with(Quantity::new("memory", all, QuantityUnit::Bytes))
            .rests_on_drawn(grown(
                ramp,
                each,
                memory,
                format!(
                    "memory grew from {:.0} to {:.0} MB while the number of connections grew from {} to {}; the number explains {} of the variance",
                    first.2 / 1e6,
                    full.2 / 1e6,
                    loadstone_units::count(first.1 as u64),
                    loadstone_units::count(full.1 as u64),
                    loadstone_units::share(explained)
                ),
            ))
            .weigh(Alternative::ruled_out(
                "A leak, which would continue after all clients have connected",
                format!("memory then grew by at most {:.0} MB", afterwards / 1e6),
            ))
            .weigh(Alternative::ruled_out(
                "Requests in progress, which accumulate in a backlog",
                format!("{} of the connections had one", loadstone_units::share(busy)),
            ))
            .try_next(
                "Find what the service allocates for each connection (a parsed configuration, a buffer, a cache), and share it. Then run \
                 again: memory per connection should fall to tens of kilobytes.",
            ),
    )
}

/// The memory, and the memory that the slope predicts from the number of connections. `ramp`: instant, connections and memory.
fn grown(ramp: &[(f64, f64, f64)], each: f64, memory: &SignalReadings<'_>, text: String) -> Evidence {
    /// Points of the predicted line.
    const POINTS_MAX: usize = 60;
    let count = ramp.len() as f64;
    let (connections, bytes) = (ramp.iter().map(|point| point.1).sum::<f64>() / count, ramp.iter().map(|point| point.2).sum::<f64>() / count);
    let step = ramp.len().div_ceil(POINTS_MAX);
    let last = ramp.len() - 1;
    let shown = ramp.iter().enumerate().filter(|(index, _)| index % step == 0 || *index == last);
    let points = shown.map(|(_, (at, open, _))| (*at, bytes + each * (open - connections))).collect();
    let span = (ramp[0].0, ramp[last].0);
    Evidence::new(text, vec![memory.name(), "in_flight/connections".to_owned()], span).line(&memory.name(), "by the number of connections", points)
}

/// Share of the connections with a request in progress. If most have one, the requests may take the memory.
fn busy_share(facts: &Facts<'_>, level: &[&(f64, f64, f64)]) -> f64 {
    let is_level = |slice: &&loadstone_metrics::Snapshot| level.iter().any(|point| (point.0 - slice.end as f64 / 1e9).abs() < 1e-6);
    let (mut in_flight, mut connections) = (0.0, 0.0);
    for slice in facts.run.slices.iter().filter(is_level) {
        let length = (slice.end - slice.start).max(1) as f64;
        in_flight += slice.generator.iter().map(|worker| worker.in_flight_ns).sum::<u64>() as f64 / length;
        connections += slice.generator.iter().map(|worker| worker.connections).sum::<u64>() as f64;
    }
    in_flight / f64::max(connections, 1.0)
}

/// Slope of memory over connections by least squares, and the part of the variance that it explains.
fn line(points: &[(f64, f64, f64)]) -> Option<(f64, f64)> {
    let points: Vec<(f64, f64)> = points.iter().map(|(_, connections, memory)| (*connections, *memory)).collect();
    LeastSquaresLine::through(&points).filter(|_| points.len() >= 5).map(|line| (line.slope, line.explained))
}
