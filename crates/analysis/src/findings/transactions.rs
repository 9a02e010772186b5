//! How many transactions each request costs, and in which statement.

use metrics::Role;

use crate::facts::Facts;
use crate::facts::commits::Commits;
use crate::facts::readings::SignalReadings;

/// Transactions per request from which they are many.
pub(super) const MANY: f64 = 10.0;

/// What is said of them beside a run in which nobody waited for them: a cost, and no limit.
pub(super) fn in_passing(facts: &Facts<'_>) -> Option<String> {
    // Where work goes on behind requests, the commits may be its own, and no request pays for them.
    if !facts.run.plan.flows.is_empty() {
        return None;
    }
    let (commits, each) = many(facts)?;
    let statement = most_seen(facts, (commits.from, commits.to)).and_then(|(_, readings)| readings.label("statement"));
    let most = statement.map_or_else(String::new, |statement| format!(" (most often `{statement}`)"));
    let at_least = if commits.is_least { "at least " } else { "" };
    Some(format!(
        "The database commits {at_least}{:.0} transactions for each iteration of the load, {each:.0} for each request{most}: each is a round trip that \
         requests pay for, though that limits nothing here.",
        commits.per_iteration
    ))
}

/// Commits under load, and how many for each request, where these are many.
pub(super) fn many<'f>(facts: &'f Facts<'_>) -> Option<(&'f Commits, f64)> {
    let commits = facts.commits.as_ref()?;
    // Work that goes on behind a request is a journey's: many of them may follow from one request.
    let journeys = facts.waiting.iter().filter(|waiting| waiting.flow.is_some()).map(|waiting| waiting.throughput).fold(0.0, f64::max);
    let each = commits.rate / facts.strain.throughput(commits.from, commits.to).max(journeys).max(1e-9);
    (each >= MANY).then_some((commits, each))
}

/// The statement that sessions were in most often.
pub(super) fn most_seen<'a>(facts: &Facts<'a>, (from, to): (f64, f64)) -> Option<(f64, SignalReadings<'a>)> {
    let statements = facts.signals.parts_with(Role::Commits).flat_map(|part| facts.signals.read_each(part, Role::SessionsByStatement));
    statements.filter_map(|readings| Some((readings.mean(from, to)?, readings))).max_by(|a, b| a.0.total_cmp(&b.0))
}
