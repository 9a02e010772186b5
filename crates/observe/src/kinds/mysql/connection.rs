//! The one connection to a server.

use std::fmt;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Row, Value};

use crate::description::ObserverDescription;
use crate::error::ObserveError;

/// The failed operation, with the server's own message.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {message}")]
pub(super) struct MysqlError {
    doing: &'static str,
    message: String,
}

/// Connects when asked and stays connected.
pub(super) struct MysqlConnection {
    options: Opts,
    server: Option<MysqlServer>,
}

impl fmt::Debug for MysqlConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the options: they may hold a password.
        f.write_str(if self.server.is_some() { "MysqlConnection(connected)" } else { "MysqlConnection(not connected)" })
    }
}

impl MysqlConnection {
    pub(super) fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let url = description.required_text("url");
        let Some(rest) = ["mysql://", "mariadb://"].iter().find_map(|scheme| url.strip_prefix(scheme)) else {
            return Err(description.problem("url must begin with mysql:// or mariadb://"));
        };
        // The URL itself is not repeated: it may hold a password.
        let options = Opts::from_url(&format!("mysql://{rest}"));
        let options = options.map_err(|problem| description.problem(format!("url cannot be read: {problem}")))?;
        // Connects to the given address, never to a local socket that the server names.
        let options = OptsBuilder::from_opts(options).prefer_socket(false).stmt_cache_size(0);
        Ok(Self { options: options.into(), server: None })
    }

    pub(super) fn reset(&mut self) {
        self.server = None;
    }

    /// # Errors
    /// When the server cannot be reached or refuses.
    pub(super) async fn server(&mut self) -> Result<&mut MysqlServer, MysqlError> {
        match &mut self.server {
            Some(server) => Ok(server),
            unconnected => Ok(unconnected.insert(MysqlServer::connect(self.options.clone()).await?)),
        }
    }
}

/// A server, connected.
pub(super) struct MysqlServer {
    connection: Conn,
    pub(super) is_mariadb: bool,
}

impl MysqlServer {
    async fn connect(options: Opts) -> Result<Self, MysqlError> {
        let connection = Conn::new(options).await.map_err(|problem| MysqlError::of("cannot connect", &problem))?;
        let mut server = Self { connection, is_mariadb: false };
        server.is_mariadb = match server.rows("cannot ask for the version", "select version()").await?.first() {
            Some(row) => text(row, 0).is_some_and(|version| version.contains("MariaDB")),
            None => false,
        };
        // The observer must not disturb the service: its statements may not run for long or wait for a lock.
        let limit = if server.is_mariadb { "max_statement_time = 3" } else { "max_execution_time = 3000" };
        server.rows("cannot set up the session", &format!("set session {limit}, lock_wait_timeout = 1")).await?;
        Ok(server)
    }

    /// The rows of a query.
    ///
    /// # Errors
    /// When the server does not respond, or refuses.
    pub(super) async fn rows(&mut self, doing: &'static str, sql: &str) -> Result<Vec<Row>, MysqlError> {
        self.connection.query(sql).await.map_err(|problem| MysqlError::of(doing, &problem))
    }

    /// `COM_PING`, which the server answers at once, however many sessions it has. It is not among the `Questions`.
    ///
    /// # Errors
    /// When the server does not respond.
    pub(super) async fn ping(&mut self) -> Result<(), MysqlError> {
        self.connection.ping().await.map_err(|problem| MysqlError::of("cannot ping the server", &problem))
    }
}

impl MysqlError {
    fn of(doing: &'static str, problem: &mysql_async::Error) -> Self {
        let message = match problem {
            mysql_async::Error::Server(error) => format!("{} ({})", error.message, error.code),
            other => other.to_string(),
        };
        Self { doing, message }
    }
}

/// A column as a string, even if a client's statement is not valid UTF-8; `None` if it is null.
pub(super) fn text(row: &Row, column: usize) -> Option<String> {
    match row.as_ref(column)? {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        other => Some(other.as_sql(true)),
    }
}

/// A column as a number; 0 if it is null or missing.
pub(super) fn number(row: &Row, column: usize) -> f64 {
    match row.as_ref(column) {
        Some(Value::Bytes(bytes)) => str::from_utf8(bytes).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0.0),
        Some(Value::Int(number)) => *number as f64,
        Some(Value::UInt(number)) => *number as f64,
        Some(Value::Float(number)) => f64::from(*number),
        Some(Value::Double(number)) => *number,
        _ => 0.0,
    }
}
