//! Callers that are all busy calling: what limits the number of calls at once. What the database's sessions did meanwhile tells whether it is a lock,
//! a pool or the number of workers.
//!
//! *Calls to "subscriber" go out 5 at a time, though 20 workers have one to make: a pool of 5 connections is smaller than the workers that share it.*
//!
//! While work waits, every free worker picks some up. If the calls inside a stub then reach the same number second after second and never exceed it, that
//! number is a limit of the callers. A bottleneck ahead of the callers leaves calls that come and go, and no such ceiling.
//!
//! | what | limit |
//! |---|---|
//! | seconds of the stretch that peak at the ceiling | at least 80 % |
//! | seconds above it | at most 2 % |
//! | average calls at once | at least half of the ceiling; from 80 % on, the calls alone take up the callers' time |
//! | seconds | at least 10 |
//! | requests of the load itself waiting for the stub's response | 1.5 times the ceiling; otherwise the load is the limit |
//!
//! The PostgreSQL observer tells what it is:
//!
//! - **sessions wait for a lock, and the ceiling is one**: a **lock**
//! - **a quarter more open, idle transactions than calls, those to other stubs included: workers hold their work and wait for a connection**: a **pool**
//! - **as many open, idle transactions as calls (within 15 %)**: all **workers** are busy, or all connections of a database pool that they share: only
//!   the pool's own metrics tell these apart, and without them the confidence is medium. It would take rate × time of each, `calls_max · started /
//!   throughput`
//! - **none of this**: the number alone, with the signals that stood at exactly that number (a pool size, a thread count from the system's own metrics)
//!
//! *Alternatives:* a busy processor, disk or database, ruled out where calls take 80 % of the callers' time; a slower endpoint, ruled out by its hold
//! times in both halves. Where they take less, and a resource was used up for half of that time, `workers` and `effective-concurrency` come after it:
//! more callers would only share it.

use loadstone_metrics::Role;

use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::calls_at_once::CallCeiling;
use crate::facts::exhausted::Exhausted;
use crate::facts::sessions::DatabaseSessions;
use crate::instant::clock;

/// A pool is too small where the workers are this many times the ceiling; all workers are busy where they differ from it by no more than this share.
const MORE_WORKERS: f64 = 1.25;
const SAME_WORKERS: f64 = 0.15;
/// Ends without a beginning, over journeys that ended, from which the rate of these says little.
const UNMATCHED_MAX: f64 = 0.05;
/// Part of the stretch in which a resource must have been used up to be where the callers spend the rest of their time.
const USED_UP_MIN: f64 = 0.5;
/// The rule that is made of how many hold work without a connection.
const POOL: &str = "connection-pool";
/// Signals that are named because they stood at the ceiling.
const NAMES_MAX: usize = 4;

pub(super) const RULE: Rule = Rule {
    ids: &["lock", "connection-pool", "workers", "effective-concurrency"],
    title: "Calls to a dependency are limited",
    says: "calls to a dependency go out only so many at a time, and why",
    needs: &[],
    settings: &["pool", "connection", "worker", "thread", "lock", "concurrency"],
    precedence: 120,
    find: FindingSearch::One(find),
};

/// What lets only so many through: a lock, a pool, the number of workers; or, without the evidence to tell, the number alone.
fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let ceiling = facts.call_ceiling.as_ref()?;
    let found = match &facts.sessions_at_ceiling {
        Some(sessions) if ceiling.calls_max < 1.5 && sessions.waiting_for_locks >= 1.0 => behind_a_lock(ceiling, sessions),
        // A pool that tells of itself is found by what it tells, and who holds its connections is busy with these calls.
        _ if facts.pools.iter().any(|pool| pool.is_during(ceiling.from, ceiling.to)) => return None,
        sessions => {
            let found = match sessions {
                Some(sessions) => among_workers(facts, ceiling, sessions),
                None => unknown(facts, ceiling),
            };
            match used_up_beside(facts, ceiling) {
                Some(exhausted) if found.finding.rule != POOL => behind(ceiling, exhausted, found),
                _ => found,
            }
        }
    };
    // What is used up comes before what follows from it, whatever the generator did.
    let is_sure = found.standing != Standing::Consequence && ceiling.waiting.dwarfs_generator(facts.tally);
    let uncertainty = if is_sure { GeneratorUncertainty::None } else { GeneratorUncertainty::Possible };
    Some(RankedFinding { uncertainty, ..with_alternatives(ceiling, found) })
}

