//! The features of a server and the resulting queries, determined once per connection.

use super::connection::{MysqlError, MysqlServer, number};
use super::metadata_locks;

/// Commands of a session that runs a statement; others sleep, or replicate.
const ACTIVE: &str = "('Query', 'Execute', 'Fetch', 'Prepare')";

/// The queries for one server. Each has its columns in its comment.
pub(super) struct MysqlFeatures {
    /// Whether waits come from the performance schema.
    pub(super) has_wait_events: bool,
    /// For each event of an active session: session, state, statement, whether it waits for a row lock, number and name of the event.
    pub(super) sample: String,
    /// Session, its statement, the last statement of the session that it waits for, seconds, the user of that session.
    pub(super) locks: String,
    /// The same of metadata locks, if the performance schema has them.
    pub(super) metadata_locks: Option<String>,
    /// Command, sessions, those with a transaction, seconds of the oldest one.
    pub(super) connections: String,
    /// Statement, executions, seconds, rows, if the performance schema counts them.
    pub(super) statements: Option<String>,
    /// Whether the binary log is on, and the most connections.
    pub(super) settings: &'static str,
}

impl MysqlFeatures {
    /// # Errors
    /// When the server does not respond, or the account may not see other sessions.
    pub(super) async fn ask(server: &mut MysqlServer) -> Result<Self, MysqlError> {
        let has_schema = answers_one(server, "select @@performance_schema").await
            && server.rows("", "select 1 from performance_schema.threads limit 1").await.is_ok();
        let consumer =
            |name: &str| format!("select count(*) from performance_schema.setup_consumers where name = '{name}' and enabled = 'YES'");
        let has_wait_events = has_schema && answers_one(server, &consumer("events_waits_current")).await;
        let has_statements = has_schema && server.rows("", &statements()).await.is_ok();
        let has_metadata_locks = has_schema && server.rows("", &metadata_locks::query()).await.is_ok();
        let sessions = sessions(has_schema, server.is_mariadb);
        let features = Self {
            has_wait_events,
            sample: sample(sessions, has_wait_events),
            locks: locks(has_schema, server.is_mariadb),
            metadata_locks: has_metadata_locks.then(metadata_locks::query),
            connections: connections(sessions),
            statements: has_statements.then(statements),
            settings: "select @@global.log_bin, @@global.max_connections",
        };
        // Reports a missing privilege, such as PROCESS, before the first reading.
        server.rows("cannot read the sessions", &features.sample).await?;
        Ok(features)
    }
}

/// Whether the server knows this query and returns 1.
async fn answers_one(server: &mut MysqlServer, sql: &str) -> bool {
    let rows = server.rows("", sql).await.unwrap_or_default();
    rows.first().is_some_and(|row| number(row, 0) == 1.0)
}

/// Sessions as `p`, with `thread`, `id`, `command`, `state` and `info`. MySQL's performance schema has all of it without blocking new connections;
/// MariaDB's does not show the last states of a statement, in which it waits for its commit.
fn sessions(has_schema: bool, is_mariadb: bool) -> &'static str {
    match (has_schema, is_mariadb) {
        (true, false) => {
            "(select thread_id as thread, processlist_id as id, processlist_command as command, processlist_state as state, \
            processlist_info as info from performance_schema.threads where type = 'FOREGROUND' and processlist_id is not null) as p"
        }
        (true, true) => {
            "(select t.thread_id as thread, l.id, l.command, l.state, l.info from information_schema.processlist l \
            left join performance_schema.threads t on t.processlist_id = l.id) as p"
        }
        (false, _) => "(select id as thread, id, command, state, info from information_schema.processlist) as p",
    }
}

fn sample(sessions: &str, has_wait_events: bool) -> String {
    let (event, join) = if has_wait_events {
        (
            "w.event_id, w.event_name",
            "left join performance_schema.events_waits_current w on w.thread_id = p.thread and w.end_event_id is null",
        )
    } else {
        ("0, null", "")
    };
    format!(
        "select p.id, p.state, left(p.info, 2000), x.trx_id is not null, {event} from {sessions} {join} \
        left join information_schema.innodb_trx x on x.trx_mysql_thread_id = p.id and x.trx_state = 'LOCK WAIT' \
        where p.command in {ACTIVE} and p.id <> connection_id()"
    )
}

fn locks(has_schema: bool, is_mariadb: bool) -> String {
    let (waits, requesting, blocking) = if is_mariadb {
        ("information_schema.innodb_lock_waits", "requesting_trx_id", "blocking_trx_id")
    } else {
        ("performance_schema.data_lock_waits", "requesting_engine_transaction_id", "blocking_engine_transaction_id")
    };
    // A session that holds a lock may be idle.
    let (last, user, join) = if has_schema {
        (
            "coalesce(b.trx_query, s.sql_text)",
            "t.processlist_user",
            "left join performance_schema.threads t on t.processlist_id = b.trx_mysql_thread_id \
            left join performance_schema.events_statements_current s on s.thread_id = t.thread_id and s.nesting_event_level = 0",
        )
    } else {
        ("b.trx_query", "t.user", "left join information_schema.processlist t on t.id = b.trx_mysql_thread_id")
    };
    format!(
        "select distinct r.trx_mysql_thread_id, left(r.trx_query, 2000), left({last}, 2000), \
        greatest(timestampdiff(second, r.trx_wait_started, now()), 0), {user}, b.trx_id from {waits} w \
        join information_schema.innodb_trx r on r.trx_id = w.{requesting} join information_schema.innodb_trx b on b.trx_id = w.{blocking} {join} \
        limit 1000"
    )
}

fn connections(sessions: &str) -> String {
    format!(
        "select case when p.command in {ACTIVE} then 'active' when p.command = 'Sleep' then 'idle' else 'other' end, count(*), count(x.trx_id), \
        coalesce(max(timestampdiff(second, x.trx_started, now())), 0) from {sessions} \
        left join information_schema.innodb_trx x on x.trx_mysql_thread_id = p.id where p.id <> connection_id() group by 1"
    )
}

fn statements() -> String {
    "select digest_text, sum(count_star), sum(sum_timer_wait) / 1e12, sum(sum_rows_sent + sum_rows_affected) \
    from performance_schema.events_statements_summary_by_digest \
    where digest_text is not null and digest_text not like '%performance_schema%' and digest_text not like '%information_schema%' \
    and digest_text not like 'SHOW %' and digest_text not like 'SET %' \
    and digest_text not like 'SELECT @@%' group by 1 order by 3 desc limit 30"
        .to_owned()
}
