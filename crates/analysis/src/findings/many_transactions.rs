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
//! **A habit is no cause by its number.** The evidence states the part of the requests' time that the round trips take: their time in the database, and round
//! trips as long as the observer's. The finding ranks last if something explains the time better, and lists it as another cause:
//!
//! - A resource was used up in a third or more of the added time.
//! - Most active sessions compute.
//! - The machine was full, and {WAITING_THREADS_MIN} thread or more of an observed process waited for a core.
//! - A constant number of connections was in use while more and more requests waited.
//! - Requests began to take longer at an instant, with as many round trips per request before it as after it (within a quarter).
//!
//! It also ranks last if the round trips take less than {round_trips::SMALL_SHARE_MAX:%} of the time of a request that does not wait, even with
//! {round_trips::UNSEEN_ROUND_TRIP_S} s for each: the path of the system may be longer than the observer's. The same holds if the kernel shows that their
//! answers are awaited for less than {round_trips::LOADED_SHARE_MAX:%} of the time of all requests, waits included. If nothing else is found, the remark states
//! the part, and that it does not explain the times. If they take less than that part with round trips as long as the observer's, confidence is low.
//!
//! **A slow path.** The kernel shows for how long the database's answers are awaited (`awaited` of `observe.process`). The claim states that the path takes
//! the time if that is {round_trips::ON_THE_WAY_PART_MIN:%} of the requests' time or more, and the database works for {round_trips::IN_DATABASE_PART_MAX:%} of
//! it at most. If the calls go to an address that no observer reads, the claim names it. On a full machine, the database's processes may wait for a core.
//!
//! If sessions wait for commits, or if requests spend half of their time in another wait of the sessions, [`database-waits`](database-waits.md) reports that
//! instead. If nothing slowed down, the remark mentions the cost.

use loadstone_metrics::Role;

