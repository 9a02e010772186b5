//! Calls to a dependency of which only so many are in progress at a time, and the limit behind that number.
//!
//! If calls in a stub reach the same number every second while work waits, and never exceed it, the callers have that limit.
//!
//! | condition | limit |
//! |---|---|
//! | seconds with waiting work | {calls_at_once::SECONDS_MIN} or more |
//! | seconds that peak at the ceiling | {calls_at_once::AT_CEILING_SHARE_MIN:%} or more |
//! | seconds above the ceiling | {calls_at_once::ABOVE_CEILING_SHARE_MAX:%} or less |
//! | mean number of calls | {calls_at_once::BUSY_SHARE_MIN:%} of the ceiling or more |
//! | requests that wait for the stub | {calls_at_once::WAITING_PER_CALL_MIN} times the ceiling or more; with fewer, the load is the limit |
//!
//! With `observe.postgres`, the finding names the limit:
//!
//! | finding | condition |
//! |---|---|
//! | `lock` | the ceiling is 1, and sessions wait for a lock |
//! | `connection-pool` | {POOL_WORKERS_PER_CALL_MIN} times as many open, idle transactions as calls: workers wait for a connection |
//! | `workers` | as many open, idle transactions as calls, within {BUSY_WORKERS_DIFFERENCE_MAX:%} |
//! | `effective-concurrency` | otherwise |
//!
//! Only the pool's own metrics distinguish busy workers from an exhausted pool of the same size. The load needs calls · arrival rate / throughput workers.
//!
//! If calls take less than {calls_at_once::NEARLY_ALL_BUSY_SHARE_MIN:%} of the callers' time, a resource that was exhausted for {EXHAUSTED_PART_MIN:%} of the
//! stretch ranks first.

use loadstone_metrics::Role;

use crate::Confidence;
use crate::facts::Facts;
use crate::facts::calls_at_once::CallCeiling;
use crate::facts::exhausted::Exhausted;
use crate::facts::sessions::DatabaseSessions;
use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Evidence, Quantity, Subject};
use crate::instant::clock;

/// Workers for each call from which a pool is too small for them.
const POOL_WORKERS_PER_CALL_MIN: f64 = 1.25;
/// Difference between workers and calls, as a part of the calls, up to which all workers are busy.
const BUSY_WORKERS_DIFFERENCE_MAX: f64 = 0.15;
/// Finishes without a start, as a part of the journeys that finished, above which their rate does not show how many workers are needed.
const UNMATCHED_PART_MAX: f64 = 0.05;
/// Part of the stretch in which a resource must have been exhausted for the callers to spend the rest of their time there.
const EXHAUSTED_PART_MIN: f64 = 0.5;
/// The finding about workers that hold work without a connection.
const POOL_RULE: &str = "connection-pool";
/// Signals that are named because they had the ceiling's value throughout.
const NAMES_MAX: usize = 4;

pub(super) const RULE: Rule = Rule {
    ids: &["lock", "connection-pool", "workers", "effective-concurrency"],
    page: "lock",
    title: "Calls to a dependency are limited",
    says: "only so many calls to a dependency are in progress at a time, and why",
    example: Example {
        run: "examples/call-ceiling",
        claim: "Calls to \"subscriber\" go out 5 at a time, though 20 workers have one to make: a pool of 5 connections is too small for the \
                workers that share it",
    },
    needs: &[],
    settings: &["pool", "connection", "worker", "thread", "lock", "concurrency"],
    precedence: 120,
    find: FindingSearch::One(find),
};

