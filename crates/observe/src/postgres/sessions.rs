//! Active sessions by what they wait for and what they run, averaged over samples; who blocks whom.

use std::collections::{BTreeMap, HashSet};

use tokio_postgres::{Client, Statement};

use super::{say, statement::normalise};
use crate::readings::Readings;

/// Statements told apart over a run; later ones are `(other)`.
const STATEMENTS_MAX: usize = 100;

/// Pairs of waiting and blocking statement told apart over a run.
const PAIRS_MAX: usize = 200;

/// Sums over the samples since the last report.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    samples: f64,
    by_wait: BTreeMap<String, f64>,
    by_statement: BTreeMap<String, f64>,
    by_blocker: BTreeMap<(String, String), f64>,
    blocked: f64,
    longest_lock_wait_s: f64,
    /// Everything reported once is reported again, as 0, so that its line goes down.
    known: Known,
}

#[derive(Debug, Default)]
struct Known {
    waits: HashSet<String>,
    statements: HashSet<String>,
    blockers: HashSet<(String, String)>,
}

pub(super) const SAMPLE: &str = "select coalesce(wait_event_type || ':' || wait_event, 'CPU'), left(query, 400), count(*)::float8 \
    from pg_stat_activity where state = 'active' and backend_type in ('client backend', 'parallel worker') and pid <> pg_backend_pid() \
    and datname = current_database() group by 1, 2";

pub(super) const LOCKS: &str = "select left(w.query, 400), left(b.query, 400), w.pid, \
    greatest(extract(epoch from clock_timestamp() - w.state_change), 0)::float8 \
    from pg_stat_activity w cross join lateral unnest(pg_blocking_pids(w.pid)) as blocker(pid) join pg_stat_activity b on b.pid = blocker.pid \
    where w.wait_event_type = 'Lock' and w.datname = current_database() and w.pid <> pg_backend_pid() limit 200";

impl Sessions {
    /// # Errors
    /// When the server does not answer.
    pub(super) async fn sample(&mut self, client: &Client, statement: &Statement) -> Result<(), String> {
        let rows = client.query(statement, &[]).await.map_err(|problem| say("cannot read pg_stat_activity", &problem))?;
        self.samples += 1.0;
        for row in rows {
            let (wait, query, count) = (row.get::<_, String>(0), row.get::<_, Option<String>>(1), row.get::<_, f64>(2));
            *self.by_wait.entry(wait).or_default() += count;
            let statement = self.known_statement(&query.unwrap_or_default());
            *self.by_statement.entry(statement).or_default() += count;
        }
        Ok(())
    }

    /// Asked once per report, since `pg_blocking_pids` holds the lock manager shortly.
    ///
    /// # Errors
    /// When the server does not answer.
    pub(super) async fn sample_locks(&mut self, client: &Client, statement: &Statement) -> Result<(), String> {
        let rows = client.query(statement, &[]).await.map_err(|problem| say("cannot read who blocks whom", &problem))?;
        let mut blocked = HashSet::new();
        for row in rows {
            let (waiting, blocking) = (row.get::<_, Option<String>>(0), row.get::<_, Option<String>>(1));
            blocked.insert(row.get::<_, i32>(2));
            self.longest_lock_wait_s = self.longest_lock_wait_s.max(row.get(3));
            let pair = (self.known_statement(&waiting.unwrap_or_default()), self.known_statement(&blocking.unwrap_or_default()));
            if self.known.blockers.len() >= PAIRS_MAX && !self.known.blockers.contains(&pair) {
                continue;
            }
            *self.by_blocker.entry(pair).or_default() += 1.0;
        }
        self.blocked = blocked.len() as f64;
        Ok(())
    }

    fn known_statement(&mut self, sql: &str) -> String {
        let statement = normalise(sql);
        if self.known.statements.contains(&statement) {
            return statement;
        }
        if self.known.statements.len() >= STATEMENTS_MAX {
            return "(other)".to_owned();
        }
        self.known.statements.insert(statement.clone());
        statement
    }

    pub(super) fn report(&mut self, out: &mut Readings) {
        let samples = self.samples.max(1.0);
        // An idle server has this one line, at 0, so that no sessions are told from no readings.
        self.known.waits.insert("CPU".to_owned());
        self.known.waits.extend(self.by_wait.keys().cloned());
        self.known.blockers.extend(self.by_blocker.keys().cloned());
        let total: f64 = self.by_wait.values().sum();
        out.gauge("active", "sessions", "Sessions that run a statement, mean over the samples", total / samples);
        for wait in &self.known.waits {
            let mean = self.by_wait.get(wait).copied().unwrap_or(0.0) / samples;
            out.gauge(
                &format!("sessions{{wait={wait}}}"),
                "sessions",
                "Active sessions by what they wait for, mean over the samples",
                mean,
            );
        }
        for statement in self.known.statements.iter().chain(self.by_statement.contains_key("(other)").then_some(&"(other)".to_owned())) {
            let mean = self.by_statement.get(statement).copied().unwrap_or(0.0) / samples;
            let metric = format!("sessions_by_statement{{statement={statement}}}");
            out.gauge(&metric, "sessions", "Active sessions by statement, mean over the samples", mean);
        }
        out.gauge("blocked", "sessions", "Sessions that wait for a lock another session holds", self.blocked);
        out.gauge("longest_lock_wait", "seconds", "Longest of these waits so far", self.longest_lock_wait_s);
        for pair in &self.known.blockers {
            let count = self.by_blocker.get(pair).copied().unwrap_or(0.0);
            let metric = format!("blocked_by{{statement={},by={}}}", pair.0, pair.1);
            out.gauge(&metric, "sessions", "Sessions that wait for a lock, by their statement and the blocker's", count);
        }
        *self = Self { known: std::mem::take(&mut self.known), ..Self::default() };
    }
}