/// Workers hold a transaction each. Those who do and make no call, to this endpoint or another, wait for a connection.
fn among_workers(facts: &Facts<'_>, ceiling: &CallCeiling<'_>, sessions: &DatabaseSessions<'_>) -> RankedFinding {
    let calls = ceiling.calls_max + ceiling.calls_elsewhere;
    if sessions.in_transaction >= MORE_WORKERS * calls && sessions.in_transaction >= calls + 1.5 {
        pool(ceiling, sessions)
    } else if (sessions.in_transaction - calls).abs() <= (SAME_WORKERS * calls).max(0.6) {
        all_busy(facts, ceiling, sessions)
    } else {
        unknown(facts, ceiling)
    }
}

fn behind_a_lock(ceiling: &CallCeiling<'_>, sessions: &DatabaseSessions<'_>) -> RankedFinding {
    let claim = format!(
        "Calls to \"{}\" go out 1 at a time: {:.0} database sessions queue behind the one that holds a row lock during its call",
        ceiling.endpoint.name, sessions.waiting_for_locks
    );
    let chain = sessions.blocked.as_ref().map_or_else(String::new, |blocked| format!("; most wait in {}", blocked.phrase()));
    let locks = sessions.locks.iter().chain(sessions.blocked.as_ref().map(|blocked| &blocked.readings));
    let series = locks.map(|readings| readings.name()).collect();
    begun(ceiling, "lock", if ceiling.explains_all() { Confidence::High } else { Confidence::Medium }, claim)
        .rests_on(
            format!(
                "{:.1} sessions waited for a lock on average, in {} of the readings{chain}",
                sessions.waiting_for_locks,
                loadstone_units::share(sessions.locked_share)
            ),
            series,
            (ceiling.from, ceiling.to),
        )
        .weigh(Alternative::ruled_out(
            "A single worker, which would show the same number of calls",
            format!("{:.0} others waited for a lock at the same time", sessions.waiting_for_locks),
        ))
        .try_next(
            "Let workers skip locked rows (FOR UPDATE SKIP LOCKED), or end the transaction before the call. Run again: throughput \
             should rise with the number of workers.",
        )
}

fn pool(ceiling: &CallCeiling<'_>, sessions: &DatabaseSessions<'_>) -> RankedFinding {
    let callers = sessions.in_transaction - ceiling.calls_elsewhere;
    let claim = format!(
        "Calls to \"{}\" go out {:.0} at a time, though {callers:.0} workers have one to make: a pool of {:.0} connections is too small for \
         the workers that share it",
        ceiling.endpoint.name, ceiling.calls_max, ceiling.calls_max
    );
    let elsewhere = elsewhere(ceiling).map_or_else(String::new, |calls| format!(", and {calls}"));
    begun(ceiling, POOL, if ceiling.explains_all() { Confidence::High } else { Confidence::Medium }, claim)
        .rests_on(
            format!(
                "{:.1} database transactions were open with no statement running: workers that hold work and wait, {:.1} more than \
             there were calls{elsewhere}",
                sessions.in_transaction,
                callers - ceiling.calls.0
            ),
            vec![sessions.transactions.name()],
            (ceiling.from, ceiling.to),
        )
        .weigh(Alternative::ruled_out("Too few workers", "more of them held work than there were calls"))
        .weigh(a_lock(sessions))
        .try_next(format!(
            "Give the client that calls \"{}\" as many connections as there are workers ({callers:.0}), and run again: throughput should rise \
             from {} to what {callers:.0} can carry, about {}.",
            ceiling.endpoint.name,
            loadstone_units::rate(ceiling.waiting.throughput),
            loadstone_units::rate(ceiling.waiting.throughput * callers / ceiling.calls_max)
        ))
}

