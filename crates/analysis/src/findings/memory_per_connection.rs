//! Memory per connection: a service that holds so much for every connected client that memory limits their number.
//!
//! *"process:8081" takes 310 kB of memory for each connection: 2,000 of them took 620 MB.*
//!
//! Made if, while the load opens a hundred or more connections, an observed process's memory follows them: a line of 100 kB or more per connection, 100
//! MB or more in total, which explains 80 % of the variance.
//!
//! *Alternatives:* a leak, where memory goes on growing by more than 30 % of that after everything is connected: connections must stand still for eight
//! seconds or more, or nothing tells the two apart. And a backlog: not made where half of the connections or more have a request in progress.

use loadstone_metrics::Role;

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::readings::SignalReadings;
use crate::statistics::LeastSquaresLine;

/// Connections that must have been added for a slope to mean something.
const CONNECTIONS_MIN: f64 = 100.0;
/// Least memory per connection, and of all of them together. A connection with its buffers and objects takes 10 to 60 kB in most runtimes.
const EACH_MIN_BYTES: f64 = 100e3;
const ALL_MIN_BYTES: f64 = 100e6;
/// Part of the variance of memory that the number of connections must explain.
const EXPLAINED_MIN: f64 = 0.8;
/// Part of the growth that may go on once the number of connections stands still: more would be a leak.
const AFTERWARDS_MAX: f64 = 0.3;

/// Readings after that which tell.
const LEVEL_MIN: usize = 8;
/// Part of the connections with a request in progress from which they may be what takes the memory.
const BUSY_MIN: f64 = 0.5;

pub(super) const RULE: Rule = Rule {
    ids: &["memory-per-connection"],
    title: "Each connection costs memory",
    says: "each connection takes a lot of memory",
    needs: &["process"],
    settings: &["connection", "memory"],
    precedence: 160,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let mut processes = facts.signals.parts_with(Role::ProcessMemory);
    processes.find_map(|process| judge(facts, process.observer, &facts.signals.read(process, Role::ProcessMemory)?))
}

fn judge(facts: &Facts<'_>, process: &str, memory: &SignalReadings<'_>) -> Option<RankedFinding> {
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
    let all = each * (most - least);
    // Once the number of connections stands still, a leak goes on. Where it never stands still, nothing tells the two apart.
    let level: Vec<&(f64, f64, f64)> = points[risen..].iter().filter(|point| point.1 >= 0.99 * most).collect();
    let afterwards = level.iter().map(|point| point.2 - full.2).fold(0.0, f64::max);
    let busy = busy_share(facts, &level);
    if most - least < CONNECTIONS_MIN
        || each < EACH_MIN_BYTES
        || all < ALL_MIN_BYTES
        || explained < EXPLAINED_MIN
        || level.len() < LEVEL_MIN
        || afterwards > AFTERWARDS_MAX * all
        || busy >= BUSY_MIN
    {
        return None;
    }
    let claim =
        format!("\"{process}\" uses {:.0} kB of memory per connection: {:.0} of them took {:.0} MB", each / 1e3, most - least, all / 1e6);
    Some(
        RankedFinding::new(Standing::Fault, "memory-per-connection", Subject::observed(process), Confidence::High, claim)
            .rests_on(
                format!(
                    "memory went from {:.0} to {:.0} MB while connections went from {} to {}; their number explains {} of the change",
                    first.2 / 1e6,
                    full.2 / 1e6,
                    loadstone_units::count(first.1 as u64),
                    loadstone_units::count(full.1 as u64),
                    loadstone_units::share(explained)
                ),
                vec![memory.name(), "in_flight/connections".to_owned()],
                (first.0, full.0),
            )
            .weigh(Alternative::ruled_out(
                "A leak, which would go on after all have connected",
                format!("memory then grew by no more than {:.0} MB", afterwards / 1e6),
            ))
            .weigh(Alternative::ruled_out(
                "Requests in progress, which a backlog piles up",
                format!("{} of the connections had one", loadstone_units::share(busy)),
            ))
            .try_next(
                "Find what is allocated for each connection (a parsed configuration, a buffer, a cache) and could be shared. Run \
             again: it should fall to tens of kilobytes.",
            ),
    )
}

/// Share of the connections with a request in progress: where most have one, memory may be that of the requests.
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
