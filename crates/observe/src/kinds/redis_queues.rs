//! Queues of known systems in Redis. Sidekiq's are found by their keys: its queues, its sets of retried, scheduled and dead jobs, and its busy workers.
//! The test names the queues of BullMQ and Celery, because nothing in Redis lists them. Consumer groups are those of the streams that the test names.
//!
//! Sidekiq keeps the names of its queues in the set `queues`, each queue as the list `queue:NAME`, and each process as a hash with a field `busy`, its name
//! in the set `processes` (Sidekiq's `api.rb`). No keys are searched, because the cost of `SCAN` and `KEYS` is proportional to the number of keys.

use std::collections::HashMap;

use loadstone_metrics::{Role, unit};
use redis::RedisError;
use redis::aio::MultiplexedConnection;

use crate::collector::{MetricSpec, SignalCollector, label};

/// Limits on queues and processes.
const NAMES_MAX: usize = 64;

const QUEUE: MetricSpec<'_> = MetricSpec::gauge("sidekiq_queue", unit::COUNT, "Jobs that wait in the queue").role(Role::QueueLength);
const BUSY: MetricSpec<'_> = MetricSpec::gauge("sidekiq_busy", unit::COUNT, "Workers that have a job").role(Role::QueueTaken);
const WORKERS: MetricSpec<'_> = MetricSpec::gauge("sidekiq_workers", unit::COUNT, "Workers of all processes").role(Role::QueueWorkers);
const PROCESSED: MetricSpec<'_> = MetricSpec::counter("sidekiq_processed", unit::COUNT, "Jobs that ended");
const FAILED: MetricSpec<'_> = MetricSpec::counter("sidekiq_failed", unit::COUNT, "Jobs that failed");

