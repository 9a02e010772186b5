//! Requests cost many database transactions or statements each (N+1), and each one is a round trip.
//!
//! The rule reports this if an observed database committed at least {transactions::TRANSACTIONS_MIN} transactions per request ({EACH_HIGH_CONFIDENCE_MIN} for
//! high confidence) and something slowed down or was used up. It does not count the observer's transactions. For flows, it counts transactions per journey.
//!
//! Some databases count no transactions that only read (MySQL, MariaDB), and some services run all statements in one transaction. The rule then reports the
//! `SELECT` that runs most often, if its rate follows the iterations. Some servers only count all commands (Redis); the rule then reports that count with low
//! confidence.
//!
//! **Which request.** The rule fits executions to each request's completions (least squares) over {repeated_statements::STRETCHES} stretches of the run. It
//! names a request, with the slope as the number, if three conditions hold:
//!
//! - the request's rate varied (coefficient of variation of {repeated_statements::REQUEST_VARIATION_MIN})
//! - the rate explains {repeated_statements::EXPLAINED_MIN:%} of how the executions varied
//! - the fit leaves at most {repeated_statements::UNEXPLAINED_PART_MAX:%} of the variation that a fit to all iterations leaves
//!
//! A ramp of one request next to others provides this.
//!
//! **A habit is no cause of a change.** A system needs as many round trips per request before a change as after it. The finding ranks after causes and
//! symptoms, and lists the other cause, in two cases:
//!
//! - A resource was used up while less than one session of the database was active on average.
//! - Requests began to take longer at an instant, with as many round trips per request before it as after it (within a quarter).
//!
//! If sessions wait for commits, [`database-waits`](database-waits.md) reports that instead. If nothing slowed down, the remark
//! mentions the cost.

use loadstone_metrics::Role;

use crate::Confidence;
use crate::evidence::transactions::{many, most_repeated, most_seen, per_request, repeated_too_often};
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::facts::commits::Commits;
use crate::facts::repeated_statements::RepeatedStatement;
use crate::facts::session_waits::SessionWait;
use crate::facts::unchanged_count;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::instant::clock;

/// Transactions per request from which the confidence is high.
const EACH_HIGH_CONFIDENCE_MIN: f64 = 50.0;
/// Active sessions of a database, on average, below which requests spend little time in round trips.
const ACTIVE_SESSIONS_MIN: f64 = 1.0;

pub(super) const RULE: Rule = Rule {
    ids: &["many-transactions"],
    page: "many-transactions",
    title: "Requests need too many database round trips",
    says: "requests that cost many database transactions or statements each",
    example: Example {
        run: "examples/many-transactions",
        claim: "Requests need too many database round trips: the database commits 185 transactions per iteration, 91 per request; \"Register\" \
                takes most of the time",
    },
    needs: &["postgres"],
    settings: &[],
    precedence: 240,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    // What the sessions wait for is the more specific cause.
    let waits = |wait: &SessionWait<'_>| wait.role == Role::SessionsWaitingForCommit || wait.holds_up() && wait.role != Role::SessionsOnCpu;
    if facts.session_wait.as_ref().is_some_and(waits) {
        return None;
    }
    let transactions = many(facts);
    let statement = if transactions.is_none() { most_repeated(facts) } else { None };
    if transactions.is_none() && statement.is_none() {
        return None;
    }
    let slows_down = !facts.waiting.is_empty()
        || !facts.plateaus.limited.is_empty()
        || facts.used_up().next().is_some()
        || facts.responses.iter().any(|response| response.has_grown_with_load());
    if !slows_down {
        return None;
    }
    let most = facts
        .responses
        .iter()
        .filter_map(|response| Some((response, response.high?)))
        .map(|(response, high)| (response, high.throughput * high.service));
    let all: f64 = most.clone().map(|(_, time)| time).sum();
    let most = most.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, time)| *time >= 0.5 * all);
    let where_to = most.as_ref().map_or_else(String::new, |(response, _)| format!("; \"{}\" takes most of the time", response.name));
    match (transactions, statement) {
        (Some((commits, each)), _) => Some(of_transactions(facts, commits, each, &where_to)),
        (None, Some(statement)) => Some(of_statement(facts, statement, &where_to)),
        (None, None) => None,
    }
}

