//! Callers that are all busy calling: what limits the number of calls at once. What the database's sessions did meanwhile tells whether it is a lock,
//! a pool or the number of workers.

use super::ranked::{GeneratorDoubt, RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::facts::calls_at_once::CallCeiling;
use crate::facts::sessions::DatabaseSessions;

/// A pool is too small where the workers are this many times the ceiling; all workers are busy where they differ from it by no more than this share.
const MORE_WORKERS: f64 = 1.25;
const SAME_WORKERS: f64 = 0.15;
/// Signals that are named because they stood at the ceiling.
const NAMES_MAX: usize = 4;

/// What lets only so many through: a lock, a pool, the number of workers; or, without the evidence to tell, the number alone.
pub(super) fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let ceiling = facts.call_ceiling.as_ref()?;
    let found = match &facts.sessions_at_ceiling {
        Some(sessions) if ceiling.calls_max < 1.5 && sessions.waiting_for_locks >= 1.0 => behind_a_lock(ceiling, sessions),
        Some(sessions)
            if sessions.in_transaction >= MORE_WORKERS * ceiling.calls_max && sessions.in_transaction >= ceiling.calls_max + 1.5 =>
        {
            pool(ceiling, sessions)
        }
        Some(sessions) if (sessions.in_transaction - ceiling.calls_max).abs() <= (SAME_WORKERS * ceiling.calls_max).max(0.6) => {
            all_busy(ceiling, sessions)
        }
        _ => unknown(facts, ceiling),
    };
    let doubt = if ceiling.waiting.dwarfs_generator(facts.tally) { GeneratorDoubt::None } else { GeneratorDoubt::Possible };
    Some(RankedFinding { doubt, ..with_alternatives(ceiling, found) })
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
                units::share(sessions.locked_share)
            ),
            series,
            (ceiling.from, ceiling.to),
        )
        .or(format!(
            "A single worker would show the same number of calls. Ruled out: {:.0} others waited for a lock at the same time.",
            sessions.waiting_for_locks
        ))
        .try_next(
            "Let workers skip locked rows (FOR UPDATE SKIP LOCKED), or end the transaction before the call. Run again: throughput \
             should rise with the number of workers.",
        )
}

fn pool(ceiling: &CallCeiling<'_>, sessions: &DatabaseSessions<'_>) -> RankedFinding {
    let claim = format!(
        "Calls to \"{}\" go out {:.0} at a time, though {:.0} workers have one to make: a pool of {:.0} connections is too small for \
         the workers that share it",
        ceiling.endpoint.name, ceiling.calls_max, sessions.in_transaction, ceiling.calls_max
    );
    begun(ceiling, "connection-pool", if ceiling.explains_all() { Confidence::High } else { Confidence::Medium }, claim)
        .rests_on(
            format!(
                "{:.1} database transactions were open with no statement running: workers that hold work and wait, {:.1} more than \
             there were calls",
                sessions.in_transaction,
                sessions.in_transaction - ceiling.calls.0
            ),
            vec![sessions.transactions.name()],
            (ceiling.from, ceiling.to),
        )
        .or("Too few workers. Ruled out: more of them held work than there were calls.")
        .or(format!("A lock. Ruled out: {:.1} sessions waited for one.", sessions.waiting_for_locks))
        .try_next(format!(
            "Give the client that calls \"{}\" as many connections as there are workers ({:.0}), and run again: throughput should rise \
             from {} to what {:.0} can carry, about {}.",
            ceiling.endpoint.name,
            sessions.in_transaction,
            units::rate(ceiling.waiting.throughput),
            sessions.in_transaction,
            units::rate(ceiling.waiting.throughput * sessions.in_transaction / ceiling.calls_max)
        ))
}

