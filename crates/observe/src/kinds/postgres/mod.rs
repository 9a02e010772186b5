//! PostgreSQL: what its sessions wait for, sampled ten times a second, and its counters, once per reading.
//!
//! One connection of our own, whose session is left out of every figure. What our queries take is a signal of its own
//! (`observer_seconds`), an upper bound of what observing costs the server; figures stand in docs/observers.md. The queries need no rights beyond
//! `pg_monitor`, without which other users' statements read as `<insufficient privilege>`.

pub(crate) mod connection;
mod counters;
mod sessions;
mod statement;

use metrics::clock::Monotonic;
use metrics::{Role, unit};

use crate::collector::{MetricSpec, SignalCollector};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kind::ObserverKind;
use crate::option::{ADDRESS, ObserverOption, OptionValue};
use crate::reader::{PendingRead, SignalReader};
use connection::{PostgresConnection, PostgresError};
use sessions::Sessions;

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "postgres",
    watches: "PostgreSQL",
    example: "observe.postgres(url)",
    alternatives: "",
    tells: "`sessions{wait=…}` (active sessions by what they wait for), `sessions_by_statement{…}`, `blocked`, `blocked_by{…}`, \
        `connections{state=…}`, `commits`, `wal_bytes`",
    options: &[
        ADDRESS,
        ObserverOption {
            name: "sampleHz",
            takes: OptionValue::WholeNumber { max: 50, default: Some(10) },
            help: "how often a second its sessions are sampled",
        },
    ],
    make: |description| Ok(Box::new(Postgres::from_description(description)?)),
};

const OBSERVER_SECONDS: MetricSpec<'_> =
    MetricSpec::counter("observer_seconds", unit::SECONDS, "Time that the observer's own queries took, as seen from here");
const OBSERVER_COMMITS: MetricSpec<'_> =
    MetricSpec::counter("observer_commits", unit::COUNT, "Transactions of the observer itself, which are among the commits")
        .role(Role::ObserverCommits);

struct Postgres {
    connection: PostgresConnection,
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

impl SignalReader for Postgres {
    fn period_ns(&self, every_ns: u64) -> u64 {
        self.sample_ns().min(every_ns)
    }

    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async { Ok(self.look(out).await?) })
    }

    fn reset(&mut self) {
        self.connection.reset();
        self.features = None;
        // What was sampled before a gap says nothing about it.
        self.sessions = Sessions::default();
        self.reported_ns = None;
    }
}

impl Postgres {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        Ok(Self {
            connection: PostgresConnection::from_description(description)?,
            every_ns: description.duration_ns("every"),
            sample_hz: description.whole_number("sampleHz").unwrap_or(1),
            sessions: Sessions::default(),
            clock: Monotonic::start(),
            reported_ns: None,
            spent_ns: 0,
            commits: 0,
            features: None,
        })
    }

    fn sample_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.sample_hz)
    }

    /// # Errors
    /// When the server does not respond to a query.
    async fn look(&mut self, out: &mut SignalCollector) -> Result<(), PostgresError> {
        let begin = self.clock.now();
        // A report that would come due between two samples belongs to the nearer one.
        let slack_ns = self.sample_ns() / 2;
        let due = self.reported_ns.is_none_or(|reported| begin - reported + slack_ns >= self.every_ns);
        let client = self.connection.client().await?;
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
            out.put(OBSERVER_SECONDS, self.spent_ns as f64 / 1e9);
            out.put(OBSERVER_COMMITS, self.commits as f64);
        }
        Ok(())
    }
}
