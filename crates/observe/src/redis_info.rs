//! Redis: `INFO`, and the lengths of named lists and streams.

use std::collections::HashMap;
use std::time::Duration;

use metrics::SignalKind;
use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;

use crate::ObserveError;
use crate::description::Description;
use crate::readings::{Readings, label};

pub(crate) struct Redis {
    client: redis::Client,
    connection: Option<MultiplexedConnection>,
    lists: Vec<String>,
    streams: Vec<String>,
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redis({:?}, {:?})", self.lists, self.streams)
    }
}

/// Field of `INFO`, metric, kind, unit, help.
const FIELDS: [(&str, &str, SignalKind, &str, &str); 15] = [
    ("connected_clients", "clients", SignalKind::Gauge, "1", "Connected clients"),
    ("blocked_clients", "clients_blocked", SignalKind::Gauge, "1", "Clients waiting in a blocking command"),
    ("used_memory", "memory", SignalKind::Gauge, "bytes", "Memory used for data"),
    ("used_memory_rss", "memory_resident", SignalKind::Gauge, "bytes", "Resident memory"),
    ("total_commands_processed", "commands", SignalKind::Counter, "1", "Commands processed"),
    ("total_connections_received", "connections", SignalKind::Counter, "1", "Connections accepted"),
    ("rejected_connections", "connections_rejected", SignalKind::Counter, "1", "Connections refused because of maxclients"),
    ("keyspace_hits", "hits", SignalKind::Counter, "1", "Look-ups that found a key"),
    ("keyspace_misses", "misses", SignalKind::Counter, "1", "Look-ups that found none"),
    ("expired_keys", "expired", SignalKind::Counter, "1", "Keys that expired"),
    ("evicted_keys", "evicted", SignalKind::Counter, "1", "Keys dropped for lack of memory"),
    ("total_net_input_bytes", "received_bytes", SignalKind::Counter, "bytes", "Bytes received"),
    ("total_net_output_bytes", "sent_bytes", SignalKind::Counter, "bytes", "Bytes sent"),
    ("used_cpu_user", "cpu_user", SignalKind::Counter, "seconds", "CPU time in user mode"),
    ("used_cpu_sys", "cpu_system", SignalKind::Counter, "seconds", "CPU time in the kernel"),
];

impl Redis {
    pub(crate) fn from_description(description: &mut Description<'_>) -> Result<Self, ObserveError> {
        let url = description.required_text("url")?;
        let client =
            redis::Client::open(url).map_err(|problem| description.problem(format!("\"{url}\" is not a redis:// URL: {problem}")))?;
        Ok(Self { client, connection: None, lists: description.texts("lists")?, streams: description.texts("streams")? })
    }

    pub(crate) fn reset(&mut self) {
        self.connection = None;
    }

    /// # Errors
    /// When the server does not answer, or a named key is no list or stream.
    pub(crate) async fn read(&mut self, out: &mut Readings) -> Result<(), String> {
        let mut connection = match &self.connection {
            Some(connection) => connection.clone(),
            None => {
                let limit = Some(Duration::from_secs(3));
                let config = AsyncConnectionConfig::new().set_connection_timeout(limit).set_response_timeout(limit);
                let connected = self.client.get_multiplexed_async_connection_with_config(&config).await;
                let connection = connected.map_err(|problem| format!("cannot connect: {problem}"))?;
                self.connection.insert(connection).clone()
            }
        };
        let info: String = redis::cmd("INFO").query_async(&mut connection).await.map_err(|problem| format!("INFO failed: {problem}"))?;
        put_info(&info, out);
        for (command, keys, metric) in [("LLEN", &self.lists, "list"), ("XLEN", &self.streams, "stream")] {
            for key in keys {
                let length: Result<f64, _> = redis::cmd(command).arg(key).query_async(&mut connection).await;
                let length = length.map_err(|problem| format!("{command} {key} failed: {problem}"))?;
                out.gauge(&format!("{metric}{{key={}}}", label(key)), "1", "Length of the list or stream", length);
            }
        }
        Ok(())
    }
}

fn put_info(info: &str, out: &mut Readings) {
    let fields: HashMap<&str, &str> = info.lines().filter_map(|line| line.trim_end().split_once(':')).collect();
    for (field, metric, kind, unit, help) in FIELDS {
        if let Some(value) = fields.get(field).and_then(|text| text.parse().ok()) {
            out.push(kind, metric, unit, help, value);
        }
    }
    let keys = fields.iter().filter(|(name, _)| name.starts_with("db"));
    let keys = keys.filter_map(|(_, text)| text.strip_prefix("keys=")?.split(',').next()?.parse::<f64>().ok()).sum();
    out.gauge("keys", "1", "Keys in all databases", keys);
}
