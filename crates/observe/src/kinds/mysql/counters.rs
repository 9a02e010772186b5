//! Totals of the server and of its statements, and connections by state.

use std::collections::HashMap;

use loadstone_metrics::{Role, unit};

use super::connection::{MysqlError, MysqlServer, number, text};
use super::features::MysqlFeatures;
use super::waits::without_quotes;
use crate::collector::{MetricSpec, SignalCollector};
use crate::database::totals;

/// Variables of `SHOW GLOBAL STATUS`; the first that the server has counts. MariaDB counts rows only by handler.
const STATUS: [(&[&str], MetricSpec<'_>); 23] = [
    (&["Questions"], MetricSpec::counter("statements", unit::COUNT, "Statements that clients sent").role(Role::Statements)),
    (&["Com_commit"], MetricSpec::counter("commit_statements", unit::COUNT, "COMMIT statements; autocommitted statements need none")),
    (&["Com_rollback"], MetricSpec::counter("rollbacks", unit::COUNT, "ROLLBACK statements")),
    (&["Innodb_rows_read", "Rows_read"], MetricSpec::counter("rows_read", unit::COUNT, "Rows read")),
    (&["Innodb_rows_inserted", "Handler_write"], MetricSpec::counter("rows_inserted", unit::COUNT, "Rows inserted")),
    (&["Innodb_rows_updated", "Handler_update"], MetricSpec::counter("rows_updated", unit::COUNT, "Rows updated")),
    (&["Innodb_rows_deleted", "Handler_delete"], MetricSpec::counter("rows_deleted", unit::COUNT, "Rows deleted")),
    (&["Innodb_row_lock_waits"], MetricSpec::counter("row_lock_waits", unit::COUNT, "Waits for a row lock")),
    (&["Innodb_deadlocks"], MetricSpec::counter("deadlocks", unit::COUNT, "Deadlocks")),
    (&["Innodb_log_waits"], MetricSpec::counter("redo_waits", unit::COUNT, "Times that the redo log's buffer was full")),
    (&["Innodb_os_log_written"], MetricSpec::counter("redo_bytes", unit::BYTES, "Redo log written")),
    (&["Innodb_os_log_fsyncs"], MetricSpec::counter("redo_syncs", unit::COUNT, "Flushes of the redo log to disk")),
    (&["Innodb_data_fsyncs"], MetricSpec::counter("data_syncs", unit::COUNT, "Flushes of InnoDB's files to disk")),
    (&["Binlog_bytes_written"], MetricSpec::counter("binlog_bytes", unit::BYTES, "Binary log written")),
    (
        &["Binlog_group_commits"],
        MetricSpec::counter("group_commits", unit::COUNT, "Groups of transactions written to the binary log together"),
    ),
    (
        &["Binlog_cache_disk_use"],
        MetricSpec::counter("binlog_cache_disk", unit::COUNT, "Transactions too large for the binary log's cache"),
    ),
    (&["Innodb_buffer_pool_read_requests"], MetricSpec::counter("pages_read", unit::COUNT, "Pages requested from the buffer pool")),
    (&["Innodb_buffer_pool_reads"], MetricSpec::counter("pages_missed", unit::COUNT, "Requested pages that were read from disk")),
    (&["Slow_queries"], MetricSpec::counter("slow_statements", unit::COUNT, "Statements slower than long_query_time")),
    (&["Connections"], MetricSpec::counter("connections_made", unit::COUNT, "Attempts to connect")),
    (
        &["Connection_errors_max_connections"],
        MetricSpec::counter("connections_refused", unit::COUNT, "Connections refused by max_connections").role(Role::ConnectionsRefused),
    ),
    (
        &["Aborted_connects"],
        MetricSpec::counter("connections_failed", unit::COUNT, "Attempts to connect that failed").role(Role::ConnectionsFailed),
    ),
    (&["Innodb_row_lock_current_waits"], MetricSpec::gauge("row_locks_waited_for", unit::COUNT, "Waits for row locks in progress")),
];

/// Further variables, from which signals are computed.
const ROW_LOCK_TIME_MS: &str = "Innodb_row_lock_time";
const BINLOG_TRANSACTIONS: &str = "Binlog_commits";
const BINLOG_CACHE_USES: &str = "Binlog_cache_use";
/// Includes the observer's own connection.
const CONNECTIONS_ALL: &str = "Threads_connected";

const COMMITS: MetricSpec<'_> =
    MetricSpec::counter("commits", unit::COUNT, "Transactions that changed something and were committed").role(Role::Commits);
const GROUP_COMMIT_SIZE: MetricSpec<'_> =
    MetricSpec::gauge("group_commit_size", unit::COUNT, "Mean number of transactions per write to the binary log");
const ROW_LOCK_SECONDS: MetricSpec<'_> = MetricSpec::counter("row_lock_seconds", unit::SECONDS, "Time spent waiting for row locks");
const CONNECTIONS_LIMIT: MetricSpec<'_> = MetricSpec::gauge("connections_limit", unit::COUNT, "max_connections").role(Role::SessionsMax);
const CONNECTIONS_TOTAL: MetricSpec<'_> =
    MetricSpec::gauge("connections_total", unit::COUNT, "Client connections").role(Role::ConnectionsOpen);
const CONNECTIONS_BY_STATE: MetricSpec<'_> = MetricSpec::gauge("connections", unit::COUNT, "Client connections by state");
const OLDEST_TRANSACTION: MetricSpec<'_> = MetricSpec::gauge("oldest_transaction", unit::SECONDS, "Age of the oldest open transaction");
const WAIT_EVENTS: MetricSpec<'_> =
    MetricSpec::gauge("wait_events", unit::COUNT, "1: waits come from the performance schema; 0: from the process list");

/// The counters at the last report, to compute the difference since.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Transactions in the binary log, and groups of them.
    grouped: Option<(f64, f64)>,
}

