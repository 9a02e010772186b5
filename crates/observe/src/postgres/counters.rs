//! Totals of the database and of its statements, WAL, and connections by state.

use std::collections::BTreeMap;

use tokio_postgres::{Client, Statement};

use super::{say, sessions, statement::normalise};
use crate::readings::Readings;

/// What is asked of this server, prepared once per connection: a sample then costs it one short transaction and no planning of texts.
pub(super) struct Features {
    pub(super) sample: Statement,
    pub(super) locks: Statement,
    database: Statement,
    wal: Statement,
    connections: Statement,
    /// Of `pg_stat_statements`, where it is there and may be read.
    statements: Option<Statement>,
}

impl std::fmt::Debug for Features {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Features").field("statements", &self.statements.is_some()).finish_non_exhaustive()
    }
}

impl Features {
    /// # Errors
    /// When the server does not answer.
    pub(super) async fn ask(client: &Client) -> Result<Self, String> {
        // The extension may be installed and yet not be preloaded; then its view fails, and is left out.
        let installed = "select 1 from pg_extension where extname = 'pg_stat_statements'";
        let row = client.query_opt(installed, &[]).await.map_err(|problem| say("cannot read pg_extension", &problem))?;
        let statements = match row {
            Some(_) => client.prepare(STATEMENTS).await.ok(),
            None => None,
        };
        let statements = match statements {
            Some(statement) if client.query(&statement, &[]).await.is_ok() => Some(statement),
            _ => None,
        };
        let prepare = async |sql| client.prepare(sql).await.map_err(|problem| say("cannot prepare what is read", &problem));
        Ok(Self {
            sample: prepare(sessions::SAMPLE).await?,
            locks: prepare(sessions::LOCKS).await?,
            database: prepare(DATABASE).await?,
            wal: prepare(WAL).await?,
            connections: prepare(CONNECTIONS).await?,
            statements,
        })
    }

    /// Transactions of one report, the sample apart.
    pub(super) fn queries_per_report(&self) -> u64 {
        4 + u64::from(self.statements.is_some())
    }
}

const DATABASE: &str = "select xact_commit::float8, xact_rollback::float8, tup_returned::float8, tup_fetched::float8, tup_inserted::float8, \
    tup_updated::float8, tup_deleted::float8, blks_read::float8, blks_hit::float8, temp_bytes::float8, deadlocks::float8 \
    from pg_stat_database where datname = current_database()";

/// Metric, unit, help, in the order of the columns above.
const DATABASE_METRICS: [(&str, &str, &str); 11] = [
    ("commits", "1", "Transactions committed"),
    ("rollbacks", "1", "Transactions rolled back"),
    ("rows_read", "1", "Rows read by scans"),
    ("rows_fetched", "1", "Rows fetched by index look-ups"),
    ("rows_inserted", "1", "Rows inserted"),
    ("rows_updated", "1", "Rows updated"),
    ("rows_deleted", "1", "Rows deleted"),
    ("blocks_read", "1", "Blocks read from outside the buffer cache"),
    ("blocks_hit", "1", "Blocks found in the buffer cache"),
    ("temporary_bytes", "bytes", "Bytes written to temporary files"),
    ("deadlocks", "1", "Deadlocks"),
];

const CONNECTIONS: &str = "select coalesce(state, 'unknown'), count(*)::float8, \
    coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8 from pg_stat_activity \
    where backend_type = 'client backend' and pid <> pg_backend_pid() group by 1";

const WAL: &str = "select case when pg_is_in_recovery() then null else pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 end, \
    current_setting('max_connections')::float8";

/// Columns as of PostgreSQL 13.
const STATEMENTS: &str = "select query, sum(calls)::float8, sum(total_exec_time)::float8 / 1000, sum(rows)::float8 from pg_stat_statements \
    where dbid = (select oid from pg_database where datname = current_database()) group by 1 order by 3 desc limit 30";

/// # Errors
/// When the server does not answer.
pub(super) async fn read(client: &Client, features: &Features, out: &mut Readings) -> Result<(), String> {
    let failed = |problem: tokio_postgres::Error| say("cannot read the database's counters", &problem);
    let row = client.query_one(&features.database, &[]).await.map_err(failed)?;
    for (index, (metric, unit, help)) in DATABASE_METRICS.iter().enumerate() {
        out.counter(metric, unit, help, row.get(index));
    }
    let row = client.query_one(&features.wal, &[]).await.map_err(failed)?;
    if let Some(bytes) = row.get(0) {
        out.counter("wal_bytes", "bytes", "Write-ahead log written", bytes);
    }
    out.gauge("connections_limit", "1", "max_connections", row.get(1));
    connections(client, &features.connections, out).await?;
    if let Some(statement) = &features.statements {
        statements(client, statement, out).await?;
    }
    Ok(())
}

async fn connections(client: &Client, statement: &Statement, out: &mut Readings) -> Result<(), String> {
    let rows = client.query(statement, &[]).await.map_err(|problem| say("cannot count connections", &problem))?;
    let states: Vec<(String, f64, f64)> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let of = |state: &str| states.iter().find(|(name, ..)| name == state);
    for state in ["active", "idle", "idle in transaction", "idle in transaction (aborted)"] {
        let count = of(state).map_or(0.0, |(_, count, _)| *count);
        out.gauge(&format!("connections{{state={state}}}"), "1", "Client connections by state, of all databases", count);
    }
    out.gauge("connections_total", "1", "Client connections, of all databases", states.iter().map(|(_, count, _)| count).sum());
    let oldest = states.iter().map(|(.., seconds)| *seconds).fold(0.0, f64::max);
    out.gauge("oldest_transaction", "seconds", "Age of the oldest open transaction", oldest);
    Ok(())
}

async fn statements(client: &Client, statement: &Statement, out: &mut Readings) -> Result<(), String> {
    let rows = client.query(statement, &[]).await.map_err(|problem| say("cannot read pg_stat_statements", &problem))?;
    // Statements that differ in length of a list only are one here.
    let mut totals = BTreeMap::<String, [f64; 3]>::new();
    for row in rows {
        let statement = normalise(row.get::<_, Option<&str>>(0).unwrap_or_default());
        let sums = totals.entry(statement).or_default();
        sums.iter_mut().enumerate().for_each(|(index, sum)| *sum += row.get::<_, f64>(index + 1));
    }
    for (statement, [calls, seconds, rows]) in totals {
        let metric = |name: &str| format!("{name}{{statement={statement}}}");
        out.counter(&metric("statement_calls"), "1", "Executions of the statement", calls);
        out.counter(&metric("statement_seconds"), "seconds", "Time spent executing the statement", seconds);
        out.counter(&metric("statement_rows"), "1", "Rows the statement returned or changed", rows);
    }
    Ok(())
}
