//! Who holds the metadata lock that a session waits for: `lock tables`, or a statement that changes a table.
//!
//! The performance schema has a row for each lock that a session holds or waits for (MySQL 5.7 and MariaDB 10.5 or later). MySQL 8 records them by default,
//! MariaDB only with `performance_schema=ON` and `performance-schema-instrument='wait/lock/metadata/sql/mdl=ON'`.

/// Session, its statement, the current or last statement of the session that it waits for, seconds, the user of that session. A request waits for locks of
/// other sessions that are incompatible with it, and a weak one also for a strong one that was requested before (comments of `MDL_lock` in MySQL's sql/mdl.cc).
pub(super) fn query() -> String {
    let conflict = conflict();
    format!(
        "select w.processlist_id, left(w.processlist_info, 2000), left(coalesce(b.processlist_info, s.sql_text), 2000), \
        coalesce(w.processlist_time, 0), b.processlist_user from performance_schema.metadata_locks p \
        join performance_schema.metadata_locks g on g.object_type = p.object_type and g.object_schema = p.object_schema \
        and g.object_name = p.object_name and g.owner_thread_id <> p.owner_thread_id and (g.lock_status = 'GRANTED' or (g.lock_status = 'PENDING' \
        and g.lock_type in ({STRONG}) and p.lock_type not in ({STRONG}))) and ({conflict}) \
        join performance_schema.threads w on w.thread_id = p.owner_thread_id join performance_schema.threads b on b.thread_id = g.owner_thread_id \
        left join performance_schema.events_statements_current s on s.thread_id = b.thread_id and s.nesting_event_level = 0 \
        where p.lock_status = 'PENDING' and p.object_type = 'TABLE' limit 1000"
    )
}

const STRONG: &str = "'EXCLUSIVE', 'SHARED_NO_READ_WRITE', 'SHARED_NO_WRITE'";

/// Whether the lock types of `p` and `g` are incompatible.
fn conflict() -> String {
    let pair = |one: &str, other: &str| {
        format!("(p.lock_type in ({one}) and g.lock_type in ({other})) or (g.lock_type in ({one}) and p.lock_type in ({other}))")
    };
    let without_data = "'SHARED', 'SHARED_HIGH_PRIO'";
    let writes = "'SHARED_WRITE', 'SHARED_WRITE_LOW_PRIO'";
    let no_reads =
        |lock: &str, other: &str| format!("({lock}.lock_type = 'SHARED_NO_READ_WRITE' and {other}.lock_type not in ({without_data}))");
    [
        "p.lock_type = 'EXCLUSIVE' or g.lock_type = 'EXCLUSIVE'".to_owned(),
        no_reads("p", "g"),
        no_reads("g", "p"),
        pair(writes, "'SHARED_READ_ONLY', 'SHARED_NO_WRITE'"),
        pair("'SHARED_UPGRADABLE', 'SHARED_NO_WRITE'", "'SHARED_UPGRADABLE', 'SHARED_NO_WRITE'"),
    ]
    .join(" or ")
}