fn all_busy(ceiling: &CallCeiling<'_>, sessions: &DatabaseSessions<'_>) -> RankedFinding {
    let claim = format!(
        "Calls to \"{}\" go out {:.0} at a time: all {:.0} workers are busy with one, {} leave while {} arrive, and nothing else is at \
         its limit",
        ceiling.endpoint.name,
        ceiling.calls_max,
        ceiling.calls_max,
        units::rate(ceiling.waiting.throughput),
        units::rate(ceiling.waiting.started)
    );
    begun(ceiling, "workers", if ceiling.explains_all() { Confidence::High } else { Confidence::Medium }, claim)
        .rests_on(
            format!(
                "{:.1} database transactions were open meanwhile: one per call, and nobody waits for a connection",
                sessions.in_transaction
            ),
            vec![sessions.transactions.name()],
            (ceiling.from, ceiling.to),
        )
        .or("A pool smaller than the number of workers. Ruled out: no more transactions were open than there were calls.")
        .or(format!("A lock. Ruled out: {:.1} sessions waited for one.", sessions.waiting_for_locks))
        .try_next(more_workers(ceiling))
}

fn more_workers(ceiling: &CallCeiling<'_>) -> String {
    format!(
        "Work that arrives at {} keeps {:.1} of them busy (rate × time per call): have more than {:.0}, and about {:.0} for a fifth to \
         spare. Or make the calls shorter.",
        units::rate(ceiling.waiting.started),
        ceiling.callers_needed(),
        ceiling.callers_needed().floor(),
        (ceiling.callers_needed() / 0.8).ceil()
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
    found.or("Workers, a pool or a lock: these signals do not tell which of them it is, and none is ruled out.").try_next(format!(
        "Observe the caller's database (observe.postgres: open transactions, lock waits) or its metrics (observe.prometheus: pool \
             size, threads). If it is the workers, add some. {}",
        more_workers(ceiling)
    ))
}

/// The finding with the evidence that all of them rest on.
fn begun(ceiling: &CallCeiling<'_>, rule: &str, confidence: Confidence, claim: String) -> RankedFinding {
    let waiting = &ceiling.waiting;
    let (standing, confidence) = match waiting.is_unstable() {
        true => (Standing::Cause, confidence),
        false => (Standing::Passing, confidence.min(Confidence::Medium)),
    };
    let hold = ceiling.hold().map_or_else(String::new, |hold| {
        format!("; {} × {} each = {:.1}", units::rate(waiting.throughput), units::seconds(hold), waiting.throughput * hold)
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
        units::share(ceiling.at_ceiling)
    );
    let endpoint = &ceiling.endpoint;
    let series =
        [&endpoint.in_flight_max, &endpoint.in_flight, &endpoint.calls].into_iter().flatten().map(|readings| readings.name()).collect();
    let waited = if waiting.is_unstable() {
        let (growth, half) = waiting.growth;
        format!(
            "{} arrived at {} and left at {}: the backlog grew by {:.1} per second (95 % interval {:.1}–{:.1})",
            waiting.what(),
            units::rate(waiting.started),
            units::rate(waiting.finished),
            growth,
            growth - half,
            growth + half
        )
    } else {
        format!("{} waited for {}, and then no longer", waiting.what(), units::seconds(waiting.to - waiting.from))
    };
    RankedFinding::new(standing, rule, confidence, claim).rests_on(text, series, (ceiling.from, ceiling.to)).rests_on(
        waited,
        waiting.columns(),
        (waiting.from, waiting.load_to),
    )
}

/// What else could have held up the callers, with its numbers.
fn with_alternatives(ceiling: &CallCeiling<'_>, found: RankedFinding) -> RankedFinding {
    let found = if ceiling.explains_all() {
        found.or(format!(
            "A busy CPU, disk or database on the callers' side. Ruled out: the calls themselves took {} of their time.",
            units::share(ceiling.busy())
        ))
    } else {
        found
    };
    match ceiling.hold_in_halves() {
        Some((before, after)) if after > 1.5 * before => found.or(format!(
            "\"{}\" slowed down from {} to {}: that is what exposed the limit.",
            ceiling.endpoint.name,
            units::seconds(before),
            units::seconds(after)
        )),
        Some((before, after)) => found.or(format!(
            "A slower \"{}\". Ruled out: it held calls for {} in the first half and {} in the second.",
            ceiling.endpoint.name,
            units::seconds(before),
            units::seconds(after)
        )),
        None => found,
    }
}
