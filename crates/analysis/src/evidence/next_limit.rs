//! What would be the limit after the one that a finding names, with a number.

use loadstone_metrics::Role;

use crate::facts::Facts;
use crate::facts::next_limits::{self, NextLimit};
use crate::finding::ranked::RankedFinding;

/// How much more must pass than now for it to come after, and how many times as much is too far away to say.
const BEYOND: f64 = 1.05;
const FAR: f64 = 20.0;

/// Adds it to the evidence; `is_limit` knows what the finding names already.
pub(crate) fn told(facts: &Facts<'_>, found: RankedFinding, span: (f64, f64), is_limit: &dyn Fn(&NextLimit<'_>) -> bool) -> RankedFinding {
    match beyond(facts, span, is_limit) {
        Some(next) => {
            let text = format!("after it, as far as was observed, {}", would_be(facts, &next, span));
            found.limited_next(&text).rests_on(text, vec![next.series], span)
        }
        None => found,
    }
}

/// What would be the limit first, where none was reached.
pub(crate) fn nearest(facts: &Facts<'_>, span: (f64, f64)) -> Option<String> {
    beyond(facts, span, &|_| false).map(|next| would_be(facts, &next, span))
}

fn beyond<'a>(facts: &Facts<'a>, span: (f64, f64), is_limit: &dyn Fn(&NextLimit<'_>) -> bool) -> Option<NextLimit<'a>> {
    let now = facts.strain.throughput(span.0, span.1);
    let is_after = |limit: &NextLimit<'_>| limit.throughput_max >= BEYOND * now && limit.throughput_max <= FAR * now;
    next_limits::find(&facts.path, &facts.strain, span).into_iter().filter(|limit| !is_limit(limit)).find(is_after)
}

fn would_be(facts: &Facts<'_>, next: &NextLimit<'_>, span: (f64, f64)) -> String {
    format!(
        "{} would be the limit, at about {}: {} of {} were in use at {}, {} for each request",
        next_limits::words(next.role, next.part, next.places),
        loadstone_units::rate(next.throughput_max),
        loadstone_units::number(next.used),
        loadstone_units::number(next.places),
        loadstone_units::rate(facts.strain.throughput(span.0, span.1)),
        each(next)
    )
}

/// Of one request: time, or bytes where places are bytes per second.
fn each(next: &NextLimit<'_>) -> String {
    match next.role {
        Role::NetworkReceived | Role::NetworkSent => loadstone_units::bytes(next.each_s as u64),
        _ => loadstone_units::seconds(next.each_s),
    }
}
