//! The path between the service and its database or cache became slower: the network, or a proxy on it. Or what the service calls answers later.
//!
//! The rule needs a step in the times of a request at equal load. It compares the time before the step with the time after it. One of these must hold:
//!
//! | observation | condition |
//! |---|---|
//! | the shortest tenth of the observer's own round trips (Redis, PostgreSQL, MySQL) | twice as long, and 2 ms longer |
//! | sessions that wait for the service with an open transaction (`observe.postgres`) | as many more as there are added requests |
//! | connections of a pool in use, with the database observed | the same |
//! | calls without an answer (`awaited` of `observe.process`, Linux) | {dependency_path::AWAITED_PER_ADDED_REQUEST.0:%} of the added requests |
//! | threads in calls that leave the process ([runtimes](../observers.md#runtimes)) | {dependency_path::THREADS_PER_ADDED_REQUEST.0:%} of the added requests |
//! | sessions with an open transaction, with the service observed | {dependency_path::BETWEEN_PART_MIN:%} of the added requests, or the only session |
//! | connections to the database, with the service observed | {dependency_path::OPENED_MIN} and {dependency_path::RISEN_FACTOR_MIN} times as many |
//!
//! In all but the first, no observed database is busier: it has at most {dependency_path::BUSIER_PART_MAX:%} of the added requests as added active sessions.
//! Its statements take at most {dependency_path::STATEMENT_FACTOR_MAX} times as long, and are at most as many times as frequent. By Little's law, added time
//! that is spent neither in the database nor in the service is spent between them.
//!
//! A call without an answer is one for which the service sent the last data on its connection. The kernel shows that for every runtime and client, also for an
//! event loop, whose thread does not wait. The address names the endpoint. If an observer reads the server at this port and it is no busier, the path to it is
//! slower. If none does, the endpoint itself may be the slow part, and the claim names both. If the service has no connection to an observed server, the
//! address may be a proxy in front of one, and sessions and pools rank before it.
//!
//! Threads count if they wait for the network, or wait in a function that is named like those of clients of databases. The threads that compute, wait for a
//! lock or for a member of a pool, and the cores that the service uses, must not account for the added requests. In an event loop, one thread is in the call
//! for more of the time, and the other added requests wait for their turn. The same holds for a single session, as that of a writer of a log: it is in a
//! transaction for {dependency_path::ONE_THREAD_LEVEL_MIN:%} of the time from then on, and for {dependency_path::ONE_THREAD_RISE_MIN:%} more than before.
//!
//! In the last two, the processes of the service must use or wait for no more cores, and no request may wait for a pool. The added time is then spent in
//! neither of the two. The service may still wait for something else between its statements, and the claim names both.
//!
//! The service may itself hold its transactions open for longer. The rule rules that out if its processes use no more CPU and no stub has more calls in
//! progress. It reports nothing if the calls to a stub account for the added requests, or if a resource is used up: a full machine answers everything late.
//!
//! The observer's connection may take another path than the service's. Its round trip shows a slow path, and an unchanged round trip does not rule one out.

use loadstone_metrics::{Role, SeriesKind};

use crate::evidence::{changed_series, examined};
use crate::facts::Facts;
use crate::facts::changes::Change;
use crate::facts::dependency_path::{PathEvidence, SlowerPath};
use crate::facts::outward_waits::OutwardThreads;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::{clock, named};
use crate::{Confidence, Evidence};

/// Added cores or calls, as a part of the added requests, below which they do not account for the added time.
const OTHER_PART_MAX: f64 = 0.25;
/// Seconds between instants that count as the same.
const SAME_INSTANT_MAX_S: f64 = 3.0;
/// Requests that are named because they remained fast.
const STABLE_NAMES_MAX: usize = 3;

