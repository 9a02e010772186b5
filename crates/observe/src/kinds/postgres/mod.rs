//! PostgreSQL: what its sessions wait for, sampled ten times a second, and its counters, once per reading.
//!
//! The observer uses one connection and excludes its session from every figure. The signal `observer_seconds` has the time that its queries take, an upper
//! bound of the observer's cost for the server; docs/observers/cost.md has figures. The queries need no rights beyond `pg_monitor`, without which other users'
//! statements read as `<insufficient privilege>`.

pub(crate) mod connection;
mod counters;
mod sessions;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Role, unit};

use crate::collector::{MetricSpec, SignalCollector};
use crate::database::sessions::SessionSamples;
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kind::{MacSupport, ObserverKind};
use crate::option::ADDRESS;
use crate::pace::{SAMPLE_HZ, SamplingPace};
use crate::reader::{PendingRead, SignalReader};
use connection::{PostgresConnection, PostgresError};

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "postgres",
    watches: "PostgreSQL",
    example: "observe.postgres(url)",
    alternatives: "",
    reports: "`sessions{wait=…}` (active sessions by what they wait for), `sessions_by_statement{…}`, `blocked`, `blocked_by{…}`, \
        `connections{state=…}`, `commits`, `wal_bytes`",
    options: &[ADDRESS, SAMPLE_HZ],
    on_macos: MacSupport::Full,
    make: |description| Ok(Box::new(Postgres::from_description(description)?)),
};

const OBSERVER_COMMITS: MetricSpec<'_> =
    MetricSpec::counter("observer_commits", unit::COUNT, "Transactions of the observer itself, which are among the commits")
        .role(Role::ObserverCommits);

const ROUND_TRIP: MetricSpec<'_> =
    MetricSpec::gauge("round_trip", unit::SECONDS, "Shortest time in which the server answered a sample of the sessions")
        .role(Role::RoundTrip);

struct Postgres {
    connection: PostgresConnection,
    pace: SamplingPace,
    sessions: SessionSamples,
    /// The observer's own transactions, which the server includes in its counts.
    commits: u64,
    /// The shortest sample since the last report. Seconds.
    shortest_s: f64,
    /// The server's features, read once per connection.
    features: Option<counters::Features>,
}

impl SignalReader for Postgres {
    fn period_ns(&self, _every_ns: u64) -> u64 {
        self.pace.period_ns()
    }

    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async { Ok(self.look(out).await?) })
    }

    fn reset(&mut self) {
        self.connection.reset();
        self.features = None;
        // Samples from before a gap are not valid for the time after it.
        self.sessions = SessionSamples::default();
        self.pace.reset();
    }
}

impl Postgres {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        Ok(Self {
            connection: PostgresConnection::from_description(description)?,
            pace: SamplingPace::from_description(description),
            sessions: SessionSamples::default(),
            commits: 0,
            shortest_s: f64::INFINITY,
            features: None,
        })
    }

    /// # Errors
    /// When the server does not respond to a query.
    async fn look(&mut self, out: &mut SignalCollector) -> Result<(), PostgresError> {
        let look = self.pace.begin();
        let client = self.connection.client().await?;
        let features = match &self.features {
            Some(features) => features,
            None => self.features.insert(counters::Features::ask(client).await?),
        };
        let asked = Monotonic::start();
        sessions::sample(client, &features.sample, &mut self.sessions).await?;
        self.shortest_s = self.shortest_s.min(asked.now() as f64 / 1e9);
        self.commits += 1;
        if look.is_report {
            sessions::sample_locks(client, &features.locks, &mut self.sessions).await?;
            // Waits are reported first, because readers check them first.
            self.sessions.report(sessions::role_of_wait, out);
            counters::read(client, features, out).await?;
            self.commits += features.queries_per_report();
            out.put(OBSERVER_COMMITS, self.commits as f64);
            out.put(ROUND_TRIP, self.shortest_s);
            self.shortest_s = f64::INFINITY;
        }
        self.pace.end(&look, out);
        Ok(())
    }
}
