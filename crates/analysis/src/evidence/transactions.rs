//! The number of transactions per request, and their statement.

use loadstone_metrics::Role;

use crate::facts::Facts;
use crate::facts::commits::Commits;
use crate::facts::readings::SignalReadings;
use crate::facts::repeated_statements::{ComesWith, RepeatedStatement};

/// Transactions per request from which they are reported.
pub(crate) const TRANSACTIONS_MIN: f64 = 10.0;

/// A sentence for a run in which no request waited for them: a cost that limits nothing.
pub(crate) fn in_passing(facts: &Facts<'_>) -> Option<String> {
    // If the system works in the background, the commits may belong to that work instead of to requests.
    if !facts.run.plan.flows.is_empty() {
        return None;
    }
    many(facts).map(|(commits, each)| commits_in_passing(facts, commits, each)).or_else(|| statements_in_passing(facts))
}

const IN_PASSING: &str = "each one is a round trip for the request, but no request became slower at this load.";

fn commits_in_passing(facts: &Facts<'_>, commits: &Commits, each: f64) -> String {
    let statement = most_seen(facts, (commits.from, commits.to)).and_then(|(_, readings)| readings.label("statement"));
    let most = statement.map_or_else(String::new, |statement| format!(" (most often `{statement}`)"));
    let at_least = if commits.is_least { "at least " } else { "" };
    format!(
        "The database commits {at_least}{:.0} transactions per iteration, {each:.0} per request{most}: {IN_PASSING}",
        commits.per_iteration
    )
}

fn statements_in_passing(facts: &Facts<'_>) -> Option<String> {
    let repeated = most_repeated(facts)?;
    Some(format!("{}: {IN_PASSING}", repeated_too_often(facts, repeated)))
}

/// `` `select …` is executed 30 times per "List" ``; all statements if the database does not distinguish them.
pub(crate) fn repeated_too_often(facts: &Facts<'_>, repeated: &RepeatedStatement<'_>) -> String {
    let (each, whole) = (repeated.each, repeated.whole());
    let of_requests = match repeated.comes_with {
        ComesWith::Iterations => format!(", {:.0} per request", per_request(facts, repeated)),
        ComesWith::Request(_) => String::new(),
    };
    let Some(statement) = repeated.statement else {
        let most = seen_in(facts, repeated.observer, repeated.stretch).and_then(|(_, readings)| readings.label("statement"));
        let most = most.map_or_else(String::new, |statement| format!(", most often `{statement}`"));
        return format!("\"{}\" receives {each:.0} statements per {whole}{most}", repeated.observer);
    };
    format!("`{statement}` is executed {each:.0} times per {whole}{of_requests}")
}

/// The most frequent statement that reads, if it runs often per request.
pub(crate) fn most_repeated<'f>(facts: &'f Facts<'_>) -> Option<&'f RepeatedStatement<'f>> {
    // Statements of a journey belong to no request.
    if !facts.run.plan.flows.is_empty() {
        return None;
    }
    let asks = facts.repeated_statements.iter().filter(|found| found.is_asking());
    let most = asks.max_by(|a, b| a.rate.total_cmp(&b.rate))?;
    (per_request(facts, most) >= TRANSACTIONS_MIN).then_some(most)
}

/// Executions per request.
pub(crate) fn per_request(facts: &Facts<'_>, repeated: &RepeatedStatement<'_>) -> f64 {
    match repeated.comes_with {
        ComesWith::Iterations => repeated.rate / facts.strain.throughput(repeated.stretch.0, repeated.stretch.1).max(1e-9),
        ComesWith::Request(_) => repeated.each,
    }
}

/// Commits under load, and their number per request, if that is high.
pub(crate) fn many<'f>(facts: &'f Facts<'_>) -> Option<(&'f Commits, f64)> {
    let commits = facts.commits.as_ref()?;
    // Background work belongs to journeys, of which one request may start many.
    let journeys = facts.waiting.iter().filter(|waiting| waiting.flow.is_some()).map(|waiting| waiting.throughput).fold(0.0, f64::max);
    let each = commits.rate / facts.strain.throughput(commits.from, commits.to).max(journeys).max(1e-9);
    (each >= TRANSACTIONS_MIN).then_some((commits, each))
}

/// The statement that sessions of one database ran most often.
fn seen_in<'a>(facts: &Facts<'a>, observer: &str, (from, to): (f64, f64)) -> Option<(f64, SignalReadings<'a>)> {
    let parts = facts.signals.parts_with(Role::SessionsByStatement).filter(|part| part.observer == observer);
    let statements = parts.flat_map(|part| facts.signals.read_each(part, Role::SessionsByStatement));
    let named = statements.filter(|readings| readings.label("statement").is_some_and(|text| !text.is_empty()));
    named.filter_map(|readings| Some((readings.mean(from, to)?, readings))).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The statement that sessions ran most often.
pub(crate) fn most_seen<'a>(facts: &Facts<'a>, (from, to): (f64, f64)) -> Option<(f64, SignalReadings<'a>)> {
    let statements = facts.signals.parts_with(Role::Commits).flat_map(|part| facts.signals.read_each(part, Role::SessionsByStatement));
    statements.filter_map(|readings| Some((readings.mean(from, to)?, readings))).max_by(|a, b| a.0.total_cmp(&b.0))
}