pub(super) const RULE: Rule = Rule {
    ids: &["dependency-path"],
    page: "dependency-path",
    title: "The path to a database or cache became slower",
    says: "requests take longer because the path to a database or cache does",
    example: Example {
        run: "examples/dependency-path",
        claim: "The path to \"postgres\" is slower from 0:20 on: 2.30 more of its sessions wait for the service with an open transaction, and the \
                database is no busier. It delays \"Buy\"",
    },
    needs: &["process", "postgres", "mysql", "redis"],
    settings: &[],
    precedence: 15,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let slower = facts.dependency_path.as_ref()?;
    // A full machine answers everything late.
    if facts.used_up().any(|exhausted| exhausted.from < slower.to && slower.from < exhausted.to) {
        return None;
    }
    // Threads that wait for each other do so inside of the service.
    let is_weak = matches!(slower.shown_by, PathEvidence::BetweenStatements | PathEvidence::OpenConnections);
    let is_inside = || match slower.shown_by {
        PathEvidence::Threads | PathEvidence::ThreadsElsewhere => {
            facts.thread_wait.as_ref().is_some_and(|wait| wait.place().role != Role::ThreadsWaitingForOther)
        }
        _ => is_weak && facts.thread_wait.is_some(),
    };
    let fails =
        || facts.failing.iter().filter_map(|failing| failing.when.onset()).any(|at| (at - slower.change.at).abs() <= SAME_INSTANT_MAX_S);
    if is_inside() || (is_weak && fails()) {
        return None;
    }
    let (name, when, number) = (slower.dependency, clock(slower.change.at), loadstone_units::number);
    let PathClaim { claim, text, confidence, subject } = PathClaim::of(slower);
    let delayed = named(&delayed(facts, slower));
    let claim = format!("{claim}. It delays {delayed}");
    let span = (slower.from, slower.to);
    let text = format!("{text}; {} more requests were in the system (Little's law)", number(slower.added));
    let found = RankedFinding::new(Standing::Cause, "dependency-path", subject, confidence, claim)
        .with(Quantity::seconds("at", slower.change.at))
        .with(Quantity::count("added_requests", slower.added))
        .rests_on_drawn(drawn(slower, text, span))
        .rests_on_drawn(changed_series::drawn(
            &slower.change,
            format!(
                "\"{}\" went from {} to {} at {when}",
                slower.change.of.name(),
                loadstone_units::seconds(slower.change.before.median),
                loadstone_units::seconds(slower.change.after.median)
            ),
        ));
    let stable: Vec<&str> = facts.changes.stable_around(&slower.change).map(|one| one.of.name()).take(STABLE_NAMES_MAX).collect();
    let found = if stable.is_empty() {
        found
    } else {
        found.rests_on(format!("the times of {} remained stable", named(&stable)), Vec::new(), span)
    };
    let found = match &slower.threads {
        Some(threads) if !matches!(slower.shown_by, PathEvidence::Threads | PathEvidence::ThreadsElsewhere) => {
            in_calls(found, threads, span)
        }
        _ => found,
    };
    let found = match (slower.shown_by, &slower.round_trip) {
        (PathEvidence::RoundTrip, _) => found.weigh(busy_server(facts, slower)),
        (PathEvidence::Calls(_) | PathEvidence::CallsElsewhere(_), Some((levels, series))) => {
            own_round_trip(found, *levels, series, span).weigh(busy_server(facts, slower))
        }
        (PathEvidence::Calls(_) | PathEvidence::CallsElsewhere(_), None) => found.weigh(busy_server(facts, slower)),
        (_, Some((levels, series))) => own_round_trip(found, *levels, series, span).weigh(computing(facts, slower)).weigh(calling(slower)),
        (_, None) => found.weigh(computing(facts, slower)).weigh(calling(slower)),
    };
    Some(found.beyond_the_generator(facts, span).try_next(match slower.shown_by {
        PathEvidence::ThreadsElsewhere => format!(
            "Find out what this call reaches, and compare its response times and the network to it with the time before {when}. Fewer such calls in {delayed} \
             reduce the effect."
        ),
        PathEvidence::CallsElsewhere(_) => format!(
            "Find out what listens at {name} and what {delayed} calls it for (a trace shows the call). Compare its response times, and the network to it \
             (ping, packet loss, a proxy on the path), with the time before {when}. Fewer such calls reduce the effect."
        ),
        _ => format!(
            "Measure the network between the service and \"{name}\" (ping, packet loss, a proxy or connection pooler on the path), and compare it with the \
             time before {when}. Fewer round trips in {delayed} reduce the effect."
        ),
    }))
}

/// The requests that take longer from the same instant on: those that use the path. The one that changed most ranks first.
fn delayed<'f>(facts: &'f Facts<'_>, slower: &'f SlowerPath<'_>) -> Vec<&'f str> {
    let is_at_once = |change: &&Change| (change.at - slower.change.at).abs() <= SAME_INSTANT_MAX_S + change.at_error;
    let requests = facts.changes.found.iter().filter(|change| change.of.kind() == Some(SeriesKind::Request) && change.is_slower());
    let mut names = vec![slower.change.of.name()];
    for change in requests.filter(is_at_once) {
        if !names.contains(&change.of.name()) {
            names.push(change.of.name());
        }
    }
    names
}