fn all_busy(facts: &Facts<'_>, ceiling: &CallCeiling<'_>, sessions: &DatabaseSessions<'_>) -> RankedFinding {
    let callers = callers(ceiling, sessions);
    let rates = format!(
        "{} leave while {} arrive",
        loadstone_units::rate(ceiling.waiting.throughput),
        loadstone_units::rate(ceiling.waiting.started)
    );
    let claim = match elsewhere(ceiling) {
        Some(_) => format!(
            "All {:.0} workers are busy with a call, {callers:.0} of them to \"{}\": {rates}",
            callers + ceiling.calls_elsewhere,
            ceiling.endpoint.name
        ),
        None => format!(
            "Calls to \"{}\" go out {callers:.0} at a time: all {callers:.0} workers are busy with one, or all {callers:.0} connections of a \
             pool that each of them needs; {rates}",
            ceiling.endpoint.name
        ),
    };
    let elsewhere = elsewhere(ceiling).map_or_else(String::new, |calls| format!(", and {calls}"));
    begun(ceiling, "workers", if ceiling.explains_all() { Confidence::High } else { Confidence::Medium }, claim)
        .rests_on(
            format!("{:.1} database transactions were open meanwhile: one per call{elsewhere}", sessions.in_transaction),
            vec![sessions.transactions.name()],
            (ceiling.from, ceiling.to),
        )
        .weigh(Alternative::ruled_out("A pool of connections to what is called", "no more transactions were open than there were calls"))
        .weigh(database_pool(facts, ceiling))
        .weigh(a_lock(sessions))
        .try_next(more_workers(facts, ceiling, callers))
}

/// The workers: of the most calls at once and the transactions open in most readings, the smaller that the mean allows. A call that begins may be
/// counted before the one that it follows has ended, and readings may fall on the instants at which work arrives.
fn callers(ceiling: &CallCeiling<'_>, sessions: &DatabaseSessions<'_>) -> f64 {
    let mostly = sessions.in_transaction_mostly;
    let is_one_less = mostly >= 1.0 && (ceiling.calls_max - mostly - 1.0).abs() < 0.5 && ceiling.calls.0 <= mostly + 0.05;
    if is_one_less && ceiling.calls_elsewhere < 0.5 { mostly } else { ceiling.calls_max }
}

/// Calls in other endpoints, where there are any.
fn elsewhere(ceiling: &CallCeiling<'_>) -> Option<String> {
    (ceiling.calls_elsewhere >= 0.5).then(|| format!("{:.1} calls to other endpoints", ceiling.calls_elsewhere))
}

fn a_lock(sessions: &DatabaseSessions<'_>) -> Alternative {
    let told = format!("{:.1} sessions waited for one", sessions.waiting_for_locks);
    if sessions.waiting_for_locks < 0.5 { Alternative::ruled_out("A lock", told) } else { Alternative::not_ruled_out("A lock", told) }
}

/// A database pool smaller than the number of workers: those without a connection have no transaction either. Only the pool itself tells.
fn database_pool(facts: &Facts<'_>, ceiling: &CallCeiling<'_>) -> Alternative {
    const OTHER: &str = "A pool of database connections smaller than the number of workers";
    let waiting = facts.signals.parts_with(Role::PoolWaiting);
    let most = waiting.filter_map(|pool| facts.signals.mean(pool, Role::PoolWaiting, ceiling.from, ceiling.to)).reduce(f64::max);
    match most {
        Some(waiting) if waiting < 0.5 => Alternative::ruled_out(OTHER, format!("{waiting:.1} waited for a member of the observed pools")),
        Some(waiting) => Alternative::not_ruled_out(OTHER, format!("{waiting:.1} waited for a member of an observed pool")),
        None => Alternative::not_ruled_out(OTHER, "the service's own metrics of its pool were not observed"),
    }
}

