//! Redis: `INFO`, the lengths of named lists and streams, and the queues of known systems.

use std::collections::HashMap;
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Role, unit};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ConnectionAddr, RedisError};

use super::redis_queues;
use crate::allowance::{self, Allowance};
use crate::collector::{MetricSpec, SignalCollector, label};
use crate::description::{ObserverDescription, without_credentials};
use crate::error::ObserveError;
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ADDRESS, ObserverOption, OptionValue};
use crate::reader::{PendingRead, SignalReader};

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "redis",
    watches: "Redis",
    example: "observe.redis(url, { lists: [\"jobs\"], streams: [\"events\"] })",
    alternatives: "",
    reports: "`list{key=…}`, `stream{key=…}` (queue lengths), `stream_lag{…}`, Sidekiq's `sidekiq_queue{queue=…}`, `commands`, `clients_blocked`, `memory`",
    options: &[
        ADDRESS,
        ObserverOption { name: "lists", takes: OptionValue::Texts, help: "keys of lists whose lengths are read" },
        ObserverOption { name: "streams", takes: OptionValue::Texts, help: "keys of streams whose lengths and consumer groups are read" },
        ObserverOption { name: "bullmq", takes: OptionValue::Texts, help: "names of BullMQ's queues" },
        ObserverOption { name: "celery", takes: OptionValue::Texts, help: "names of Celery's queues; Celery's default is celery" },
    ],
    on_macos: MacSupport::Full,
    make: |description| Ok(Box::new(Redis::from_description(description)?)),
};