/// A lock, a pool or the number of workers; without evidence for one of them, the number alone.
fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let ceiling = facts.call_ceiling.as_ref()?;
    let found = match &facts.sessions_at_ceiling {
        Some(sessions) if ceiling.calls_max < 1.5 && sessions.waiting_for_locks >= 1.0 => behind_a_lock(ceiling, sessions),
        // The metrics of a pool show its shortage directly, and the holders of its connections are busy with these calls.
        _ if facts.pools.iter().any(|pool| pool.is_during(ceiling.from, ceiling.to)) => return None,
        // So do those of a job queue.
        _ if facts.queue_workers.as_ref().is_some_and(|busy| busy.is_during(ceiling.from, ceiling.to)) => return None,
        sessions => {
            let found = match sessions {
                Some(sessions) => among_workers(facts, ceiling, sessions),
                None => unknown(facts, ceiling),
            };
            match exhausted_meanwhile(facts, ceiling) {
                Some(exhausted) if found.finding.rule != POOL_RULE => behind_exhausted(ceiling, exhausted, found),
                _ => found,
            }
        }
    };
    // A consequence must not rank before the exhausted resource, even if waits far exceed the generator's lateness.
    let is_sure = found.standing != Standing::Consequence && ceiling.waiting.dwarfs_generator(facts.tally);
    let uncertainty = if is_sure { GeneratorUncertainty::None } else { GeneratorUncertainty::Possible };
    Some(RankedFinding { uncertainty, ..with_alternatives(ceiling, found) })
}

/// Each worker holds a transaction. A worker that holds one and makes no call, to this endpoint or another, waits for a connection.
fn among_workers(facts: &Facts<'_>, ceiling: &CallCeiling<'_>, sessions: &DatabaseSessions<'_>) -> RankedFinding {
    let calls = ceiling.calls_max + ceiling.calls_elsewhere;
    if sessions.in_transaction >= POOL_WORKERS_PER_CALL_MIN * calls && sessions.in_transaction >= calls + 1.5 {
        pool(ceiling, sessions)
    } else if (sessions.in_transaction - calls).abs() <= (BUSY_WORKERS_DIFFERENCE_MAX * calls).max(0.6) {
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
    ceiling_finding(ceiling, "lock", if ceiling.explains_all() { Confidence::High } else { Confidence::Medium }, claim)
        .with(Quantity::count("sessions_waiting", sessions.waiting_for_locks))
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
    ceiling_finding(ceiling, POOL_RULE, if ceiling.explains_all() { Confidence::High } else { Confidence::Medium }, claim)
        .with(Quantity::count("workers", callers))
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
             from {} to about {}, which {callers:.0} connections can carry.",
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
             pool that they need are in use; {rates}",
            ceiling.endpoint.name
        ),
    };
    let elsewhere = elsewhere(ceiling).map_or_else(String::new, |calls| format!(", and {calls}"));
    ceiling_finding(ceiling, "workers", if ceiling.explains_all() { Confidence::High } else { Confidence::Medium }, claim)
        .with(Quantity::count("workers", callers + ceiling.calls_elsewhere))
        .with(Quantity::rate("throughput", ceiling.waiting.throughput))
        .with(Quantity::rate("started", ceiling.waiting.started))
        .rests_on(
            format!("{:.1} database transactions were open meanwhile: one per call{elsewhere}", sessions.in_transaction),
            vec![sessions.transactions.name()],
            (ceiling.from, ceiling.to),
        )
        .weigh(Alternative::ruled_out(
            "A pool of connections to the called endpoint",
            "no more transactions were open than there were calls",
        ))
        .weigh(database_pool(facts, ceiling))
        .weigh(a_lock(sessions))
        .try_next(more_workers(facts, ceiling, callers))
}

/// The number of workers: the calls at the ceiling, or one less where most readings show one transaction less and the mean allows it. A call may be
/// counted before the previous call of its worker has ended, and readings may coincide with the arrival of work.
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
    let waiting = format!("{:.1} sessions waited for one", sessions.waiting_for_locks);
    if sessions.waiting_for_locks < 0.5 { Alternative::ruled_out("A lock", waiting) } else { Alternative::not_ruled_out("A lock", waiting) }
}

/// A database pool smaller than the number of workers. Workers without a connection have no transaction, so only the pool's metrics show them.
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

