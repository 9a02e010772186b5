//! What an active session waits for, and what that means.
//!
//! Three sources, the most certain first: InnoDB knows who waits for a row; the performance schema names the event that a session is in, as far as its
//! instruments are on; the session's state, which is always available, distinguishes commits, table locks and idling from the rest.

use loadstone_metrics::Role;

use crate::database::sessions::ON_CPU;

const ROW_LOCK: &str = "row lock";
const COMMIT: &str = "Commit";

/// One session at one moment.
pub(super) struct ActiveSession {
    pub(super) state: String,
    pub(super) statement: String,
    /// Whether InnoDB reports that it waits for a lock.
    pub(super) waits_for_row: bool,
    /// Its current event in the performance schema.
    pub(super) event: Option<String>,
}

impl ActiveSession {
    /// `CPU` if no wait is known.
    pub(super) fn wait(&self) -> String {
        if self.waits_for_row {
            return ROW_LOCK.to_owned();
        }
        let commits = self.is_at_commit();
        match self.event.as_deref().and_then(informative) {
            Some(event) if commits && role_of_event(event) != Role::SessionsWaitingForCommit => format!("{COMMIT}: {event}"),
            // The state has the kind of the metadata lock, the event only that of the wait within it.
            Some(METADATA_LOCK_EVENT) if role_of_state(&self.state) == Some(Role::SessionsWaitingForLock) => self.state.clone(),
            Some(event) => event.to_owned(),
            None if commits => COMMIT.to_owned(),
            None if role_of_state(&self.state).is_some() => self.state.clone(),
            None => ON_CPU.to_owned(),
        }
    }

    /// A session that runs `COMMIT` does nothing else, regardless of the name of its state.
    fn is_at_commit(&self) -> bool {
        role_of_state(&self.state) == Some(Role::SessionsWaitingForCommit) || self.statement.trim().eq_ignore_ascii_case("commit")
    }
}

/// An event without `wait/`. `None` for events that do not identify a wait: a storage engine call, which computes as well as waits, and idling
/// between two statements.
fn informative(event: &str) -> Option<&str> {
    event.strip_prefix("wait/").filter(|event| !event.starts_with("io/table/"))
}

/// The role of a wait, by its name from [`ActiveSession::wait`].
pub(super) fn role_of_wait(wait: &str) -> Role {
    match wait {
        ON_CPU => Role::SessionsOnCpu,
        ROW_LOCK => Role::SessionsWaitingForLock,
        _ if wait == COMMIT || wait.starts_with("Commit: ") => Role::SessionsWaitingForCommit,
        _ => role_of_state(wait).unwrap_or_else(|| role_of_event(wait)),
    }
}

/// States of "SHOW PROCESSLIST" (manual of MySQL 8.0, 10.14 "Examining Server Thread (Process) Information"; MariaDB, "Thread States") that are a wait.
/// "Updating status" takes no time, but from MariaDB 10.6 on a session is in it until its transaction's redo log is on disk (MDEV-24341).
fn role_of_state(state: &str) -> Option<Role> {
    let is = |states: &[&str]| states.iter().any(|known| state.eq_ignore_ascii_case(known));
    let begins = |start: &str| state.to_ascii_lowercase().starts_with(start);
    if is(&["Commit", "Commit implicit", "Updating status", "waiting for handler commit"]) || begins("waiting for semi-sync ack") {
        Some(Role::SessionsWaitingForCommit)
    } else if begins("waiting for") && state.ends_with("lock") {
        Some(Role::SessionsWaitingForLock)
    } else if is(&["User sleep", "Writing to net", "Sending to client", "Reading from net", "Receiving from client"]) {
        Some(Role::SessionsWaitingIdle)
    } else {
        None
    }
}

/// Names of the performance schema, without `wait/`: of the redo log and the binary log, whose mutexes are handed on in the order of the commits.
const COMMIT_EVENTS: [&str; 10] = [
    "io/file/sql/binlog",
    "io/file/innodb/innodb_log_file",
    "/MYSQL_BIN_LOG::",
    "/innodb/log_",
    "LOCK_prepare_ordered",
    "LOCK_commit_ordered",
    "LOCK_after_binlog_sync",
    "COND_wait_commit",
    "COND_prepare_ordered",
    "semisync",
];

/// The condition on which a session waits for a metadata lock. It is within `lock/metadata/sql/mdl`, so that it is the innermost event.
const METADATA_LOCK_EVENT: &str = "synch/cond/sql/MDL_context::COND_wait_status";

