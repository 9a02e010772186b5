//! How long a service waits for a database connection, compared with how long the database takes for a statement.
//!
//! A service sees both as one time: its telemetry shows a slow statement, while the database's own shows a fast one. The mean wait for a connection is the
//! pool's wait time divided by its acquisitions.

use loadstone_metrics::Role;

use super::signals::{ObservedPart, ObservedSignals};

/// Acquisitions and executions per second that their means need.
const RATE_MIN: f64 = 1.0;

/// One pool of connections and one statement.
pub(crate) struct Acquiring<'a> {
    pub(crate) pool: &'a str,
    /// Mean wait for a connection. Seconds.
    pub(crate) waited_s: f64,
    /// The statement with the most executions.
    pub(crate) statement: &'a str,
    /// Its mean time, as the database measured it. Seconds.
    pub(crate) took_s: f64,
    pub(crate) series: Vec<String>,
}

/// For the pool with the longest wait. `None` where no pool records its wait time, or no database the times of its statements.
pub(crate) fn between<'a>(signals: &ObservedSignals<'a>, (from, to): (f64, f64)) -> Option<Acquiring<'a>> {
    let waits = signals.parts_with(Role::PoolAcquisitions).filter_map(|pool| {
        let acquired = signals.mean(pool, Role::PoolAcquisitions, from, to).filter(|rate| *rate >= RATE_MIN)?;
        let waiting = signals.read(pool, Role::PoolWaitTime)?;
        Some((pool, waiting.mean(from, to)? / acquired, waiting.name()))
    });
    let (pool, waited_s, wait_series) = waits.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = signals.parts_with(Role::StatementCalls).filter_map(|database| most_executed(signals, database, (from, to)));
    let (_, statement, took_s, series) = most.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let pool = if pool.part.is_empty() { pool.observer } else { pool.part };
    Some(Acquiring { pool, waited_s, statement, took_s, series: vec![wait_series, series] })
}

/// Executions per second, the statement, its mean time, and the signal of that time. Only of statements that read: their time includes no wait for a commit.
fn most_executed<'a>(
    signals: &ObservedSignals<'a>,
    database: ObservedPart<'a>,
    (from, to): (f64, f64),
) -> Option<(f64, &'a str, f64, String)> {
    let times = signals.read_each(database, Role::StatementTime);
    let calls = signals.read_each(database, Role::StatementCalls);
    let executed = calls.iter().filter_map(|readings| Some((readings.label("statement")?, readings.mean(from, to)?)));
    let reads = executed
        .filter(|(statement, rate)| *rate >= RATE_MIN && statement.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("select ")));
    let (statement, rate) = reads.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let time = times.iter().find(|readings| readings.label("statement") == Some(statement))?;
    Some((rate, statement, time.mean(from, to)? / rate, time.name()))
}
