//! How far the busiest observed resource is from its limit, for a run in which nothing was limited.

use crate::ResourceKind;
use crate::facts::Facts;
use crate::facts::next_limits::{self, LimitedResource};
use crate::facts::readings::SignalReadings;
use crate::statistics::{mean, student_t, variance};

/// Readings in the stretch, and the part of its places in use from which a resource gives a figure.
const READINGS_MIN: usize = 4;
const USED_PART_MIN: f64 = 0.01;

/// A sentence; `None`: no resource with a known number of places was observed in use.
pub(crate) fn sentence(facts: &Facts<'_>) -> Option<String> {
    let span = facts.strain.top_span();
    let now = facts.strain.throughput(span.0, span.1);
    let used_of = |resource: &LimitedResource<'_, '_>| {
        let readings: Vec<f64> = resource.used.between(span.0, span.1).map(|(_, value)| value).collect();
        (readings.len() >= READINGS_MIN && resource.places > 0.0).then(|| (mean(&readings), readings))
    };
    let resources = next_limits::resources(&facts.path, span);
    let ours = resources.iter().filter(|resource| !is_used_by_others(facts, resource, span));
    let busiest = ours.filter_map(|resource| Some((resource, used_of(resource)?)));
    let (resource, (used, readings)) = busiest
        .max_by(|a, b| (a.1.0 / a.0.places).total_cmp(&(b.1.0 / b.0.places)))
        .filter(|(of, (used, _))| *used >= USED_PART_MIN * of.places)?;
    let count = readings.len() as f64;
    let half = student_t(count - 1.0) * (variance(&readings) / count).sqrt();
    let full_at = |used: f64| loadstone_units::rate(now * resource.places / used);
    let range = if half < used { format!(" ({} to {})", full_at(used + half), full_at(used - half)) } else { String::new() };
    Some(format!(
        "The highest observed utilisation is {}, of {}: that resource is full at about {}{range}, {} times this load",
        loadstone_units::share(used / resource.places),
        resource.words(),
        full_at(used),
        loadstone_units::number(resource.places / used)
    ))
}

/// Whether other programs use most of the machine's cores that are in use, so that its utilisation does not follow the load.
fn is_used_by_others(facts: &Facts<'_>, resource: &LimitedResource<'_, '_>, (from, to): (f64, f64)) -> bool {
    let cores = |readings: &SignalReadings<'_>| readings.mean(from, to).unwrap_or(0.0);
    let observed = || facts.path.of_kind(ResourceKind::Process).filter_map(|process| process.used.as_ref()).map(cores).sum::<f64>();
    resource.of.kind == ResourceKind::Machine
        && facts.path.of_kind(ResourceKind::Process).next().is_some()
        && observed() < cores(resource.used) / 2.0
}