fn role_of_event(event: &str) -> Role {
    let begins = |starts: &[&str]| starts.iter().any(|start| event.starts_with(start));
    match event {
        _ if COMMIT_EVENTS.iter().any(|part| event.contains(part)) => Role::SessionsWaitingForCommit,
        METADATA_LOCK_EVENT => Role::SessionsWaitingForLock,
        _ if begins(&["lock/"]) => Role::SessionsWaitingForLock,
        _ if begins(&["io/file/innodb/innodb_data_file", "io/file/myisam", "io/file/aria"]) => Role::SessionsWaitingForRead,
        _ if begins(&["io/socket/"]) => Role::SessionsWaitingIdle,
        _ => Role::SessionsWaitingForOther,
    }
}

/// Removes backticks and replaces string literals, which may have double quotes and contain escaped quotes, by `'?'`.
pub(super) fn without_quotes(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql.chars();
    while let Some(next) = rest.next() {
        match next {
            '`' => {}
            '\'' | '"' => {
                out.push_str("'?'");
                while let Some(inside) = rest.next() {
                    match inside {
                        '\\' => drop(rest.next()),
                        // A doubled quote ends one literal and begins another, which has the same effect.
                        _ if inside == next => break,
                        _ => {}
                    }
                }
            }
            other => out.push(other),
        }
    }
    out.replace("'?''?'", "'?'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(state: &str, statement: &str, event: Option<&str>) -> ActiveSession {
        ActiveSession { state: state.to_owned(), statement: statement.to_owned(), waits_for_row: false, event: event.map(str::to_owned) }
    }

    #[test]
    fn a_session_waits_for_what_is_known_best() {
        let insert = "insert into t values (1)";
        for (state, statement, event, wait, role) in [
            ("Sending data", "select 1", None, "CPU", Role::SessionsOnCpu),
            ("Sending data", "select 1", Some("wait/io/table/sql/handler"), "CPU", Role::SessionsOnCpu),
            ("Commit", insert, None, "Commit", Role::SessionsWaitingForCommit),
            ("Updating status", insert, None, "Commit", Role::SessionsWaitingForCommit),
            ("waiting for handler commit", insert, None, "Commit", Role::SessionsWaitingForCommit),
            ("init", "COMMIT", None, "Commit", Role::SessionsWaitingForCommit),
            ("Commit", insert, Some("wait/io/file/sql/binlog"), "io/file/sql/binlog", Role::SessionsWaitingForCommit),
            (
                "starting",
                "commit",
                Some("wait/synch/cond/sql/MYSQL_BIN_LOG::COND_done"),
                "synch/cond/sql/MYSQL_BIN_LOG::COND_done",
                Role::SessionsWaitingForCommit,
            ),
            ("Commit", insert, Some("wait/synch/mutex/sql/LOCK_x"), "Commit: synch/mutex/sql/LOCK_x", Role::SessionsWaitingForCommit),
            (
                "Updating",
                "update t",
                Some("wait/io/file/innodb/innodb_data_file"),
                "io/file/innodb/innodb_data_file",
                Role::SessionsWaitingForRead,
            ),
            ("Opening tables", insert, Some("wait/synch/mutex/sql/LOCK_open"), "synch/mutex/sql/LOCK_open", Role::SessionsWaitingForOther),
            ("Waiting for table metadata lock", "alter", None, "Waiting for table metadata lock", Role::SessionsWaitingForLock),
            ("x", "alter", Some("wait/lock/metadata/sql/mdl"), "lock/metadata/sql/mdl", Role::SessionsWaitingForLock),
            (
                "Waiting for table metadata lock",
                "select 1",
                Some("wait/synch/cond/sql/MDL_context::COND_wait_status"),
                "Waiting for table metadata lock",
                Role::SessionsWaitingForLock,
            ),
            (
                "executing",
                "select 1",
                Some("wait/synch/cond/sql/MDL_context::COND_wait_status"),
                "synch/cond/sql/MDL_context::COND_wait_status",
                Role::SessionsWaitingForLock,
            ),
            ("User sleep", "select sleep(9)", None, "User sleep", Role::SessionsWaitingIdle),
        ] {
            let found = session(state, statement, event).wait();
            assert_eq!((found.as_str(), role_of_wait(&found)), (wait, role), "{state} {event:?}");
        }
        let blocked = ActiveSession { waits_for_row: true, ..session("Updating", "update t", Some("wait/io/table/sql/handler")) };
        assert_eq!((blocked.wait().as_str(), role_of_wait(&blocked.wait())), ("row lock", Role::SessionsWaitingForLock));
    }

    #[test]
    fn texts_and_backticks_go() {
        for (sql, expected) in [
            ("select `a`.`b` from `a`", "select a.b from a"),
            (r#"insert into t values ("it's", 'say \'no\'', 'O''Brien', 5)"#, "insert into t values ('?', '?', '?', 5)"),
            ("select 'open", "select '?'"),
        ] {
            assert_eq!(without_quotes(sql), expected);
        }
    }
}