const FEWER_ROUND_TRIPS: &str = "Each one is a round trip. Read all rows with one statement (a join, `where id = any(…)`), write many rows with one \
                                 statement, or put related statements into one transaction.";

fn confidence(each: f64) -> Confidence {
    if each >= EACH_HIGH_CONFIDENCE_MIN { Confidence::High } else { Confidence::Medium }
}

fn of_transactions(facts: &Facts<'_>, commits: &Commits, each: f64, where_to: &str) -> RankedFinding {
    let claim = format!(
        "Requests need too many database round trips: the database commits {:.0} transactions per iteration, {each:.0} per request{where_to}",
        commits.per_iteration
    );
    let mut found = RankedFinding::new(Standing::Cause, "many-transactions", Subject::Whole, confidence(each), claim)
        .with(Quantity::count("transactions_per_iteration", commits.per_iteration))
        .with(Quantity::count("transactions_per_request", each))
        .rests_on(
            format!("{} commits per second, without the commits of the observer", loadstone_units::number(commits.rate)),
            vec![commits.series.clone()],
            (commits.from, commits.to),
        )
        .at_level(&commits.series, "on average", commits.rate);
    if let Some((active, readings)) = most_seen(facts, (commits.from, commits.to))
        && let Some(statement) = readings.label("statement")
    {
        let text = format!("sessions most often ran `{statement}` ({active:.1} sessions on average)");
        found = found.rests_on(text, vec![readings.name()], (commits.from, commits.to)).at_level(&readings.name(), "on average", active);
    }
    weighed(facts, found, &commits.series).try_next(FEWER_ROUND_TRIPS)
}

/// A defect that limits nothing here, if something else explains why requests took longer.
fn weighed(facts: &Facts<'_>, found: RankedFinding, series: &str) -> RankedFinding {
    match other_cause(facts, series) {
        Some(other) => RankedFinding { standing: Standing::Fault, ..found.weigh(other) },
        None => found,
    }
}

/// Another cause, which a constant number of round trips per request does not rule out.
fn other_cause(facts: &Facts<'_>, series: &str) -> Option<Alternative> {
    let active = |from: f64, to: f64| {
        let databases = facts.signals.parts_with(Role::SessionsActive);
        databases.filter_map(|part| facts.signals.mean(part, Role::SessionsActive, from, to)).reduce(f64::max)
    };
    let used_up = facts.used_up().find_map(|exhausted| {
        let sessions = active(exhausted.from, exhausted.to).filter(|sessions| *sessions < ACTIVE_SESSIONS_MIN)?;
        let because = format!("it was used up while {} of the database's sessions were active", loadstone_units::number(sessions));
        Some(Alternative::not_ruled_out(exhausted.resource.name(), because))
    });
    used_up.or_else(|| {
        let same = unchanged_count::across_a_change(facts.run, &facts.strain, &facts.changes, series)?;
        Some(Alternative::not_ruled_out(format!("What changed at {}", clock(same.at)), same.phrase("round trips")))
    })
}

/// Statements within one transaction, or of a database that does not count transactions that only read.
fn of_statement(facts: &Facts<'_>, repeated: &RepeatedStatement<'_>, where_to: &str) -> RankedFinding {
    let (each, whole) = (repeated.each, repeated.whole());
    let claim = format!("Requests need too many database round trips: {}{where_to}", repeated_too_often(facts, repeated));
    let took = repeated.took_s.map_or_else(String::new, |took_s| {
        format!(
            "; the database reports {} for each execution: {} per {whole}",
            loadstone_units::seconds(took_s),
            loadstone_units::seconds(took_s * each)
        )
    });
    let text = format!("{} executions per second on average{took}", loadstone_units::number(repeated.rate));
    // A count alone does not show how much work a command is, or whether one command could replace many.
    let confidence = if repeated.statement.is_some() { confidence(per_request(facts, repeated)) } else { Confidence::Low };
    let found = RankedFinding::new(Standing::Cause, "many-transactions", Subject::observed(repeated.observer), confidence, claim)
        .with(Quantity::count("executions_per_operation", each))
        .rests_on(text, vec![repeated.series.clone()], repeated.stretch)
        .at_level(&repeated.series, "on average", repeated.rate);
    weighed(facts, found, &repeated.series).try_next(FEWER_ROUND_TRIPS)
}
