//! MySQL and MariaDB: what their sessions wait for, sampled ten times a second, and their counters, once per reading.
//!
//! Read [`waits`] first: what a session waits for comes from the performance schema where that instruments waits, and otherwise from the state that the
//! process list shows. The observer uses one connection and excludes its session from every figure. The signal `observer_seconds` has the time that its
//! queries take. The account needs `PROCESS`, and read access to `performance_schema`.

mod connection;
mod counters;
mod features;
mod metadata_locks;
mod sessions;
mod waits;

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
use connection::{MysqlConnection, MysqlError};
use counters::Counters;
use features::MysqlFeatures;

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "mysql",
    watches: "MySQL, MariaDB",
    example: "observe.mysql(url)",
    alternatives: "",
    reports: "`sessions{wait=…}` (active sessions by what they wait for), `sessions_by_statement{…}`, `blocked`, `blocked_by{…}`, \
        `connections{state=…}`, `commits`, `group_commit_size`, `redo_bytes`, `binlog_bytes`",
    options: &[ADDRESS, SAMPLE_HZ],
    on_macos: MacSupport::Full,
    make: |description| Ok(Box::new(Mysql::from_description(description)?)),
};

const ROUND_TRIP: MetricSpec<'_> =
    MetricSpec::gauge("round_trip", unit::SECONDS, "Shortest time in which the server answered a ping of the observer")
        .role(Role::RoundTrip);

struct Mysql {
    connection: MysqlConnection,
    pace: SamplingPace,
    sessions: SessionSamples,
    counters: Counters,
    /// The shortest ping since the last report. Seconds.
    shortest_s: f64,
    /// The server's features, read once per connection.
    features: Option<MysqlFeatures>,
}

impl SignalReader for Mysql {
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
        self.counters = Counters::default();
        self.shortest_s = f64::INFINITY;
        self.pace.reset();
    }
}

impl Mysql {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        Ok(Self {
            connection: MysqlConnection::from_description(description)?,
            pace: SamplingPace::from_description(description),
            sessions: SessionSamples::default(),
            counters: Counters::default(),
            shortest_s: f64::INFINITY,
            features: None,
        })
    }

    /// # Errors
    /// When the server does not respond to a query, or refuses it.
    async fn look(&mut self, out: &mut SignalCollector) -> Result<(), MysqlError> {
        let look = self.pace.begin();
        let server = self.connection.server().await?;
        let features = match &self.features {
            Some(features) => features,
            None => self.features.insert(MysqlFeatures::ask(server).await?),
        };
        let asked = Monotonic::start();
        server.ping().await?;
        self.shortest_s = self.shortest_s.min(asked.now() as f64 / 1e9);
        sessions::sample(server, features, &mut self.sessions).await?;
        if look.is_report {
            sessions::sample_locks(server, features, &mut self.sessions).await?;
            // Waits are reported first, because readers check them first.
            self.sessions.report(waits::role_of_wait, out);
            self.counters.read(server, features, out).await?;
            out.put(ROUND_TRIP, self.shortest_s);
            self.shortest_s = f64::INFINITY;
        }
        self.pace.end(&look, out);
        Ok(())
    }
}