/// How many are needed follows from how many journeys end: where keys of the flow did not match, nobody knows.
fn more_workers(facts: &Facts<'_>, ceiling: &CallCeiling<'_>, callers: f64) -> String {
    let flow = facts.tally.flows().iter().find(|flow| ceiling.waiting.flow.as_deref() == Some(&*flow.merged.name));
    let unmatched = flow.map(|flow| &flow.merged).filter(|merged| merged.unmatched as f64 > UNMATCHED_MAX * merged.finished as f64);
    if let Some(merged) = unmatched {
        return format!(
            "Have more of them, or make the calls shorter. How many cannot be told: the keys of \"{}\" do not match, {} ended that \
             never began, and {} that did.",
            merged.name,
            loadstone_units::count(merged.unmatched),
            loadstone_units::count(merged.finished)
        );
    }
    let needed = ceiling.callers_needed() * callers / ceiling.calls_max;
    format!(
        "Work that arrives at {} keeps {needed:.1} of them busy (rate × time per call): have more than {:.0}, and about {:.0} for a fifth to \
         spare. Or make the calls shorter.",
        loadstone_units::rate(ceiling.waiting.started),
        needed.floor().max(callers),
        (needed / 0.8).ceil()
    )
}

fn unknown(facts: &Facts<'_>, ceiling: &CallCeiling<'_>) -> RankedFinding {
    let of_called = |observer: &str| facts.called.iter().any(|endpoint| endpoint.observer == observer);
    let steady = facts.signals.steady_at(ceiling.calls_max, ceiling.from, ceiling.to).into_iter();
    let matches: Vec<String> = steady.filter(|readings| !of_called(&readings.signal.observer)).map(|readings| readings.name()).collect();
    let claim = format!(
        "Calls to \"{}\" go out at most {:.0} at a time: workers, a pool or a lock limits them",
        ceiling.endpoint.name, ceiling.calls_max
    );
    let mut found = begun(ceiling, "effective-concurrency", Confidence::Medium, claim);
    if ceiling.calls_max > 1.5 && !matches.is_empty() {
        let shown = matches[..matches.len().min(NAMES_MAX)].join(", ");
        found = found.rests_on(format!("the same number throughout: {shown}"), matches, (ceiling.from, ceiling.to));
    }
    found.weigh(Alternative::not_ruled_out("Workers, a pool or a lock", "what was observed does not tell which of them it is")).try_next(
        format!(
            "Observe the caller's database (observe.postgres: open transactions, lock waits) or its metrics (observe.prometheus: pool \
             size, threads). If it is the workers, add some. {}",
            more_workers(facts, ceiling, ceiling.calls_max)
        ),
    )
}

/// A resource that was used up while the calls left some of the callers' time.
fn used_up_beside<'f, 'a>(facts: &'f Facts<'a>, ceiling: &CallCeiling<'_>) -> Option<&'f Exhausted<'a>> {
    let is_beside = |of: &&Exhausted<'_>| of.to.min(ceiling.to) - of.from.max(ceiling.from) >= USED_UP_MIN * (ceiling.to - ceiling.from);
    if ceiling.explains_all() { None } else { facts.used_up().find(is_beside) }
}

/// Callers that are all busy, but not with their calls alone: more of them would only share what is used up, so that it comes first.
fn behind(ceiling: &CallCeiling<'_>, exhausted: &Exhausted<'_>, mut found: RankedFinding) -> RankedFinding {
    found.standing = Standing::Consequence;
    found.finding.claim = format!(
        "Calls to \"{}\" go out at most {:.0} at a time, and take {} of their callers' time",
        ceiling.endpoint.name,
        ceiling.calls_max,
        loadstone_units::share(ceiling.busy())
    );
    let (from, to) = (clock(exhausted.from), clock(exhausted.to));
    found
        .weigh(Alternative::not_ruled_out(
            exhausted.resource.name(),
            format!("it was used up from {from} to {to}, and more callers would share it"),
        ))
        .try_next("Mend first what is used up. Have more callers if there are still as many calls at once after that.")
}