/// Sorted set, and the metric of its length.
const SETS: [(&str, MetricSpec<'_>); 3] = [
    ("retry", MetricSpec::gauge("sidekiq_retry", unit::COUNT, "Failed jobs that wait to be tried again")),
    ("schedule", MetricSpec::gauge("sidekiq_scheduled", unit::COUNT, "Jobs for later")),
    ("dead", MetricSpec::gauge("sidekiq_dead", unit::COUNT, "Jobs that failed for good")),
];

/// Reads Sidekiq's keys; reports nothing where Sidekiq never ran. `not_named`: lists that are already read by their name. Returns the number of missing
/// keys, which the server counts as misses.
///
/// # Errors
/// When a command fails, for example because a permission is missing.
pub(super) async fn sidekiq(
    connection: &mut MultiplexedConnection,
    not_named: &[String],
    out: &mut SignalCollector,
) -> Result<f64, RedisError> {
    let mut members = redis::pipe();
    members.cmd("SMEMBERS").arg("queues").cmd("SMEMBERS").arg("processes");
    let (mut queues, processes): (Vec<String>, Vec<String>) = members.query_async(connection).await?;
    let mut missing = f64::from(u8::from(queues.is_empty()) + u8::from(processes.is_empty()));
    if queues.is_empty() && processes.is_empty() {
        return Ok(missing);
    }
    queues.sort();
    queues.retain(|queue| !not_named.contains(&format!("queue:{queue}")));
    queues.truncate(NAMES_MAX);
    let processes = &processes[..processes.len().min(NAMES_MAX)];

    let mut lengths = redis::pipe();
    for queue in &queues {
        lengths.cmd("LLEN").arg(format!("queue:{queue}"));
    }
    for (key, _) in SETS {
        lengths.cmd("ZCARD").arg(key);
    }
    let lengths: Vec<f64> = lengths.query_async(connection).await?;
    // Redis removes the key of an empty list or set.
    missing += lengths.iter().filter(|length| **length == 0.0).count() as f64;
    for (queue, length) in queues.iter().zip(&lengths) {
        let shown = label(queue);
        out.put_labelled(QUEUE.part(&shown), &[("queue", &shown)], *length);
    }
    for ((_, metric), length) in SETS.into_iter().zip(&lengths[queues.len()..]) {
        out.put(metric, *length);
    }

    let mut totals = redis::pipe();
    for key in ["stat:processed", "stat:failed"] {
        totals.cmd("GET").arg(key);
    }
    for process in processes {
        totals.cmd("HMGET").arg(process).arg("busy").arg("info");
    }
    let values: Vec<redis::Value> = totals.query_async(connection).await?;
    missing += values.iter().filter(|value| **value == redis::Value::Nil).count() as f64;
    let (processed, failed, processes) = read_totals(&values);
    for (metric, total) in [(PROCESSED, processed), (FAILED, failed)] {
        out.put(metric, total);
    }
    let sum = |of: fn(&(f64, f64)) -> f64| processes.iter().map(of).sum();
    out.put(BUSY, sum(|process| process.0));
    out.put(WORKERS, sum(|process| process.1));
    Ok(missing)
}

/// Processed and failed jobs, and the busy workers and all workers of each process.
fn read_totals(values: &[redis::Value]) -> (f64, f64, Vec<(f64, f64)>) {
    let total = |place: usize| {
        values.get(place).and_then(|value| redis::from_redis_value::<Option<f64>>(value.clone()).ok().flatten()).unwrap_or(0.0)
    };
    let processes = values.iter().skip(2).filter_map(|value| {
        let (busy, info): (Option<f64>, Option<String>) = redis::from_redis_value(value.clone()).ok()?;
        let info: serde_json::Value = serde_json::from_str(&info?).ok()?;
        Some((busy.unwrap_or(0.0), info["concurrency"].as_f64().unwrap_or(0.0)))
    });
    (total(0), total(1), processes.collect())
}

/// Commands for a queue of BullMQ, which keeps `bull:NAME:wait` and `active` as lists, and `prioritized`, `delayed` and `failed` as sorted sets (its
/// `queue-keys.ts`).
const BULLMQ: [(&[(&str, &str)], MetricSpec<'_>); 4] = [
    (
        &[("LLEN", "wait"), ("ZCARD", "prioritized")],
        MetricSpec::gauge("bullmq_waiting", unit::COUNT, "Jobs that wait for a worker").role(Role::QueueLength),
    ),
    (&[("LLEN", "active")], MetricSpec::gauge("bullmq_active", unit::COUNT, "Jobs that a worker has").role(Role::QueueTaken)),
    (&[("ZCARD", "delayed")], MetricSpec::gauge("bullmq_delayed", unit::COUNT, "Jobs for later")),
    (&[("ZCARD", "failed")], MetricSpec::gauge("bullmq_failed", unit::COUNT, "Jobs that failed for good and are kept")),
];

/// Lengths of the named queues of BullMQ.
///
/// # Errors
/// When a command fails, because a permission is missing or a key has another type.
pub(super) async fn bullmq(connection: &mut MultiplexedConnection, queues: &[String], out: &mut SignalCollector) -> Result<(), RedisError> {
    let mut lengths = redis::pipe();
    for queue in queues {
        for (command, key) in BULLMQ.iter().flat_map(|(parts, _)| *parts) {
            lengths.cmd(command).arg(format!("bull:{queue}:{key}"));
        }
    }
    let lengths: Vec<f64> = lengths.query_async(connection).await?;
    let mut lengths = lengths.into_iter();
    for queue in queues {
        let shown = label(queue);
        for (parts, metric) in BULLMQ {
            out.put_labelled(metric.part(&shown), &[("queue", &shown)], lengths.by_ref().take(parts.len()).sum());
        }
    }
    Ok(())
}

const CELERY: MetricSpec<'_> = MetricSpec::gauge("celery_waiting", unit::COUNT, "Tasks that no worker has taken").role(Role::QueueLength);
const UNACKED: MetricSpec<'_> =
    MetricSpec::gauge("celery_unacknowledged", unit::COUNT, "Tasks that workers have taken and not finished").role(Role::QueueTaken);

/// A queue has a separate list for each of the priorities 0, 3, 6 and 9. One hash holds the tasks that workers have taken from any queue (Kombu's
/// `transport/redis.py`).
const CELERY_PRIORITIES: [&str; 4] = ["", "\u{6}\u{16}3", "\u{6}\u{16}6", "\u{6}\u{16}9"];

/// Lengths of the named queues of Celery.
///
/// # Errors
/// As of [`bullmq`].
pub(super) async fn celery(connection: &mut MultiplexedConnection, queues: &[String], out: &mut SignalCollector) -> Result<(), RedisError> {
    let mut lengths = redis::pipe();
    for (queue, priority) in queues.iter().flat_map(|queue| CELERY_PRIORITIES.map(|priority| (queue, priority))) {
        lengths.cmd("LLEN").arg(format!("{queue}{priority}"));
    }
    lengths.cmd("HLEN").arg("unacked");
    let lengths: Vec<f64> = lengths.query_async(connection).await?;
    for (queue, lengths) in queues.iter().zip(lengths.chunks(CELERY_PRIORITIES.len())) {
        let shown = label(queue);
        out.put_labelled(CELERY.part(&shown), &[("queue", &shown)], lengths.iter().sum());
    }
    out.put(UNACKED, lengths.last().copied().unwrap_or(0.0));
    Ok(())
}

const PENDING: MetricSpec<'_> =
    MetricSpec::gauge("stream_pending", unit::COUNT, "Entries delivered to the group's consumers and not acknowledged")
        .role(Role::QueueTaken);
const LAG: MetricSpec<'_> = MetricSpec::gauge("stream_lag", unit::COUNT, "Entries that the group has yet to read").role(Role::QueueLength);

/// Consumer groups of a stream; reports nothing if the stream is missing or has no groups.
///
/// # Errors
/// When the server does not answer. Refused commands are skipped: an account may have access to lengths but not to groups.
pub(super) async fn groups(connection: &mut MultiplexedConnection, stream: &str, out: &mut SignalCollector) -> Result<(), RedisError> {
    let groups: Result<Vec<HashMap<String, redis::Value>>, _> = redis::cmd("XINFO").arg("GROUPS").arg(stream).query_async(connection).await;
    let groups = match groups {
        Err(problem) if problem.code().is_none() => return Err(problem),
        groups => groups.unwrap_or_default(),
    };
    for group in groups {
        let number = |field: &str| redis::from_redis_value::<Option<f64>>(group.get(field)?.clone()).ok().flatten();
        let name = group.get("name").and_then(|name| redis::from_redis_value::<String>(name.clone()).ok()).unwrap_or_default();
        let (stream, name) = (label(stream), label(&name));
        let part = format!("{stream}/{name}");
        for (metric, field) in [(PENDING, "pending"), (LAG, "lag")] {
            // Redis before 7 reports no lag; later versions report none after entries were deleted.
            if let Some(value) = number(field) {
                out.put_labelled(metric.part(&part), &[("key", &stream), ("group", &name)], value);
            }
        }
    }
    Ok(())
}
