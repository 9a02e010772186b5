//! Queues of known systems in Redis, found by their keys: Sidekiq's, its sets of what is to be retried, scheduled or dead, and its busy workers.
//!
//! Sidekiq keeps the names of its queues in the set `queues`, each queue as the list `queue:NAME`, and each process as a hash with a field `busy`, its name
//! in the set `processes` (Sidekiq's `api.rb`). Nothing is searched for: `SCAN` and `KEYS` cost as much as there are keys.

use metrics::{Role, unit};
use redis::RedisError;
use redis::aio::MultiplexedConnection;

use crate::collector::{MetricSpec, SignalCollector, label};

/// Queues and processes that are read at most.
const NAMES_MAX: usize = 64;

const QUEUE: MetricSpec<'_> = MetricSpec::gauge("sidekiq_queue", unit::COUNT, "Jobs that wait in the queue").role(Role::QueueLength);
const BUSY: MetricSpec<'_> = MetricSpec::gauge("sidekiq_busy", unit::COUNT, "Workers that have a job");
const WORKERS: MetricSpec<'_> = MetricSpec::gauge("sidekiq_workers", unit::COUNT, "Workers of all processes");
const PROCESSED: MetricSpec<'_> = MetricSpec::counter("sidekiq_processed", unit::COUNT, "Jobs that ended");
const FAILED: MetricSpec<'_> = MetricSpec::counter("sidekiq_failed", unit::COUNT, "Jobs that failed");

/// Sorted set, and what its length is.
const SETS: [(&str, MetricSpec<'_>); 3] = [
    ("retry", MetricSpec::gauge("sidekiq_retry", unit::COUNT, "Failed jobs that wait to be tried again")),
    ("schedule", MetricSpec::gauge("sidekiq_scheduled", unit::COUNT, "Jobs for later")),
    ("dead", MetricSpec::gauge("sidekiq_dead", unit::COUNT, "Jobs that failed for good")),
];

/// Reads what Sidekiq has written; puts nothing where it never ran. `not_named`: lists that are read by their name already. Returns how many keys were asked
/// for that are not there, which the server counts as misses.
///
/// # Errors
/// When a command fails, for want of a permission for instance.
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
    // An empty list or set is a key that is not there.
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

/// Jobs processed and failed, and of each process its busy workers and how many it has.
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