/// The finding with the evidence that all of them rest on.
fn begun(ceiling: &CallCeiling<'_>, rule: &'static str, confidence: Confidence, claim: String) -> RankedFinding {
    let waiting = &ceiling.waiting;
    let (standing, confidence) = match waiting.is_unstable() {
        true => (Standing::Cause, confidence),
        false => (Standing::Passing, confidence.min(Confidence::Medium)),
    };
    let hold = ceiling.hold().map_or_else(String::new, |hold| {
        format!(
            "; {} × {} each = {:.1}",
            loadstone_units::rate(waiting.throughput),
            loadstone_units::seconds(hold),
            waiting.throughput * hold
        )
    });
    let mean = format!("{:.1}", ceiling.calls.0);
    let interval = if ceiling.calls.1.is_finite() {
        let (low, high) = ((ceiling.calls.0 - ceiling.calls.1).max(0.0), (ceiling.calls.0 + ceiling.calls.1).min(ceiling.calls_max));
        format!(" (95 % interval {low:.1}–{high:.1})")
    } else {
        String::new()
    };
    let text = format!(
        "calls in \"{}\" while {} waited: at most {} at once, reached in {} of the seconds; {mean} on average{interval}{hold}",
        ceiling.endpoint.name,
        waiting.what(),
        ceiling.calls_max,
        loadstone_units::share(ceiling.at_ceiling)
    );
    let endpoint = &ceiling.endpoint;
    let series =
        [&endpoint.in_flight_max, &endpoint.in_flight, &endpoint.calls].into_iter().flatten().map(|readings| readings.name()).collect();
    let waited = if waiting.is_unstable() {
        let (growth, half) = waiting.growth;
        format!(
            "{} arrived at {} and left at {}: the backlog grew by {:.1} per second (95 % interval {:.1}–{:.1})",
            waiting.what(),
            loadstone_units::rate(waiting.started),
            loadstone_units::rate(waiting.finished),
            growth,
            growth - half,
            growth + half
        )
    } else {
        format!("{} waited for {}, and then no longer", waiting.what(), loadstone_units::seconds(waiting.to - waiting.from))
    };
    RankedFinding::new(standing, rule, Subject::endpoint(ceiling.endpoint.name), confidence, claim).rests_on(text, series, (ceiling.from, ceiling.to)).rests_on(
        waited,
        waiting.columns(),
        (waiting.from, waiting.load_to),
    )
}

/// What else could have held up the callers, with its numbers.
fn with_alternatives(ceiling: &CallCeiling<'_>, found: RankedFinding) -> RankedFinding {
    let found = if ceiling.explains_all() {
        found.weigh(Alternative::ruled_out(
            "A busy CPU, disk or database on the callers' side",
            format!("the calls themselves took {} of their time", loadstone_units::share(ceiling.busy())),
        ))
    } else {
        found
    };
    match ceiling.hold_in_halves() {
        Some((before, after)) if after > 1.5 * before => found.weigh(Alternative::not_ruled_out(
            format!("A slower \"{}\"", ceiling.endpoint.name),
            format!(
                "it held calls for {} in the first half and {} in the second",
                loadstone_units::seconds(before),
                loadstone_units::seconds(after)
            ),
        )),
        Some((before, after)) => found.weigh(Alternative::ruled_out(
            format!("A slower \"{}\"", ceiling.endpoint.name),
            format!(
                "it held calls for {} in the first half and {} in the second",
                loadstone_units::seconds(before),
                loadstone_units::seconds(after)
            ),
        )),
        None => found,
    }
}
