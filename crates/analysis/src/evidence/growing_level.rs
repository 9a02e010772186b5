//! A level that grows steadily while the load stays the same, such as connections that are taken and not released. The remark reports it before it causes
//! harm, with the time when none will be left.

use crate::ResourceKind;
use crate::facts::Facts;
use crate::facts::growing_level::{self, GrowingLevel};
use crate::facts::path::PathResource;
use crate::instant::clock;

/// Resources that are held for a while, and their description.
const LEVELS: [(ResourceKind, &str); 2] =
    [(ResourceKind::Pool, "members in use of the pool"), (ResourceKind::Descriptors, "open descriptors of")];

/// A sentence that begins with `lead`, such as "But the".
pub(crate) fn sentence(facts: &Facts<'_>, lead: &str) -> Option<String> {
    let (from, to) = facts.strain.loaded()?;
    let third = (to - from) / 3.0;
    let is_open = facts.run.plan.load.leaves().iter().all(|leaf| leaf.profile.is_open());
    let parts = (from + third, from + 2.0 * third, to);
    // Behind a limit, throughput stays the same while ever more requests are in the system, and each holds what it holds.
    if !is_open || !growing_level::is_same_load(&facts.strain, parts) || growing_level::is_piling_up(&facts.strain, parts) {
        return None;
    }
    let level = |(kind, what): (ResourceKind, &str)| facts.path.of_kind(kind).find_map(|of| of_one(of, (lead, what), (from + third, to)));
    LEVELS.into_iter().find_map(level)
}

/// From the second third of the load on: a system first fills its pools.
fn of_one(of: &PathResource<'_>, (lead, what): (&str, &str), (from, to): (f64, f64)) -> Option<String> {
    let places = of.places(from, to)?;
    let GrowingLevel { first, last, each_second, ended } = growing_level::find(of.used.as_ref()?, places, (from, to))?;
    let left = (places - last).max(0.0) / each_second;
    let name = of.part.name();
    Some(format!(
        "{lead} {what} \"{name}\" grew steadily, from {} to {} of {} since {}, although the load stayed the same: some are not released (a leak). \
         At this pace none is left at {}.",
        loadstone_units::number(first.max(0.0)),
        loadstone_units::number(last.min(places)),
        loadstone_units::number(places),
        clock(from),
        clock(ended + left)
    ))
}
