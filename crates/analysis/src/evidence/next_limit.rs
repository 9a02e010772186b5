//! The limit that would follow the one that a finding names, with its throughput.

use loadstone_metrics::Role;

use crate::facts::Facts;
use crate::facts::next_limits::{self, NextLimit};
use crate::finding::ranked::RankedFinding;

/// Range of the next limit over the current throughput: below it is the present limit, above it the extrapolation is too uncertain.
const NEXT_RATIO_MIN: f64 = 1.05;
const NEXT_RATIO_MAX: f64 = 20.0;
/// Part by which the use of one resource differs between two names of it. Both are read at slightly different times.
const SAME_USE_PART_MAX: f64 = 0.05;

/// Adds it to the evidence. `is_limit` recognises the limit that the finding names.
pub(crate) fn add_evidence(
    facts: &Facts<'_>,
    found: RankedFinding,
    span: (f64, f64),
    is_limit: &dyn Fn(&NextLimit<'_>) -> bool,
) -> RankedFinding {
    match beyond(facts, span, is_limit) {
        Some(next) => {
            let text = format!("among the observed resources, {}", would_be(facts, &next, span));
            found.limited_next(&text).rests_on(text, vec![next.series], span)
        }
        None => found,
    }
}

/// The first limit, if none was reached.
pub(crate) fn nearest(facts: &Facts<'_>, span: (f64, f64)) -> Option<String> {
    beyond(facts, span, &|_| false).map(|next| would_be(facts, &next, span))
}

fn beyond<'a>(facts: &Facts<'a>, span: (f64, f64), is_limit: &dyn Fn(&NextLimit<'_>) -> bool) -> Option<NextLimit<'a>> {
    let now = facts.strain.throughput(span.0, span.1);
    // No resource limits the throughput to less than was measured.
    let seen = f64::max(now, facts.strain.most_throughput());
    let is_after = |limit: &NextLimit<'_>| limit.throughput_max >= NEXT_RATIO_MIN * seen && limit.throughput_max <= NEXT_RATIO_MAX * now;
    let (same, others): (Vec<NextLimit<'a>>, Vec<NextLimit<'a>>) =
        next_limits::find(&facts.path, &facts.strain, span).into_iter().partition(|limit| is_limit(limit));
    let is_other = |limit: &NextLimit<'_>| !same.iter().any(|known| are_one(known, limit));
    others.into_iter().filter(is_other).find(is_after)
}

/// Whether two readings are of one resource that is exported under two names: as many places, and as many of them in use.
fn are_one(a: &NextLimit<'_>, b: &NextLimit<'_>) -> bool {
    a.role == b.role && a.places == b.places && (a.used - b.used).abs() <= SAME_USE_PART_MAX * a.used
}

fn would_be(facts: &Facts<'_>, next: &NextLimit<'_>, span: (f64, f64)) -> String {
    // The machine's signal is the idle cores, and the picture of the sentence draws it.
    let (counted, state) = if next.role == Role::MachineIdle { (next.places - next.used, "idle") } else { (next.used, "in use") };
    format!(
        "{} would be the next limit, at about {}: {} of {} were {state} at {}, {} per request",
        next_limits::words(next.role, next.part, next.places),
        loadstone_units::rate(next.throughput_max),
        loadstone_units::number(counted),
        loadstone_units::number(next.places),
        loadstone_units::rate(facts.strain.throughput(span.0, span.1)),
        each(next)
    )
}

/// Demand of one request: time, or bytes if places are bytes per second.
fn each(next: &NextLimit<'_>) -> String {
    match next.role {
        Role::NetworkReceived | Role::NetworkSent => loadstone_units::bytes(next.each_s as u64),
        _ => loadstone_units::seconds(next.each_s),
    }
}
