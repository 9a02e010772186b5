//! The one connection to a server, which `postgres` and `sql` observers keep.

use std::fmt;
use std::time::Duration;

use tokio_postgres::{Client, Config, NoTls};

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

/// Connects when asked and stays connected.
pub(crate) struct PostgresConnection {
    config: Config,
    client: Option<Client>,
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
        config.application_name("loadstone").connect_timeout(Duration::from_secs(3));
        Ok(Self { config, client: None })
    }

    pub(crate) fn reset(&mut self) {
        self.client = None;
    }

    /// # Errors
    /// When the server cannot be reached or refuses.
    pub(crate) async fn client(&mut self) -> Result<&Client, PostgresError> {
        let stale = self.client.as_ref().is_some_and(Client::is_closed);
        if self.client.is_none() || stale {
            let (client, connection) = self.config.connect(NoTls).await.map_err(PostgresError::doing("cannot connect"))?;
            // A closed connection appears as a failing query.
            tokio::task::spawn_local(async move { drop(connection.await) });
            // The observer must not disturb the service: its statements may not run for long or wait for a lock.
            let settings = "set statement_timeout = '3s'; set lock_timeout = '100ms'";
            client.batch_execute(settings).await.map_err(PostgresError::doing("cannot set up the session"))?;
            self.client = Some(client);
        }
        let unconnected = || PostgresError { doing: "cannot connect", message: "no connection was kept".to_owned() };
        self.client.as_ref().ok_or_else(unconnected)
    }
}
