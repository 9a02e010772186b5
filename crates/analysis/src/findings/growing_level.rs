//! What is taken and not given back: a level that grows steadily while the load stays the same, before it hurts.
//!
//! By Little's law the members of a pool that are in use are throughput × the time that each is held: under a constant load they have a level. One that
//! keeps growing while times do not is held for good. Told beside what is said of the run, with when there will be none left.

use crate::ResourceKind;
use crate::facts::Facts;
use crate::facts::path::PathResource;
use crate::instant::clock;
use crate::trend;

/// What is taken for a while.
const LEVELS: [(ResourceKind, &str); 2] =
    [(ResourceKind::Pool, "members in use of the pool"), (ResourceKind::Descriptors, "open descriptors of")];
/// How far arrivals per second may change from third to third of the run.
const SAME_LOAD: f64 = 1.15;
/// Chance of a level without a trend to show one as clear, for each that is looked at.
const CHANCE_MAX: f64 = 1e-3;
/// Growth that is worth a word: this many, and this part of what there may be.
const GREW_MIN: f64 = 2.0;
const GREW_SHARE_MIN: f64 = 0.1;

pub(super) fn told(facts: &Facts<'_>) -> Option<String> {
    let (from, to) = facts.strain.loaded()?;
    let third = (to - from) / 3.0;
    let rates = [0.0, 1.0, 2.0].map(|part| facts.strain.throughput(from + part * third, from + (part + 1.0) * third));
    let is_open = facts.run.plan.load.leaves().iter().all(|leaf| leaf.profile.is_open());
    if !is_open || rates[1] > SAME_LOAD * rates[2] || rates[2] > SAME_LOAD * rates[1] {
        return None;
    }
    let level = |(kind, what): (ResourceKind, &str)| facts.path.of_kind(kind).find_map(|of| of_one(of, what, (from + third, to)));
    LEVELS.into_iter().find_map(level)
}

/// From the second third on: a system takes some of everything to get going.
fn of_one(of: &PathResource<'_>, what: &str, (from, to): (f64, f64)) -> Option<String> {
    let readings = of.used.as_ref()?;
    let points: Vec<(f64, f64)> = readings.between(from, to).collect();
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    let found = trend::find(&values).filter(|found| found.slope > 0.0 && found.p_value <= CHANCE_MAX)?;
    let places = of.places(from, to)?;
    let grown = found.slope * (values.len() - 1) as f64;
    // What comes and goes is no leak: in the end there are never as few as there ever were at first.
    let (first, last) = (&values[..values.len() / 3], &values[values.len() - values.len() / 3..]);
    let most_at_first = first.iter().copied().fold(0.0, f64::max);
    if grown < GREW_MIN || grown < GREW_SHARE_MIN * places || last.iter().any(|value| *value <= most_at_first) {
        return None;
    }
    let (ended, now) = (points.last()?.0, found.height + grown);
    let each_second = grown / (ended - points.first()?.0).max(1e-9);
    let left = (places - now).max(0.0) / each_second;
    let name = of.part.name();
    Some(format!(
        "But the {what} \"{name}\" grew steadily, from {} to {} of {} since {}, though the load stayed the same: some are never given back (a leak). \
         At this pace none is left at {}.",
        units::number(found.height.max(0.0)),
        units::number(now.min(places)),
        units::number(places),
        clock(from),
        clock(ended + left)
    ))
}