/// The levels of the first series. Threads of several stacks are drawn apart, and the number is their sum.
fn drawn(slower: &SlowerPath<'_>, text: String, span: (f64, f64)) -> Evidence {
    let evidence = Evidence::new(text, slower.series.clone(), span);
    let is_of_threads = matches!(slower.shown_by, PathEvidence::Threads | PathEvidence::ThreadsElsewhere);
    if is_of_threads && slower.threads.as_ref().is_some_and(|threads| threads.series.len() > 1) {
        return evidence;
    }
    evidence.level(&slower.series[0], "before", slower.levels.0, (slower.change.from, slower.change.at)).level(
        &slower.series[0],
        "after",
        slower.levels.1,
        span,
    )
}

/// What the evidence shows, and how the first piece of it reads.
struct PathClaim {
    claim: String,
    text: String,
    confidence: Confidence,
    subject: Subject,
}

impl PathClaim {
    fn of(slower: &SlowerPath<'_>) -> Self {
        let (name, when, number) = (slower.dependency, clock(slower.change.at), loadstone_units::number);
        let (before, after) = slower.levels;
        let more = number(after - before);
        let subject = match slower.shown_by {
            PathEvidence::CallsElsewhere(_) => Subject::endpoint(name),
            PathEvidence::ThreadsElsewhere => Subject::part(name, slower.threads.as_ref().map_or("", |threads| threads.at)),
            _ => Subject::observed(name),
        };
        let confidence = if slower.shown_by == PathEvidence::RoundTrip { Confidence::High } else { Confidence::Medium };
        let of = |what: &str| format!("{} {what} on average, and {} before", number(after), number(before));
        let (claim, text) = match slower.shown_by {
            PathEvidence::RoundTrip => {
                let (before, after) = (loadstone_units::seconds(before), loadstone_units::seconds(after));
                (
                    format!("The path to \"{name}\" is slower from {when} on: a round trip takes {after} instead of {before}"),
                    format!("nine in ten round trips of the observer took {after} or longer, and {before} before"),
                )
            }
            PathEvidence::IdleInTransaction => (
                format!(
                    "The path to \"{name}\" is slower from {when} on: {more} more of its sessions wait for the service with an open transaction, \
                     and the database is no busier"
                ),
                of("sessions were idle in a transaction"),
            ),
            PathEvidence::Connections(pool) => (
                format!(
                    "The path to \"{name}\" is slower from {when} on: {more} more connections of the pool \"{pool}\" are in use, and the database is no \
                     busier"
                ),
                of("connections were in use"),
            ),
            PathEvidence::BetweenStatements => (
                format!(
                    "From {when} on requests wait between their statements: {more} more {} for the service, and neither is busier. The \
                     path between the two is slower, or what the service calls meanwhile",
                    if more == "1" { format!("session of \"{name}\" waits") } else { format!("sessions of \"{name}\" wait") }
                ),
                of("sessions were idle in a transaction"),
            ),
            PathEvidence::OpenConnections => (
                format!(
                    "From {when} on requests wait while they hold connections to \"{name}\": {more} more are open, and neither the database nor the service \
                     is busier. The path between the two is slower, or what the service calls meanwhile"
                ),
                of("connections were open"),
            ),
            _ => Self::outward(slower, &more, &when),
        };
        Self { claim, text, confidence, subject }
    }

