//! Totals of the database and of its statements, WAL, and connections by state.

use tokio_postgres::{Client, Statement};

use loadstone_metrics::{Role, unit};

use super::connection::PostgresError;
use super::sessions;
use crate::collector::{MetricSpec, SignalCollector};
use crate::database::totals;

/// The queries, prepared once per connection: a sample then costs the server one short transaction and no planning.
pub(super) struct Features {
    pub(super) sample: Statement,
    pub(super) locks: Statement,
    database: Statement,
    wal: Statement,
    connections: Statement,
    limits: Statement,
    /// Query of `pg_stat_statements`, if it exists and may be read.
    statements: Option<Statement>,
}

impl std::fmt::Debug for Features {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Features").field("statements", &self.statements.is_some()).finish_non_exhaustive()
    }
}

impl Features {
    /// # Errors
    /// When the server does not respond.
    pub(super) async fn ask(client: &Client) -> Result<Self, PostgresError> {
        // If the extension is installed but not preloaded, its view fails and is skipped.
        let installed = "select 1 from pg_extension where extname = 'pg_stat_statements'";
        let row = client.query_opt(installed, &[]).await.map_err(PostgresError::doing("cannot read pg_extension"))?;
        let statements = match row {
            Some(_) => client.prepare(STATEMENTS).await.ok(),
            None => None,
        };
        let statements = match statements {
            Some(statement) if client.query(&statement, &[]).await.is_ok() => Some(statement),
            _ => None,
        };
        let prepare = async |sql| client.prepare(sql).await.map_err(PostgresError::doing("cannot prepare what is read"));
        Ok(Self {
            sample: prepare(sessions::SAMPLE).await?,
            locks: prepare(sessions::LOCKS).await?,
            database: prepare(DATABASE).await?,
            wal: prepare(WAL).await?,
            connections: prepare(CONNECTIONS).await?,
            limits: prepare(LIMITS).await?,
            statements,
        })
    }

    /// Transactions of one report, excluding the sample.
    pub(super) fn queries_per_report(&self) -> u64 {
        5 + u64::from(self.statements.is_some())
    }
}

const DATABASE: &str = "select xact_commit::float8, xact_rollback::float8, tup_returned::float8, tup_fetched::float8, tup_inserted::float8, \
    tup_updated::float8, tup_deleted::float8, blks_read::float8, blks_hit::float8, temp_bytes::float8, deadlocks::float8 \
    from pg_stat_database where datname = current_database()";

/// In the order of the columns above.
const DATABASE_METRICS: [MetricSpec<'_>; 11] = [
    MetricSpec::counter("commits", unit::COUNT, "Transactions committed").role(Role::Commits),
    MetricSpec::counter("rollbacks", unit::COUNT, "Transactions rolled back"),
    MetricSpec::counter("rows_read", unit::COUNT, "Rows read by scans"),
    MetricSpec::counter("rows_fetched", unit::COUNT, "Rows fetched by index look-ups"),
    MetricSpec::counter("rows_inserted", unit::COUNT, "Rows inserted"),
    MetricSpec::counter("rows_updated", unit::COUNT, "Rows updated"),
    MetricSpec::counter("rows_deleted", unit::COUNT, "Rows deleted"),
    MetricSpec::counter("blocks_read", unit::COUNT, "Blocks read from outside the buffer cache"),
    MetricSpec::counter("blocks_hit", unit::COUNT, "Blocks found in the buffer cache"),
    MetricSpec::counter("temporary_bytes", unit::BYTES, "Bytes written to temporary files"),
    MetricSpec::counter("deadlocks", unit::COUNT, "Deadlocks"),
];

const WAL_BYTES: MetricSpec<'_> = MetricSpec::counter("wal_bytes", unit::BYTES, "Write-ahead log written");
const CONNECTIONS_LIMIT: MetricSpec<'_> = MetricSpec::gauge("connections_limit", unit::COUNT, "max_connections").role(Role::SessionsMax);
const CONNECTIONS_BY_STATE: MetricSpec<'_> = MetricSpec::gauge("connections", unit::COUNT, "Client connections by state, of all databases");
const CONNECTIONS_TOTAL: MetricSpec<'_> =
    MetricSpec::gauge("connections_total", unit::COUNT, "Client connections, of all databases").role(Role::ConnectionsOpen);
const LIMITED: MetricSpec<'_> =
    MetricSpec::gauge("connections_limited", unit::COUNT, "Client connections of a role or database with a limit")
        .role(Role::LimitedConnections);
const LIMITED_MAX: MetricSpec<'_> =
    MetricSpec::gauge("connections_allowed", unit::COUNT, "Connection limit of a role or database").role(Role::LimitedConnectionsMax);
const OLDEST_TRANSACTION: MetricSpec<'_> = MetricSpec::gauge("oldest_transaction", unit::SECONDS, "Age of the oldest open transaction");

