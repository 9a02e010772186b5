//! Far more database transactions than requests: statements that are made one by one (N+1), each a round trip of its own.
//!
//! *The database is asked too often: it commits 911 transactions for each iteration of the load, 179 for each request, and most of the time goes to
//! "Report".*
//!
//! Made if an observed database committed at least 10 transactions for each request (50 for high confidence), without the observer's own, while something
//! slowed down or was used up. Each is a round trip. Where transactions are few, or a database counts none for what is only read (MySQL, MariaDB), the
//! same is said of the `SELECT` that is executed most, where it comes as iterations do. Where a flow waits, and more journeys end than requests, they are
//! counted for each journey. If its sessions wait for commits, [`database-waits`](database-waits.md) says that instead.
//!
//! **For which request.** In a dozen stretches of the run, executions are held against each request that ended (least squares). One is named, with the
//! slope as its number, if its rate varied (coefficient of variation of 0.2), it explains 90 % of how the executions varied, and leaves at most a quarter
//! of what all iterations leave. So a ramp of one request beside others tells whose they are: *`SELECT name FROM hotels WHERE id = ?` is executed 30
//! times for each "My bookings"*. Where a server only counts all that clients send (MariaDB without its performance schema, Redis), that count is said of
//! the request, with low confidence: *"mysql" is asked 61 times for each "My bookings"*.
//!
//! Where nothing slowed down, it is no finding: the remark says it, as a cost that limits nothing at this load.

use loadstone_metrics::Role;

use crate::finding::ranked::{RankedFinding, Standing};
use crate::evidence::transactions::{many, most_repeated, most_seen, per_request, repeated_too_often};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::commits::Commits;
use crate::facts::repeated_statements::RepeatedStatement;
use crate::facts::session_waits::SessionWait;

/// Transactions per request from which they surely are what takes the time.
const SURELY_TOO_MANY: f64 = 50.0;

pub(super) const RULE: Rule = Rule {
    ids: &["many-transactions"],
    title: "The database is asked too often",
    says: "far more transactions or statements than requests",
    needs: &["postgres"],
    settings: &[],
    precedence: 240,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    // What its sessions wait for says more.
    let waits = |wait: &SessionWait<'_>| wait.role == Role::SessionsWaitingForCommit || wait.holds_up && wait.role != Role::SessionsOnCpu;
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
    let where_to = most.as_ref().map_or_else(String::new, |(response, _)| format!(", and most of the time goes to \"{}\"", response.name));
    match (transactions, statement) {
        (Some((commits, each)), _) => Some(of_transactions(facts, commits, each, &where_to)),
        (None, Some(statement)) => Some(of_statement(facts, statement, &where_to)),
        (None, None) => None,
    }
}

/// What to do about it.
const TOGETHER: &str = "Each is a round trip: ask for all at once (a join, `where id = any(…)`, one statement for many rows), or put what belongs \
                        together into one transaction.";

fn confidence(each: f64) -> Confidence {
    if each >= SURELY_TOO_MANY { Confidence::High } else { Confidence::Medium }
}

fn of_transactions(facts: &Facts<'_>, commits: &Commits, each: f64, where_to: &str) -> RankedFinding {
    let claim = format!(
        "The database is asked too often: it commits {:.0} transactions for each iteration of the load, {each:.0} for each request{where_to}",
        commits.per_iteration
    );
    let mut found = RankedFinding::new(Standing::Cause, "many-transactions", Subject::Whole, confidence(each), claim).rests_on(
        format!("{} commits per second, without the observer's own", loadstone_units::number(commits.rate)),
        vec![commits.series.clone()],
        (commits.from, commits.to),
    );
    if let Some((active, readings)) = most_seen(facts, (commits.from, commits.to))
        && let Some(statement) = readings.label("statement")
    {
        let text = format!("its sessions were seen in `{statement}` most often ({active:.1} of them on average)");
        found = found.rests_on(text, vec![readings.name()], (commits.from, commits.to));
    }
    found.try_next(TOGETHER)
}

/// Statements within one transaction, or of a database that counts no transaction where only something is read.
fn of_statement(facts: &Facts<'_>, repeated: &RepeatedStatement<'_>, where_to: &str) -> RankedFinding {
    let (each, whole) = (repeated.each, repeated.whole());
    let claim = format!("The database is asked too often: {}{where_to}", repeated_too_often(facts, repeated));
    let took = repeated.took_s.map_or_else(String::new, |took_s| {
        format!(
            ", {} each by its own account: {} for each {whole}",
            loadstone_units::seconds(took_s),
            loadstone_units::seconds(took_s * each)
        )
    });
    let text = format!("{} executions per second on average, as those came{took}", loadstone_units::number(repeated.rate));
    // How much work a command is, and whether one could do for many, is not known of what is only counted.
    let confidence = if repeated.statement.is_some() { confidence(per_request(facts, repeated)) } else { Confidence::Low };
    RankedFinding::new(Standing::Cause, "many-transactions", Subject::observed(repeated.observer), confidence, claim)
        .rests_on(text, vec![repeated.series.clone()], repeated.stretch)
        .try_next(TOGETHER)
}
