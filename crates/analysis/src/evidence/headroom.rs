//! How far the busiest observed resource is from its limit, for a run in which nothing was limited.

use crate::ResourceKind;
use crate::facts::Facts;
use crate::facts::next_limits::{self, LimitedResource};
use crate::facts::outward_waits;
use crate::statistics::{mean, student_t, variance};

/// Readings in the stretch, and the part of its places in use from which a resource gives a figure.
const READINGS_MIN: usize = 4;
const USED_PART_MIN: f64 = 0.01;

/// Part of the machine's cores from which programs that are not observed lower the number that is left.
const OTHERS_PART_MIN: f64 = 0.1;

/// Part of the machine's cores that is in use, mostly by other programs, from which these fill it.
const FILLED_PART_MIN: f64 = 0.85;

/// A resource in the stretch of the highest load.
struct Room {
    words: String,
    /// Those that the system can have.
    places: f64,
    /// Places in use, by reading.
    used: Vec<f64>,
}

impl Room {
    fn used_part(&self) -> f64 {
        mean(&self.used) / self.places
    }
}

/// A sentence; `None`: no resource with a known number of places was observed in use.
pub(crate) fn sentence(facts: &Facts<'_>) -> Option<String> {
    let span = facts.strain.top_span();
    let now = facts.strain.throughput(span.0, span.1);
    let resources = next_limits::resources(&facts.path, span);
    let rooms = resources.iter().filter_map(|resource| room(facts, resource, span));
    let busiest = rooms.max_by(|a, b| a.used_part().total_cmp(&b.used_part())).filter(|room| room.used_part() >= USED_PART_MIN)?;
    let (count, used) = (busiest.used.len() as f64, mean(&busiest.used));
    let half = student_t(count - 1.0) * (variance(&busiest.used) / count).sqrt();
    let full_at = |used: f64| loadstone_units::rate(now * busiest.places / used);
    let range = if half < used { format!(" ({} to {})", full_at(used + half), full_at(used - half)) } else { String::new() };
    Some(format!(
        "The highest observed utilisation is {}, of {}: that resource is full at about {}{range}, {} times this load",
        loadstone_units::share(busiest.used_part()),
        busiest.words,
        full_at(used),
        loadstone_units::number(busiest.places / used)
    ))
}

/// `None`: it has too few readings, or other programs fill it. They may have less priority, and then leave more than is idle.
fn room(facts: &Facts<'_>, resource: &LimitedResource<'_, '_>, (from, to): (f64, f64)) -> Option<Room> {
    let by_others = by_others(facts, resource, (from, to));
    let all = resource.used.mean(from, to).unwrap_or(0.0);
    if by_others > all / 2.0 && all >= FILLED_PART_MIN * resource.places {
        return None;
    }
    let used: Vec<f64> = resource.used.between(from, to).map(|(_, value)| (value - by_others).max(0.0)).collect();
    let places = resource.places - by_others;
    let words = if by_others > 0.0 {
        format!("the {} cores of the machine that programs which are not observed leave", loadstone_units::number(places))
    } else {
        resource.words()
    };
    (used.len() >= READINGS_MIN && places > 0.0).then_some(Room { words, places, used })
}

/// Cores of the machine that neither the observed processes nor the generator use. 0 for other resources, where no process is observed, and where it is little.
/// 0 also where a database is observed without its process: it may run on this machine, and then uses more cores as the load rises.
fn by_others(facts: &Facts<'_>, resource: &LimitedResource<'_, '_>, (from, to): (f64, f64)) -> f64 {
    let observed: Vec<f64> =
        facts.path.of_kind(ResourceKind::Process).filter_map(|process| process.used.as_ref()?.mean(from, to)).collect();
    let may_be_a_database = outward_waits::has_server_without_process(&facts.run.plan.observers);
    if resource.of.kind != ResourceKind::Machine || observed.is_empty() || may_be_a_database {
        return 0.0;
    }
    let generator: u64 = facts.tally.workers().iter().map(|worker| worker.busy_ns).sum();
    let by_generator = generator as f64 / 1e9 / facts.tally.duration_seconds().max(1e-9);
    let others = resource.used.mean(from, to).unwrap_or(0.0) - observed.iter().sum::<f64>() - by_generator;
    if others >= OTHERS_PART_MIN * resource.places { others } else { 0.0 }
}
