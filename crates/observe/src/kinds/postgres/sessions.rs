//! Active sessions by what they wait for and what they run, averaged over samples; who blocks whom.

use std::collections::{BTreeMap, HashMap, HashSet};

use tokio_postgres::{Client, Statement};

use metrics::{Role, unit};

use super::connection::PostgresError;
use super::statement::normalise;
use crate::collector::{MetricSpec, SignalCollector};

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
    reported: ReportedBefore,
}

#[derive(Debug, Default)]
struct ReportedBefore {
    waits: HashSet<String>,
    statements: HashSet<String>,
    blockers: HashSet<(String, String)>,
}

const ACTIVE: MetricSpec<'_> =
    MetricSpec::gauge("active", unit::SESSIONS, "Sessions that run a statement, mean over the samples").role(Role::SessionsActive);
const BY_WAIT: MetricSpec<'_> =
    MetricSpec::gauge("sessions", unit::SESSIONS, "Active sessions by what they wait for, mean over the samples");
const BY_STATEMENT: MetricSpec<'_> =
    MetricSpec::gauge("sessions_by_statement", unit::SESSIONS, "Active sessions by statement, mean over the samples")
        .role(Role::SessionsByStatement);
const BLOCKED: MetricSpec<'_> =
    MetricSpec::gauge("blocked", unit::SESSIONS, "Sessions that wait for a lock another session holds").role(Role::SessionsBlocked);
const LONGEST_LOCK_WAIT: MetricSpec<'_> = MetricSpec::gauge("longest_lock_wait", unit::SECONDS, "Longest of these waits so far");
const BLOCKED_BY: MetricSpec<'_> = MetricSpec::gauge(
    "blocked_by",
    unit::SESSIONS,
    "Sessions that wait for a lock, by their statement and the last one of the session that holds it",
)
.role(Role::SessionsBlockedBy);

/// Until a commit's log is written, on disk, or at a replica. Version 17 writes some of them in other capitals.
const COMMIT_WAITS: [&str; 5] = ["IO:WALSync", "IO:WALWrite", "LWLock:WALWrite", "LWLock:WALInsert", "IPC:SyncRep"];

/// What a wait event means (docs of PostgreSQL, "Wait Events of Type …").
fn role_of_wait(wait: &str) -> Role {
    let begins = |starts: &[&str]| starts.iter().any(|start| wait.starts_with(start));
    match wait {
        "CPU" => Role::SessionsOnCpu,
        _ if begins(&["Lock:"]) => Role::SessionsWaitingForLock,
        _ if COMMIT_WAITS.iter().any(|commit| commit.eq_ignore_ascii_case(wait)) => Role::SessionsWaitingForCommit,
        _ if begins(&["IO:DataFile", "IO:Buff"]) => Role::SessionsWaitingForRead,
        _ if begins(&["Client:", "Timeout:", "Activity:", "Extension:"]) => Role::SessionsWaitingIdle,
        _ => Role::SessionsWaitingForOther,
    }
}

pub(super) const SAMPLE: &str = "select coalesce(wait_event_type || ':' || wait_event, 'CPU'), left(query, 2000), count(*)::float8 \
    from pg_stat_activity where state = 'active' and backend_type in ('client backend', 'parallel worker') and pid <> pg_backend_pid() \
    and datname = current_database() group by 1, 2";

pub(super) const LOCKS: &str = "select left(w.query, 2000), left(b.query, 2000), w.pid, \
    greatest(extract(epoch from clock_timestamp() - w.state_change), 0)::float8 \
    from pg_stat_activity w cross join lateral unnest(pg_blocking_pids(w.pid)) as blocker(pid) join pg_stat_activity b on b.pid = blocker.pid \
    where w.wait_event_type = 'Lock' and w.datname = current_database() and w.pid <> pg_backend_pid() limit 1000";

