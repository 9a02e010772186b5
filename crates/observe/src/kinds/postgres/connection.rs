//! The one connection to a server, which `postgres` and `sql` observers keep.

use std::fmt;
use std::io;
use std::time::Duration;

use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls};

use crate::allowance::{self, Allowance, LimitedConnection};
use crate::description::ObserverDescription;
use crate::error::ObserveError;

/// The failed operation, with the server's own message, which the driver's `Display` omits.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {message}")]
pub(crate) struct PostgresError {
    doing: &'static str,
    message: String,
}

impl PostgresError {
    /// For `map_err`, while doing something.
    pub(crate) fn doing(doing: &'static str) -> impl Fn(tokio_postgres::Error) -> Self {
        move |problem| {
            let message = match problem.as_db_error() {
                Some(server) => format!("{} ({})", server.message(), server.code().code()),
                None => {
                    format!("{problem}{}", std::error::Error::source(&problem).map_or_else(String::new, |source| format!(": {source}")))
                }
            };
            Self { doing, message }
        }
    }
}

/// Limit for a connection, with its authentication.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// PostgreSQL's port, if the URL has none.
const PORT: u16 = 5432;

/// Connects when asked and stays connected.
pub(crate) struct PostgresConnection {
    config: Config,
    client: Option<Client>,
    allowance: Allowance,
}

impl fmt::Debug for PostgresConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the configuration: it may hold a password.
        f.write_str(if self.client.is_some() { "PostgresConnection(connected)" } else { "PostgresConnection(not connected)" })
    }
}

impl PostgresConnection {
    pub(crate) fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let url = description.required_text("url");
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(description.problem("url must begin with postgres://"));
        }
        // The URL itself is not repeated: it may hold a password.
        let mut config: Config = url.parse().map_err(|problem| description.problem(format!("url cannot be read: {problem}")))?;
        config.application_name("loadstone").connect_timeout(CONNECT_WITHIN);
        Ok(Self { config, client: None, allowance: Allowance::default() })
    }

    pub(crate) fn reset(&mut self) {
        self.client = None;
    }

    /// To the first of the hosts that accepts, through a stream that limits what the server may send.
    async fn stream(&self) -> io::Result<LimitedConnection> {
        let (addresses, ports) = (self.config.get_hostaddrs(), self.config.get_ports());
        let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(PORT);
        let mut last = io::Error::new(io::ErrorKind::InvalidInput, "the url has no host");
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let connected = match (addresses.get(index), host) {
                (Some(address), _) => allowance::tcp(&address.to_string(), port(index), &self.allowance).await,
                (None, Host::Tcp(name)) => allowance::tcp(name, port(index), &self.allowance).await,
                (None, Host::Unix(folder)) => allowance::unix(&folder.join(format!(".s.PGSQL.{}", port(index))), &self.allowance).await,
            };
            match connected {
                Ok(stream) => return Ok(stream),
                Err(problem) => last = problem,
            }
        }
        Err(last)
    }

    async fn connect(&self) -> Result<Client, PostgresError> {
        let cannot = |message: String| PostgresError { doing: "cannot connect", message };
        let stream = self.stream().await.map_err(|problem| cannot(format!("error connecting to server: {problem}")))?;
        let (client, connection) = self.config.connect_raw(stream, NoTls).await.map_err(PostgresError::doing("cannot connect"))?;
        // A closed connection appears as a failing query.
        tokio::task::spawn_local(async move { drop(connection.await) });
        Ok(client)
    }

    /// A new reading begins.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub(crate) async fn client(&mut self) -> Result<&Client, PostgresError> {
        self.allowance.renew();
        let stale = self.client.as_ref().is_some_and(Client::is_closed);
        if self.client.is_none() || stale {
            let connected = tokio::time::timeout(CONNECT_WITHIN, self.connect()).await;
            let timed_out = || PostgresError { doing: "cannot connect", message: "connection timed out".to_owned() };
            let client = connected.map_err(|_| timed_out())??;
            // The observer must not disturb the service: its statements may not run for long or wait for a lock.
            let settings = "set statement_timeout = '3s'; set lock_timeout = '100ms'";
            client.batch_execute(settings).await.map_err(PostgresError::doing("cannot set up the session"))?;
            self.client = Some(client);
        }
        let unconnected = || PostgresError { doing: "cannot connect", message: "no connection was kept".to_owned() };
        self.client.as_ref().ok_or_else(unconnected)
    }
}