use crate::evidence::round_trips::RoundTripTime;
use crate::evidence::transactions::{many, most_repeated, most_seen, per_request, repeated_too_often};
use crate::facts::Facts;
use crate::facts::commits::Commits;
use crate::facts::constant_connections::ConnectionNeed;
use crate::facts::exhausted::Exhausted;
use crate::facts::repeated_statements::RepeatedStatement;
use crate::facts::search::FULL_PART_MIN;
use crate::facts::session_waits::SessionWait;
use crate::facts::unchanged_count;
use crate::finding::Alternative;
use crate::finding::ranked::{self, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::clock;
use crate::{Confidence, ResourceKind};

/// Transactions per request from which the confidence is high.
const EACH_HIGH_CONFIDENCE_MIN: f64 = 50.0;
/// Threads of an observed process that wait for a core of a full machine, on average.
const WAITING_THREADS_MIN: f64 = 1.0;
/// Part of the time of requests in a wait of the sessions, from which that wait is the more specific cause.
const WAIT_PART_MIN: f64 = 0.5;

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
    let is_most = |wait: &SessionWait<'_>| wait.holds_up() || wait.part_of_requests().is_some_and(|part| part >= WAIT_PART_MIN);
    let waits = |wait: &SessionWait<'_>| wait.role == Role::SessionsWaitingForCommit || is_most(wait) && wait.role != Role::SessionsOnCpu;
    if facts.session_wait.as_ref().is_some_and(waits) {
        return None;
    }
    let transactions = many(facts);
    let statement = if transactions.is_none() { most_repeated(facts) } else { None };
    if transactions.is_none() && statement.is_none() {
        return None;
    }
    if !facts.slows_down() {
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
    let time = RoundTripTime::of_commits(facts, commits);
    let on_the_way = time.as_ref().and_then(RoundTripTime::on_the_way);
    let path = on_the_way.as_ref().map_or_else(String::new, |way| {
        let leads = way.may_lead_there.map_or_else(String::new, |peer| format!(", if {peer} leads there"));
        format!(". The path to it is slow{leads}: answers are on their way for {} of the requests' time", loadstone_units::share(way.part))
    });
    let claim = format!(
        "Requests need too many database round trips: the database commits {:.0} transactions per iteration, {each:.0} per request{where_to}{path}",
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
    let next = match on_the_way {
        Some(_) => {
            format!(
                "Measure the network between the service and the database (ping, a proxy or connection pooler on the path). {FEWER_ROUND_TRIPS}"
            )
        }
        None => FEWER_ROUND_TRIPS.to_owned(),
    };
    let found = match (on_the_way, idle_machine(facts, (commits.from, commits.to))) {
        (Some(_), Some(false)) => {
            found.weigh(Alternative::not_ruled_out("The database's processes, which wait for a core", "the machine had none idle"))
        }
        _ => found,
    };
    weighed(facts, found, &commits.series, time).try_next(next)
}

/// Whether the machine had an idle core; `None`: it was not observed.
fn idle_machine(facts: &Facts<'_>, (from, to): (f64, f64)) -> Option<bool> {
    let used = facts.path.of_kind(ResourceKind::Machine).find_map(|machine| machine.used.as_ref()?.mean(from, to))?;
    Some(used < FULL_PART_MIN * facts.path.machine_cores)
}

/// With the part of the time that the round trips take. A habit, if that part is small or something else explains the time.
fn weighed(facts: &Facts<'_>, found: RankedFinding, series: &str, time: Option<RoundTripTime<'_>>) -> RankedFinding {
    let is_small = time.as_ref().is_some_and(|time| time.is_small() || time.is_small_under_load());
    // Only a path that is longer than the observer's would make them matter, and nothing shows one.
    let is_small_as_observed = time.as_ref().is_some_and(RoundTripTime::is_small_as_observed);
    let found = match time {
        Some(time) => {
            let stretch = found.finding.evidence.first().map_or((0.0, 0.0), |first| (first.from_seconds, first.to_seconds));
            time.add_to(found, stretch)
        }
        None => found,
    };
    let other = other_cause(facts, series);
    let standing = if is_small || other.is_some() { Standing::Habit } else { found.standing };
    let mut found = RankedFinding { standing, ..found };
    if is_small_as_observed {
        found.finding.confidence = Confidence::Low;
    }
    other.into_iter().fold(found, RankedFinding::weigh)
}

/// Another cause, which a constant number of round trips per request does not rule out.
fn other_cause(facts: &Facts<'_>, series: &str) -> Option<Alternative> {
    let inside = || computing(facts).or_else(|| waiting_for_cores(facts)).or_else(|| all_connections(facts));
    used_up(facts).or_else(inside).or_else(|| {
        let same = unchanged_count::across_a_change(facts.run, &facts.strain, &facts.changes, series)?;
        Some(Alternative::not_ruled_out(format!("What changed at {}", clock(same.at)), same.phrase("round trips")))
    })
}

/// A resource that was used up for much of the added time, whatever uses it.
fn used_up(facts: &Facts<'_>) -> Option<Alternative> {
    let is_much = |exhausted: &&Exhausted<'_>| {
        facts.strain.added_part((exhausted.from, exhausted.to)).is_none_or(|part| part >= ranked::SCORE_PART_MIN)
    };
    let exhausted = facts.used_up().find(is_much)?;
    let databases = facts.signals.parts_with(Role::SessionsActive);
    let active = databases.filter_map(|part| facts.signals.mean(part, Role::SessionsActive, exhausted.from, exhausted.to));
    let because = match active.reduce(f64::max) {
        Some(sessions) => format!("it was used up while {} of the database's sessions were active", loadstone_units::number(sessions)),
        None => "it was used up while work waited".to_owned(),
    };
    Some(Alternative::not_ruled_out(exhausted.resource.name(), because))
}

/// Sessions that compute: the time is theirs, and not that of the round trips.
fn computing(facts: &Facts<'_>) -> Option<Alternative> {
    let wait = facts.session_wait.as_ref().filter(|wait| wait.holds_up() && wait.role == Role::SessionsOnCpu)?;
    let because = format!("{:.1} of {:.1} active sessions compute", wait.sessions, wait.active);
    Some(Alternative::not_ruled_out("Statements that take the database's CPU", because))
}

/// A constant number of connections that are in use while requests wait.
fn all_connections(facts: &Facts<'_>) -> Option<Alternative> {
    let held = facts.constant_connections.as_ref().filter(|held| held.are_in_use() && matches!(held.need, ConnectionNeed::Rise))?;
    let requests = loadstone_units::number(held.in_system.1);
    let because = format!("{requests} requests were in the system, and their number rose, while the connections were in use");
    Some(Alternative::not_ruled_out(format!("Too few connections to \"{}\": {:.0}", held.database, held.number), because))
}

/// A process whose threads wait for a core while the machine has no idle one.
fn waiting_for_cores(facts: &Facts<'_>) -> Option<Alternative> {
    let (from, to) = facts.strain.top_span();
    let has_idle_core = idle_machine(facts, (from, to))?;
    let processes = facts.path.of_kind(ResourceKind::Process);
    let waits = processes.filter_map(|process| Some((process.part.observer, process.waiting.as_ref()?.mean(from, to)?)));
    let (name, threads) = waits.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, threads)| *threads >= WAITING_THREADS_MIN)?;
    (!has_idle_core).then(|| {
        let because = format!("{} threads of \"{name}\" waited for one, and the machine had none idle", loadstone_units::number(threads));
        Alternative::not_ruled_out("Too few cores", because)
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
    weighed(facts, found, &repeated.series, RoundTripTime::of_statement(facts, repeated)).try_next(FEWER_ROUND_TRIPS)
}