impl Sessions {
    /// # Errors
    /// When the server does not respond.
    pub(super) async fn sample(&mut self, client: &Client, statement: &Statement) -> Result<(), PostgresError> {
        let rows = client.query(statement, &[]).await.map_err(PostgresError::doing("cannot read pg_stat_activity"))?;
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
    /// When the server does not respond.
    pub(super) async fn sample_locks(&mut self, client: &Client, statement: &Statement) -> Result<(), PostgresError> {
        let rows = client.query(statement, &[]).await.map_err(PostgresError::doing("cannot read who blocks whom"))?;
        // A session may wait behind several, which wait behind each other: it is one session nevertheless.
        let mut blockers = HashMap::<i32, f64>::new();
        rows.iter().for_each(|row| *blockers.entry(row.get(2)).or_default() += 1.0);
        for row in &rows {
            let (waiting, blocking) = (row.get::<_, Option<String>>(0), row.get::<_, Option<String>>(1));
            self.longest_lock_wait_s = self.longest_lock_wait_s.max(row.get(3));
            let pair = (self.known_statement(&waiting.unwrap_or_default()), self.known_statement(&blocking.unwrap_or_default()));
            if self.reported.blockers.len() >= PAIRS_MAX && !self.reported.blockers.contains(&pair) {
                continue;
            }
            *self.by_blocker.entry(pair).or_default() += 1.0 / blockers[&row.get::<_, i32>(2)];
        }
        self.blocked = blockers.len() as f64;
        Ok(())
    }

    fn known_statement(&mut self, sql: &str) -> String {
        let statement = normalise(sql);
        if self.reported.statements.contains(&statement) {
            return statement;
        }
        if self.reported.statements.len() >= STATEMENTS_MAX {
            return "(other)".to_owned();
        }
        self.reported.statements.insert(statement.clone());
        statement
    }

    pub(super) fn report(&mut self, out: &mut SignalCollector) {
        let samples = self.samples.max(1.0);
        // An idle server has this one line, at 0, so that no sessions are told from no readings.
        self.reported.waits.insert("CPU".to_owned());
        self.reported.waits.extend(self.by_wait.keys().cloned());
        self.reported.blockers.extend(self.by_blocker.keys().cloned());
        let total: f64 = self.by_wait.values().sum();
        out.put(ACTIVE, total / samples);
        for wait in &self.reported.waits {
            let mean = self.by_wait.get(wait).copied().unwrap_or(0.0) / samples;
            out.put_labelled(BY_WAIT.role(role_of_wait(wait)), &[("wait", wait)], mean);
        }
        for statement in self.reported.statements.iter().chain(self.by_statement.contains_key("(other)").then_some(&"(other)".to_owned())) {
            let mean = self.by_statement.get(statement).copied().unwrap_or(0.0) / samples;
            out.put_labelled(BY_STATEMENT, &[("statement", statement)], mean);
        }
        out.put(BLOCKED, self.blocked);
        out.put(LONGEST_LOCK_WAIT, self.longest_lock_wait_s);
        for pair in &self.reported.blockers {
            let count = self.by_blocker.get(pair).copied().unwrap_or(0.0);
            out.put_labelled(BLOCKED_BY, &[("statement", &pair.0), ("by", &pair.1)], count);
        }
        *self = Self { reported: std::mem::take(&mut self.reported), ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_event_has_a_meaning() {
        for (wait, role) in [
            ("CPU", Role::SessionsOnCpu),
            ("Lock:tuple", Role::SessionsWaitingForLock),
            ("Lock:transactionid", Role::SessionsWaitingForLock),
            ("LWLock:LockManager", Role::SessionsWaitingForOther),
            ("IO:WALSync", Role::SessionsWaitingForCommit),
            ("IO:WalSync", Role::SessionsWaitingForCommit),
            ("IPC:SyncRep", Role::SessionsWaitingForCommit),
            ("IO:DataFileRead", Role::SessionsWaitingForRead),
            ("IO:BuffileRead", Role::SessionsWaitingForRead),
            ("Client:ClientRead", Role::SessionsWaitingIdle),
            ("Timeout:PgSleep", Role::SessionsWaitingIdle),
            ("IPC:BufferIO", Role::SessionsWaitingForOther),
        ] {
            assert_eq!(role_of_wait(wait), role, "{wait}");
        }
    }
}
