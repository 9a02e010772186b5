//! How many transactions each request costs, and in which statement.

use loadstone_metrics::Role;

use crate::facts::Facts;
use crate::facts::commits::Commits;
use crate::facts::readings::SignalReadings;
use crate::facts::repeated_statements::{ComesWith, RepeatedStatement};

/// Transactions per request from which they are many.
pub(crate) const MANY: f64 = 10.0;

/// What is said of them beside a run in which nobody waited for them: a cost, and no limit.
pub(crate) fn in_passing(facts: &Facts<'_>) -> Option<String> {
    // Where work goes on behind requests, the commits may be its own, and no request pays for them.
    if !facts.run.plan.flows.is_empty() {
        return None;
    }
    many(facts).map(|(commits, each)| commits_in_passing(facts, commits, each)).or_else(|| statements_in_passing(facts))
}

const IN_PASSING: &str = "each is a round trip that requests pay for, though that limits nothing here.";

fn commits_in_passing(facts: &Facts<'_>, commits: &Commits, each: f64) -> String {
    let statement = most_seen(facts, (commits.from, commits.to)).and_then(|(_, readings)| readings.label("statement"));
    let most = statement.map_or_else(String::new, |statement| format!(" (most often `{statement}`)"));
    let at_least = if commits.is_least { "at least " } else { "" };
    format!(
        "The database commits {at_least}{:.0} transactions for each iteration of the load, {each:.0} for each request{most}: {IN_PASSING}",
        commits.per_iteration
    )
}

fn statements_in_passing(facts: &Facts<'_>) -> Option<String> {
    let repeated = most_repeated(facts)?;
    Some(format!("{}: {IN_PASSING}", repeated_too_often(facts, repeated)))
}

/// `` `select …` is executed 30 times for each "List" ``; where the database does not tell statements apart, all of them.
pub(crate) fn repeated_too_often(facts: &Facts<'_>, repeated: &RepeatedStatement<'_>) -> String {
    let (each, whole) = (repeated.each, repeated.whole());
    let of_requests = match repeated.comes_with {
        ComesWith::Iterations => format!(", {:.0} for each request", per_request(facts, repeated)),
        ComesWith::Request(_) => String::new(),
    };
    let Some(statement) = repeated.statement else {
        let most = seen_in(facts, repeated.observer, repeated.stretch).and_then(|(_, readings)| readings.label("statement"));
        let most = most.map_or_else(String::new, |statement| format!(", most often `{statement}`"));
        return format!("\"{}\" is asked {each:.0} times for each {whole}{most}", repeated.observer);
    };
    format!("`{statement}` is executed {each:.0} times for each {whole}{of_requests}")
}

/// The statement that asks for something most often, where that is often for each request.
pub(crate) fn most_repeated<'f>(facts: &'f Facts<'_>) -> Option<&'f RepeatedStatement<'f>> {
    // What a journey asks for is no request's.
    if !facts.run.plan.flows.is_empty() {
        return None;
    }
    let asks = facts.repeated_statements.iter().filter(|found| found.is_asking());
    let most = asks.max_by(|a, b| a.rate.total_cmp(&b.rate))?;
    (per_request(facts, most) >= MANY).then_some(most)
}

/// Executions for each of the requests that it comes with.
pub(crate) fn per_request(facts: &Facts<'_>, repeated: &RepeatedStatement<'_>) -> f64 {
    match repeated.comes_with {
        ComesWith::Iterations => repeated.rate / facts.strain.throughput(repeated.stretch.0, repeated.stretch.1).max(1e-9),
        ComesWith::Request(_) => repeated.each,
    }
}

/// Commits under load, and how many for each request, where these are many.
pub(crate) fn many<'f>(facts: &'f Facts<'_>) -> Option<(&'f Commits, f64)> {
    let commits = facts.commits.as_ref()?;
    // Work that goes on behind a request is a journey's: many of them may follow from one request.
    let journeys = facts.waiting.iter().filter(|waiting| waiting.flow.is_some()).map(|waiting| waiting.throughput).fold(0.0, f64::max);
    let each = commits.rate / facts.strain.throughput(commits.from, commits.to).max(journeys).max(1e-9);
    (each >= MANY).then_some((commits, each))
}

/// The statement that sessions of one database were in most often.
fn seen_in<'a>(facts: &Facts<'a>, observer: &str, (from, to): (f64, f64)) -> Option<(f64, SignalReadings<'a>)> {
    let parts = facts.signals.parts_with(Role::SessionsByStatement).filter(|part| part.observer == observer);
    let statements = parts.flat_map(|part| facts.signals.read_each(part, Role::SessionsByStatement));
    let named = statements.filter(|readings| readings.label("statement").is_some_and(|text| !text.is_empty()));
    named.filter_map(|readings| Some((readings.mean(from, to)?, readings))).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The statement that sessions were in most often.
pub(crate) fn most_seen<'a>(facts: &Facts<'a>, (from, to): (f64, f64)) -> Option<(f64, SignalReadings<'a>)> {
    let statements = facts.signals.parts_with(Role::Commits).flat_map(|part| facts.signals.read_each(part, Role::SessionsByStatement));
    statements.filter_map(|readings| Some((readings.mean(from, to)?, readings))).max_by(|a, b| a.0.total_cmp(&b.0))
}