impl Counters {
    /// # Errors
    /// When the server does not respond.
    pub(super) async fn read(
        &mut self,
        server: &mut MysqlServer,
        features: &MysqlFeatures,
        out: &mut SignalCollector,
    ) -> Result<(), MysqlError> {
        const DOING: &str = "cannot read the server's counters";
        let further = [ROW_LOCK_TIME_MS, BINLOG_TRANSACTIONS, BINLOG_CACHE_USES, CONNECTIONS_ALL];
        let names = STATUS.iter().flat_map(|(names, _)| names.iter().copied()).chain(further);
        let names = names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        let rows = server.rows(DOING, &format!("show global status where Variable_name in ({names})")).await?;
        let status: HashMap<String, f64> = rows.iter().filter_map(|row| Some((text(row, 0)?, number(row, 1)))).collect();
        let of = |name: &str| status.get(name).copied();
        for (names, metric) in STATUS {
            if let Some(value) = names.iter().find_map(|name| of(name)) {
                out.put(metric, value);
            }
        }
        if let Some(all) = of(CONNECTIONS_ALL) {
            out.put(CONNECTIONS_TOTAL, (all - 1.0).max(0.0));
        }
        if let Some(ms) = of(ROW_LOCK_TIME_MS) {
            out.put(ROW_LOCK_SECONDS, ms / 1e3);
        }
        if let (Some(transactions), Some(groups)) = (of(BINLOG_TRANSACTIONS), of("Binlog_group_commits")) {
            self.put_group_size(transactions, groups, out);
        }
        let settings = server.rows(DOING, features.settings).await?;
        let (has_binlog, limit) = settings.first().map_or((false, 0.0), |row| (number(row, 0) == 1.0, number(row, 1)));
        out.put(CONNECTIONS_LIMIT, limit);
        // Commits that bypass the binary log are counted only by InnoDB, and only if its counters are enabled.
        let logged = of(BINLOG_TRANSACTIONS).or_else(|| of(BINLOG_CACHE_USES)).filter(|_| has_binlog);
        let commits = match logged {
            Some(commits) => Some(commits),
            None => innodb_commits(server).await?,
        };
        if let Some(commits) = commits {
            out.put(COMMITS, commits);
        }
        out.put(WAIT_EVENTS, f64::from(u8::from(features.has_wait_events)));
        connections(server, features, out).await?;
        statements(server, features, out).await
    }

    fn put_group_size(&mut self, transactions: f64, groups: f64, out: &mut SignalCollector) {
        if let Some((transactions_before, groups_before)) = self.grouped.replace((transactions, groups))
            && groups > groups_before
        {
            out.put(GROUP_COMMIT_SIZE, (transactions - transactions_before) / (groups - groups_before));
        }
    }
}

/// Read-write transactions, which InnoDB counts if `innodb_monitor_enable` includes `trx_rw_commits`; otherwise `None`.
///
/// # Errors
/// When the server does not respond.
async fn innodb_commits(server: &mut MysqlServer) -> Result<Option<f64>, MysqlError> {
    let sql = "select `count` from information_schema.innodb_metrics where name = 'trx_rw_commits' and time_enabled is not null \
        and time_disabled is null";
    Ok(server.rows("cannot read innodb_metrics", sql).await?.first().map(|row| number(row, 0)))
}

async fn connections(server: &mut MysqlServer, features: &MysqlFeatures, out: &mut SignalCollector) -> Result<(), MysqlError> {
    let rows = server.rows("cannot count connections", &features.connections).await?;
    let of = |state: &str| rows.iter().find(|row| text(row, 0).as_deref() == Some(state)).map(|row| (number(row, 1), number(row, 2)));
    let (active, _) = of("active").unwrap_or_default();
    let (asleep, in_transaction) = of("idle").unwrap_or_default();
    let by_state = |state: &'static str, metric: MetricSpec<'_>, count: f64, out: &mut SignalCollector| {
        out.put_labelled(metric, &[("state", state)], count);
    };
    by_state("active", CONNECTIONS_BY_STATE, active, out);
    by_state("idle", CONNECTIONS_BY_STATE, asleep - in_transaction, out);
    by_state("idle in transaction", CONNECTIONS_BY_STATE.role(Role::SessionsIdleInTransaction), in_transaction, out);
    out.put(OLDEST_TRANSACTION, rows.iter().map(|row| number(row, 3)).fold(0.0, f64::max));
    Ok(())
}

async fn statements(server: &mut MysqlServer, features: &MysqlFeatures, out: &mut SignalCollector) -> Result<(), MysqlError> {
    let Some(sql) = &features.statements else { return Ok(()) };
    let rows = server.rows("cannot read the statements' totals", sql).await?;
    // A digest has blanks around every symbol.
    let statement = |row| without_quotes(&text(row, 0).unwrap_or_default()).replace(" . ", ".");
    totals::put(rows.iter().map(|row| (statement(row), [number(row, 1), number(row, 2), number(row, 3)])), out);
    Ok(())
}