/// States that are always reported, with their roles.
const STATES: [(&str, Option<Role>); 4] = [
    ("active", None),
    ("idle", None),
    ("idle in transaction", Some(Role::SessionsIdleInTransaction)),
    ("idle in transaction (aborted)", None),
];

/// Without `pg_monitor`, the type and the state of another role's session are null, but not its role and database. Only background processes have none.
const CONNECTIONS: &str = "select coalesce(state, 'unknown'), count(*)::float8, \
    coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8 from pg_stat_activity \
    where coalesce(backend_type, 'client backend') = 'client backend' and usesysid is not null and datid is not null \
    and pid <> pg_backend_pid() group by 1";

/// Roles and databases that have a limit, with it and their connections, that of this observer included. A superuser is exempt from the limit of its role.
/// Without `pg_monitor`, the parallel workers of another role count, too.
const LIMITS: &str = "with client as (select usesysid, datid from pg_stat_activity where coalesce(backend_type, 'client backend') = 'client backend') \
    select 'role ' || rolname, rolconnlimit::float8, (select count(*) from client where usesysid = r.oid and datid is not null)::float8 \
    from pg_roles r where rolconnlimit >= 0 and rolcanlogin and not rolsuper union all \
    select 'database ' || datname, datconnlimit::float8, (select count(*) from client where datid = d.oid and usesysid is not null)::float8 \
    from pg_database d where datconnlimit >= 0 order by 1 limit 10";

const WAL: &str = "select case when pg_is_in_recovery() then null else pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 end, \
    current_setting('max_connections')::float8";

/// Columns as of PostgreSQL 13.
const STATEMENTS: &str = "select query, sum(calls)::float8, sum(total_exec_time)::float8 / 1000, sum(rows)::float8 from pg_stat_statements \
    where dbid = (select oid from pg_database where datname = current_database()) group by 1 order by 3 desc limit 30";

/// # Errors
/// When the server does not respond.
pub(super) async fn read(client: &Client, features: &Features, out: &mut SignalCollector) -> Result<(), PostgresError> {
    let failed = PostgresError::doing("cannot read the database's counters");
    let row = client.query_one(&features.database, &[]).await.map_err(&failed)?;
    for (column, metric) in DATABASE_METRICS.into_iter().enumerate() {
        out.put(metric, row.get(column));
    }
    let row = client.query_one(&features.wal, &[]).await.map_err(&failed)?;
    if let Some(bytes) = row.get(0) {
        out.put(WAL_BYTES, bytes);
    }
    out.put(CONNECTIONS_LIMIT, row.get(1));
    connections(client, &features.connections, out).await?;
    limits(client, &features.limits, out).await?;
    if let Some(statement) = &features.statements {
        statements(client, statement, out).await?;
    }
    Ok(())
}

async fn connections(client: &Client, statement: &Statement, out: &mut SignalCollector) -> Result<(), PostgresError> {
    let rows = client.query(statement, &[]).await.map_err(PostgresError::doing("cannot count connections"))?;
    let states: Vec<(String, f64, f64)> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let of = |state: &str| states.iter().find(|(name, ..)| name == state);
    for (state, role) in STATES {
        let count = of(state).map_or(0.0, |(_, count, _)| *count);
        let metric = role.map_or(CONNECTIONS_BY_STATE, |role| CONNECTIONS_BY_STATE.role(role));
        out.put_labelled(metric, &[("state", state)], count);
    }
    out.put(CONNECTIONS_TOTAL, states.iter().map(|(_, count, _)| count).sum());
    let oldest = states.iter().map(|(.., seconds)| *seconds).fold(0.0, f64::max);
    out.put(OLDEST_TRANSACTION, oldest);
    Ok(())
}

async fn limits(client: &Client, statement: &Statement, out: &mut SignalCollector) -> Result<(), PostgresError> {
    let rows = client.query(statement, &[]).await.map_err(PostgresError::doing("cannot read the limits of roles and databases"))?;
    for row in &rows {
        let of: &str = row.get(0);
        out.put_labelled(LIMITED_MAX.part(of), &[("of", of)], row.get(1));
        out.put_labelled(LIMITED.part(of), &[("of", of)], row.get(2));
    }
    Ok(())
}

async fn statements(client: &Client, statement: &Statement, out: &mut SignalCollector) -> Result<(), PostgresError> {
    let rows = client.query(statement, &[]).await.map_err(PostgresError::doing("cannot read pg_stat_statements"))?;
    let text = |row: &tokio_postgres::Row| row.get::<_, Option<String>>(0).unwrap_or_default();
    totals::put(rows.iter().map(|row| (text(row), [row.get(1), row.get(2), row.get(3)])), out);
    Ok(())
}
