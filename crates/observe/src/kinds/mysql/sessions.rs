//! Active sessions of one moment, and who waits for whose lock.

use std::collections::BTreeMap;

use super::connection::{MysqlError, MysqlServer, number, text};
use super::features::MysqlFeatures;
use super::waits::{self, ActiveSession};
use crate::database::sessions::{LockWait, SessionSamples};

/// # Errors
/// When the server does not respond.
pub(super) async fn sample(server: &mut MysqlServer, features: &MysqlFeatures, samples: &mut SessionSamples) -> Result<(), MysqlError> {
    let rows = server.rows("cannot read the sessions", &features.sample).await?;
    // A session may be in an event within an event: what it waits for is the innermost, which began last.
    let mut sessions = BTreeMap::<u64, (f64, ActiveSession)>::new();
    for row in &rows {
        let event = number(row, 4);
        let session = ActiveSession {
            state: text(row, 1).unwrap_or_default(),
            statement: waits::without_quotes(&text(row, 2).unwrap_or_default()),
            waits_for_row: number(row, 3) > 0.0,
            event: text(row, 5),
        };
        let id = number(row, 0) as u64;
        if sessions.get(&id).is_none_or(|(earlier, _)| *earlier < event) {
            sessions.insert(id, (event, session));
        }
    }
    samples.begin_sample();
    for (_, session) in sessions.into_values() {
        samples.add(session.wait(), &session.statement, 1.0);
    }
    Ok(())
}

/// # Errors
/// When the server does not respond.
pub(super) async fn sample_locks(
    server: &mut MysqlServer,
    features: &MysqlFeatures,
    samples: &mut SessionSamples,
) -> Result<(), MysqlError> {
    let mut rows = server.rows("cannot read who blocks whom", &features.locks).await?;
    if let Some(metadata_locks) = &features.metadata_locks {
        rows.extend(server.rows("cannot read who holds metadata locks", metadata_locks).await?);
    }
    let statement = |row, column| waits::without_quotes(&text(row, column).unwrap_or_default());
    let waits = rows.iter().map(|row| LockWait {
        session: number(row, 0) as i64,
        statement: statement(row, 1),
        by: statement(row, 2),
        holder: text(row, 4).unwrap_or_default(),
        seconds: number(row, 3),
    });
    samples.set_lock_waits(&waits.collect::<Vec<_>>());
    Ok(())
}
