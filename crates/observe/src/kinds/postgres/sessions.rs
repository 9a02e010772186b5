//! What PostgreSQL's sessions wait for, and who blocks whom.

use loadstone_metrics::Role;
use tokio_postgres::{Client, Statement};

use super::connection::PostgresError;
use crate::database::sessions::{LockWait, ON_CPU, SessionSamples};

/// Waits until a commit's log is written, on disk, or at a replica. Version 17 capitalizes some of them differently.
const COMMIT_WAITS: [&str; 5] = ["IO:WALSync", "IO:WALWrite", "LWLock:WALWrite", "LWLock:WALInsert", "IPC:SyncRep"];

/// The role of a wait event (docs of PostgreSQL, "Wait Events of Type …").
pub(super) fn role_of_wait(wait: &str) -> Role {
    let begins = |starts: &[&str]| starts.iter().any(|start| wait.starts_with(start));
    match wait {
        ON_CPU => Role::SessionsOnCpu,
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
    greatest(extract(epoch from clock_timestamp() - w.state_change), 0)::float8, coalesce(nullif(b.application_name, ''), b.usename::text) \
    from pg_stat_activity w cross join lateral unnest(pg_blocking_pids(w.pid)) as blocker(pid) join pg_stat_activity b on b.pid = blocker.pid \
    where w.wait_event_type = 'Lock' and w.datname = current_database() and w.pid <> pg_backend_pid() limit 1000";

/// # Errors
/// When the server does not respond.
pub(super) async fn sample(client: &Client, statement: &Statement, sessions: &mut SessionSamples) -> Result<(), PostgresError> {
    let rows = client.query(statement, &[]).await.map_err(PostgresError::doing("cannot read pg_stat_activity"))?;
    sessions.begin_sample();
    for row in rows {
        sessions.add(row.get(0), row.get::<_, Option<&str>>(1).unwrap_or_default(), row.get(2));
    }
    Ok(())
}

/// Runs once per report, because `pg_blocking_pids` briefly locks the lock manager.
///
/// # Errors
/// When the server does not respond.
pub(super) async fn sample_locks(client: &Client, statement: &Statement, sessions: &mut SessionSamples) -> Result<(), PostgresError> {
    let rows = client.query(statement, &[]).await.map_err(PostgresError::doing("cannot read who blocks whom"))?;
    let text = |row: &tokio_postgres::Row, column: usize| row.get::<_, Option<String>>(column).unwrap_or_default();
    let waits = rows.iter().map(|row| LockWait {
        session: row.get::<_, i32>(2).into(),
        statement: text(row, 0),
        by: text(row, 1),
        holder: text(row, 4),
        seconds: row.get(3),
    });
    sessions.set_lock_waits(&waits.collect::<Vec<_>>());
    Ok(())
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