/// The number that is needed follows from the journeys that finish. Where keys of the flow did not match, it is unknown.
fn more_workers(facts: &Facts<'_>, ceiling: &CallCeiling<'_>, callers: f64) -> String {
    let flow = facts.tally.flows().iter().find(|flow| ceiling.waiting.flow.as_deref() == Some(&*flow.merged.name));
    let unmatched = flow.map(|flow| &flow.merged).filter(|merged| merged.unmatched as f64 > UNMATCHED_PART_MAX * merged.finished as f64);
    if let Some(merged) = unmatched {
        return format!(
            "Add workers, or make the calls shorter. The number needed is unknown, because keys of \"{}\" do not match: {} finished without a \
             start, and {} with one.",
            merged.name,
            loadstone_units::count(merged.unmatched),
            loadstone_units::count(merged.finished)
        );
    }
    let needed = ceiling.callers_needed() * callers / ceiling.calls_max;
    format!(
        "Work that arrives at {} keeps {needed:.1} workers busy (rate × time per call). Use more than {:.0}, or about {:.0} for a reserve of a \
         fifth. Or make the calls shorter.",
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
    let mut found = ceiling_finding(ceiling, "effective-concurrency", Confidence::Medium, claim);
    if ceiling.calls_max > 1.5 && !matches.is_empty() {
        let shown = matches[..matches.len().min(NAMES_MAX)].join(", ");
        found = found.rests_on(format!("signals with this value throughout: {shown}"), matches, (ceiling.from, ceiling.to));
    }
    found.weigh(Alternative::not_ruled_out("Workers, a pool or a lock", "the observations do not show which of them it is")).try_next(
        format!(
            "Observe the caller's database ({}: open transactions, lock waits) or its metrics ({}: pool size, threads). {}",
            facts.terms().named(&["postgres"]),
            facts.terms().named(&["prometheus"]),
            more_workers(facts, ceiling, ceiling.calls_max)
        ),
    )
}

/// A resource that was exhausted while the calls took only a part of the callers' time.
fn exhausted_meanwhile<'f, 'a>(facts: &'f Facts<'a>, ceiling: &CallCeiling<'_>) -> Option<&'f Exhausted<'a>> {
    let is_meanwhile =
        |of: &&Exhausted<'_>| of.to.min(ceiling.to) - of.from.max(ceiling.from) >= EXHAUSTED_PART_MIN * (ceiling.to - ceiling.from);
    if ceiling.explains_all() { None } else { facts.used_up().find(is_meanwhile) }
}

/// Callers that are all busy, but not only with their calls. Additional callers would share the exhausted resource, so it ranks first.
fn behind_exhausted(ceiling: &CallCeiling<'_>, exhausted: &Exhausted<'_>, mut found: RankedFinding) -> RankedFinding {
    found.standing = Standing::Consequence;
    found.finding.claim = format!(
        "Calls to \"{}\" go out at most {:.0} at a time, and take {} of their callers' time",
        ceiling.endpoint.name,
        ceiling.calls_max,
        loadstone_units::share(ceiling.busy())
    );
    let (from, to) = (clock(exhausted.from), clock(exhausted.to));
    found
        .with(Quantity::share("callers_time", ceiling.busy()))
        .weigh(Alternative::not_ruled_out(
            exhausted.resource.name(),
            format!("it was exhausted from {from} to {to}, and additional callers would share it"),
        ))
        .try_next("Fix the exhausted resource first. Add callers if the number of calls at once is still the same after that.")
}

/// A finding with the evidence about the calls.
fn ceiling_finding(ceiling: &CallCeiling<'_>, rule: &'static str, confidence: Confidence, claim: String) -> RankedFinding {
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
    let (endpoint, span) = (&ceiling.endpoint, (ceiling.from, ceiling.to));
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
    RankedFinding::new(standing, rule, Subject::endpoint(ceiling.endpoint.name), confidence, claim)
        .with(Quantity::count("calls_at_once_max", ceiling.calls_max))
        .rests_on_drawn(match &endpoint.in_flight_max {
            Some(most) => Evidence::new(text, series, span).level(&most.name(), "at most", ceiling.calls_max, span),
            None => Evidence::new(text, series, span),
        })
        .rests_on(waited, waiting.columns(), (waiting.from, waiting.load_to))
}

/// Weighs the other causes that could hold up the callers.
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
