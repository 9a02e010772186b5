//! PostgreSQL: what its sessions wait for, sampled ten times a second, and its counters, once per reading.
//!
//! One connection of our own, whose session is left out of every figure. What our queries take is a signal of its own
//! (`observer_seconds`), an upper bound of what observing costs the server; figures stand in docs/observers.md. The queries need no rights beyond
//! `pg_monitor`, without which other users' statements read as `<insufficient privilege>`.

mod counters;
mod sessions;
mod statement;

use std::time::Duration;

use metrics::clock::Monotonic;
use tokio_postgres::{Client, Config, NoTls};

use crate::ObserveError;
use crate::description::Description;
use crate::readings::Readings;
use sessions::Sessions;

/// Connects when asked and stays connected.
pub(crate) struct Session {
    config: Config,
    client: Option<Client>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the configuration: it may hold a password.
        f.write_str(if self.client.is_some() { "Session(connected)" } else { "Session(not connected)" })
    }
}

/// An error with the server's own message, which `Display` of the driver leaves to the source.
pub(crate) fn say(what: &str, problem: &tokio_postgres::Error) -> String {
    match problem.as_db_error() {
        Some(server) => format!("{what}: {} ({})", server.message(), server.code().code()),
        None => format!("{what}: {problem}{}", std::error::Error::source(problem).map_or_else(String::new, |source| format!(": {source}"))),
    }
}

impl Session {
    pub(crate) fn from_description(description: &mut Description<'_>) -> Result<Self, ObserveError> {
        let url = description.required_text("url")?;
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
    pub(crate) async fn client(&mut self) -> Result<&Client, String> {
        let stale = self.client.as_ref().is_some_and(Client::is_closed);
        if self.client.is_none() || stale {
            let (client, connection) = self.config.connect(NoTls).await.map_err(|problem| say("cannot connect", &problem))?;
            // Its end shows as a failing query.
            tokio::task::spawn_local(async move { drop(connection.await) });
            // Never in anybody's way: no statement of ours may run for long or wait for a lock.
            let settings = "set statement_timeout = '3s'; set lock_timeout = '100ms'";
            client.batch_execute(settings).await.map_err(|problem| say("cannot set up the session", &problem))?;
            self.client = Some(client);
        }
        self.client.as_ref().ok_or_else(|| "not connected".to_owned())
    }
}

#[derive(Debug)]
pub(crate) struct Postgres {
    session: Session,
    every_ns: u64,
    /// Samples of the sessions per second.
    sample_hz: u32,
    sessions: Sessions,
    clock: Monotonic,
    reported_ns: Option<u64>,
    /// Time our own queries took. Nanoseconds.
    spent_ns: u64,
    /// Transactions of our own, which the server counts among all others.
    commits: u64,
    /// What this server has; asked once per connection.
    features: Option<counters::Features>,
}

impl Postgres {
    pub(crate) fn from_description(description: &mut Description<'_>, every_ns: u64) -> Result<Self, ObserveError> {
        let session = Session::from_description(description)?;
        let sample_hz = description.number("sampleHz", 50)?.unwrap_or(10);
        Ok(Self {
            session,
            every_ns,
            sample_hz,
            sessions: Sessions::default(),
            clock: Monotonic::start(),
            reported_ns: None,
            spent_ns: 0,
            commits: 0,
            features: None,
        })
    }

    pub(crate) fn sample_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.sample_hz)
    }

    pub(crate) fn reset(&mut self) {
        self.session.reset();
        self.features = None;
        // What was sampled before a gap says nothing about it.
        self.sessions = Sessions::default();
        self.reported_ns = None;
    }

    /// # Errors
    /// When the server does not answer a query.
    pub(crate) async fn read(&mut self, out: &mut Readings) -> Result<(), String> {
        let begin = self.clock.now();
        // A report that would come due between two samples belongs to the nearer one.
        let slack_ns = self.sample_ns() / 2;
        let due = self.reported_ns.is_none_or(|reported| begin - reported + slack_ns >= self.every_ns);
        let client = self.session.client().await?;
        let features = match &self.features {
            Some(features) => features,
            None => self.features.insert(counters::Features::ask(client).await?),
        };
        self.sessions.sample(client, &features.sample).await?;
        self.commits += 1;
        if due {
            self.sessions.sample_locks(client, &features.locks).await?;
            // What sessions wait for comes first: it is the first thing to look at.
            self.sessions.report(out);
            counters::read(client, features, out).await?;
            self.commits += features.queries_per_report();
            self.reported_ns = Some(begin);
        }
        self.spent_ns += self.clock.now() - begin;
        if due {
            let help = "Time that the observer's own queries took, as seen from here";
            out.counter("observer_seconds", "seconds", help, self.spent_ns as f64 / 1e9);
            out.counter("observer_commits", "1", "Transactions of the observer itself, which are among the commits", self.commits as f64);
        }
        Ok(())
    }
}