    /// What the service shows: its calls without an answer, and its threads in them.
    fn outward(slower: &SlowerPath<'_>, more: &str, when: &str) -> (String, String) {
        let (name, number) = (slower.dependency, loadstone_units::number);
        let (before, after) = slower.levels;
        let of = |what: &str| format!("{} {what} on average, and {} before", number(after), number(before));
        let threads = slower.threads.as_ref();
        let (word, call) = (threads.map_or("threads", |threads| threads.word), threads.map_or_else(String::new, called));
        match slower.shown_by {
            PathEvidence::Calls(peer) => (
                format!(
                    "The path to \"{name}\" is slower from {when} on: {more} more calls to {peer} wait for an answer, and the server is no busier"
                ),
                of(&format!("calls to {peer} waited for an answer")),
            ),
            PathEvidence::CallsElsewhere(Some(database)) => (
                format!(
                    "From {when} on {name} answers later: {more} more calls to it wait, and \"{database}\" is no busier. The path to it is slower, or what \
                     answers there"
                ),
                of(&format!("calls to {name} waited for an answer")),
            ),
            PathEvidence::Threads => (
                format!(
                    "The path to \"{name}\" is slower from {when} on: {more} more {word} wait in {call}, and neither the database nor the service is busier"
                ),
                of(&format!("{word} waited there")),
            ),
            PathEvidence::ThreadsElsewhere => (
                format!(
                    "From {when} on {more} more {word} of \"{name}\" wait in {call}, and the service is no busier: what it calls there answers later, or the \
                     path to it is slower"
                ),
                of(&format!("{word} waited there")),
            ),
            _ => (
                format!(
                    "From {when} on {name} answers later: {more} more calls to it wait. The path to it is slower, or what answers there"
                ),
                of(&format!("calls to {name} waited for an answer")),
            ),
        }
    }
}

/// The call in which most threads are, with the service's functions above it.
fn called(threads: &OutwardThreads<'_>) -> String {
    let under = threads.under.map_or_else(String::new, |under| format!(" below `{under}`"));
    format!("`{}`{under}", threads.at)
}

/// With the threads of the service that wait for it.
fn in_calls(found: RankedFinding, threads: &OutwardThreads<'_>, span: (f64, f64)) -> RankedFinding {
    let number = loadstone_units::number;
    let text = format!(
        "{} {} waited in {} and other calls that leave the process, and {} before",
        number(threads.levels.1),
        threads.word,
        called(threads),
        number(threads.levels.0)
    );
    found.rests_on(text, threads.series.clone(), span)
}

/// With the round trip of the observer, which did not grow: the server answers as fast as before.
fn own_round_trip(found: RankedFinding, (before, after): (f64, f64), series: &str, span: (f64, f64)) -> RankedFinding {
    let text = format!(
        "the observer's own round trip took {} and {} before: the server answers as fast, on the path of the observer",
        loadstone_units::seconds(after),
        loadstone_units::seconds(before)
    );
    found.rests_on(text, vec![series.to_owned()], span)
}

/// The server at the other end, as another reason for a longer round trip.
fn busy_server(facts: &Facts<'_>, slower: &SlowerPath<'_>) -> Alternative {
    const OTHER: &str = "The server itself, which answers late because it is busy";
    let number = loadstone_units::number;
    match slower.sessions {
        None => Alternative::not_ruled_out(OTHER, format!("its use of the CPU was not observed ({})", facts.terms().named(&["process"]))),
        Some(sessions) if sessions <= OTHER_PART_MAX * slower.added.max(1.0) => {
            Alternative::ruled_out(OTHER, format!("{} more of its sessions were active", number(sessions.max(0.0))))
        }
        Some(sessions) => Alternative::not_ruled_out(OTHER, format!("{} more of its sessions were active", number(sessions))),
    }
}

/// The service itself, as another reason why its sessions wait.
fn computing(facts: &Facts<'_>, slower: &SlowerPath<'_>) -> Alternative {
    const OTHER: &str = "The service, which computes while it holds a connection";
    let number = loadstone_units::number;
    match slower.cores {
        None => examined::no_process(facts, OTHER),
        Some(cores) if cores <= OTHER_PART_MAX * slower.added => Alternative::ruled_out(
            OTHER,
            format!("its processes used {} more cores, for {} more requests", number(cores.max(0.0)), number(slower.added)),
        ),
        Some(cores) => Alternative::not_ruled_out(OTHER, format!("its processes used {} more cores", number(cores))),
    }
}

/// A call of the service, as another reason.
fn calling(slower: &SlowerPath<'_>) -> Alternative {
    const OTHER: &str = "A call to another service while it holds a connection";
    let number = loadstone_units::number;
    match slower.calls {
        None => Alternative::not_ruled_out(OTHER, "no called endpoint was observed (a stub)"),
        Some(calls) if calls <= OTHER_PART_MAX * slower.added => {
            Alternative::ruled_out(OTHER, format!("{} more calls were in progress", number(calls.max(0.0))))
        }
        Some(calls) => Alternative::not_ruled_out(OTHER, format!("{} more calls were in progress", number(calls))),
    }
}