/// Field of `INFO`.
const FIELDS: [(&str, MetricSpec<'_>); 15] = [
    ("connected_clients", MetricSpec::gauge("clients", unit::COUNT, "Connected clients")),
    ("blocked_clients", MetricSpec::gauge("clients_blocked", unit::COUNT, "Clients waiting in a blocking command")),
    ("used_memory", MetricSpec::gauge("memory", unit::BYTES, "Memory used for data")),
    ("used_memory_rss", MetricSpec::gauge("memory_resident", unit::BYTES, "Resident memory")),
    ("total_commands_processed", MetricSpec::counter("commands", unit::COUNT, "Commands processed").role(Role::Statements)),
    ("total_connections_received", MetricSpec::counter("connections", unit::COUNT, "Connections accepted")),
    ("rejected_connections", MetricSpec::counter("connections_rejected", unit::COUNT, "Connections refused because of maxclients")),
    ("keyspace_hits", MetricSpec::counter("hits", unit::COUNT, "Look-ups that found a key")),
    ("keyspace_misses", MetricSpec::counter("misses", unit::COUNT, "Look-ups that found no key")),
    ("expired_keys", MetricSpec::counter("expired", unit::COUNT, "Keys that expired")),
    ("evicted_keys", MetricSpec::counter("evicted", unit::COUNT, "Keys evicted because memory was full")),
    ("total_net_input_bytes", MetricSpec::counter("received_bytes", unit::BYTES, "Bytes received")),
    ("total_net_output_bytes", MetricSpec::counter("sent_bytes", unit::BYTES, "Bytes sent")),
    ("used_cpu_user", MetricSpec::counter("cpu_user", unit::SECONDS, "CPU time in user mode")),
    ("used_cpu_sys", MetricSpec::counter("cpu_system", unit::SECONDS, "CPU time in the kernel")),
];

const ROUND_TRIP: MetricSpec<'_> =
    MetricSpec::gauge("round_trip", unit::SECONDS, "Time until the server answered the observer's `INFO`").role(Role::RoundTrip);

const KEYS: MetricSpec<'_> = MetricSpec::gauge("keys", unit::COUNT, "Keys in all databases");

/// Command, and the metric of its result.
const LENGTHS: [(&str, MetricSpec<'_>); 2] = [
    ("LLEN", MetricSpec::gauge("list", unit::COUNT, "Length of the list or stream").role(Role::QueueLength)),
    ("XLEN", MetricSpec::gauge("stream", unit::COUNT, "Length of the list or stream").role(Role::QueueLength)),
];

/// Limit for a connection and for each answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

#[derive(Debug, thiserror::Error)]
enum RedisReadError {
    #[error("cannot connect: {0}")]
    Connect(RedisError),
    #[error("INFO failed: {0}")]
    Info(RedisError),
    #[error("cannot read Sidekiq's queues: {0}")]
    Sidekiq(RedisError),
    #[error("cannot read the queues of {system}: {problem}")]
    Queues { system: &'static str, problem: RedisError },
    #[error("cannot read the groups of {key}: {problem}")]
    Groups { key: String, problem: RedisError },
    #[error("{command} {key} failed: {problem}")]
    Length { command: &'static str, key: String, problem: RedisError },
}

struct Redis {
    client: redis::Client,
    connection: Option<MultiplexedConnection>,
    allowance: Allowance,
    /// Keys for each of [`LENGTHS`].
    keys: [Vec<String>; 2],
    /// Queues of BullMQ and of Celery.
    bullmq: Vec<String>,
    celery: Vec<String>,
    /// Whether Sidekiq's keys may be read.
    sidekiq: bool,
    /// Misses on the server that the search for Sidekiq caused.
    own_misses: f64,
}

impl SignalReader for Redis {
    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async { Ok(self.look(out).await?) })
    }

    fn reset(&mut self) {
        self.connection = None;
        self.own_misses = 0.0;
    }
}

impl Redis {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let url = description.required_text("url");
        let wrong = |problem| description.problem(format!("\"{}\" is not a redis:// URL: {problem}", without_credentials(url)));
        let client = redis::Client::open(url).map_err(wrong)?;
        Ok(Self {
            client,
            connection: None,
            allowance: Allowance::default(),
            keys: [description.texts("lists"), description.texts("streams")],
            bullmq: description.texts("bullmq"),
            celery: description.texts("celery"),
            sidekiq: true,
            own_misses: 0.0,
        })
    }

    /// Through a stream that limits what the server may send.
    async fn connect(&self) -> Result<MultiplexedConnection, RedisError> {
        let info = self.client.get_connection_info();
        let stream = match info.addr() {
            ConnectionAddr::Tcp(host, port) => allowance::tcp(host, *port, &self.allowance).await?,
            ConnectionAddr::Unix(path) => allowance::unix(path, &self.allowance).await?,
            _ => return Err(RedisError::from((redis::ErrorKind::InvalidClientConfig, "TLS is not supported: use redis://"))),
        };
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(ANSWER_WITHIN));
        let (connection, driver) = MultiplexedConnection::new_with_config(info.redis_settings(), stream, config).await?;
        tokio::task::spawn_local(driver);
        Ok(connection)
    }

    /// # Errors
    /// When the server does not respond, or a named key is not a list, a stream or a queue.
    async fn look(&mut self, out: &mut SignalCollector) -> Result<(), RedisReadError> {
        self.allowance.renew();
        let mut connection = match &self.connection {
            Some(connection) => connection.clone(),
            None => {
                let connected = tokio::time::timeout(ANSWER_WITHIN, self.connect()).await;
                let connected = connected.unwrap_or_else(|_| Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()));
                self.connection.insert(connected.map_err(RedisReadError::Connect)?).clone()
            }
        };
        let asked = Monotonic::start();
        let info: String = redis::cmd("INFO").query_async(&mut connection).await.map_err(RedisReadError::Info)?;
        out.put(ROUND_TRIP, asked.now() as f64 / 1e9);
        put_info(&info, self.own_misses, out);
        for ((command, metric), keys) in LENGTHS.into_iter().zip(&self.keys) {
            for key in keys {
                let length: Result<f64, _> = redis::cmd(command).arg(key).query_async(&mut connection).await;
                let length = length.map_err(|problem| RedisReadError::Length { command, key: key.clone(), problem })?;
                let shown = label(key);
                out.put_labelled(metric.part(&shown), &[("key", &shown)], length);
            }
        }
        for key in &self.keys[1] {
            let read = redis_queues::groups(&mut connection, key, out).await;
            read.map_err(|problem| RedisReadError::Groups { key: key.clone(), problem })?;
        }
        if !self.bullmq.is_empty() {
            let read = redis_queues::bullmq(&mut connection, &self.bullmq, out).await;
            read.map_err(|problem| RedisReadError::Queues { system: "BullMQ", problem })?;
        }
        if !self.celery.is_empty() {
            let read = redis_queues::celery(&mut connection, &self.celery, out).await;
            read.map_err(|problem| RedisReadError::Queues { system: "Celery", problem })?;
        }
        if self.sidekiq {
            let read = redis_queues::sidekiq(&mut connection, &self.keys[0], out).await;
            // The server forbids these keys, or another program uses keys of these names. Neither changes later.
            self.sidekiq = match read {
                Err(problem) if problem.code().is_none() => return Err(RedisReadError::Sidekiq(problem)),
                Err(_) => false,
                Ok(missing) => {
                    self.own_misses += missing;
                    true
                }
            };
        }
        Ok(())
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing {
    use super::SignalCollector;

    pub(in crate::kinds) fn info(text: &str, out: &mut SignalCollector) {
        super::put_info(text, 0.0, out);
    }
}

fn put_info(info: &str, own_misses: f64, out: &mut SignalCollector) {
    let fields: HashMap<&str, &str> = info.lines().filter_map(|line| line.trim_end().split_once(':')).collect();
    for (field, metric) in FIELDS {
        if let Some(value) = fields.get(field).and_then(|text| text.parse::<f64>().ok()) {
            let own = if field == "keyspace_misses" { own_misses } else { 0.0 };
            out.put(metric, (value - own).max(0.0));
        }
    }
    let keys = fields.iter().filter(|(name, _)| name.starts_with("db"));
    let keys = keys.filter_map(|(_, text)| text.strip_prefix("keys=")?.split(',').next()?.parse::<f64>().ok()).sum();
    out.put(KEYS, keys);
}
