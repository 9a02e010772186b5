//! What the metrics of queues mean, by their names: jobs that wait, jobs that workers have taken, and workers.
//!
//! Read [`with_meaning`] first; the rest is a table of well-known exporters.

use loadstone_metrics::{Role, Signal};

/// Name of a metric as its exporter writes it, the value of its label `state` if it has one, and what it means.
const METRICS: [(&str, &str, Role); 22] = [
    // RabbitMQ's own plugin, with metrics for each queue, and kbudde/rabbitmq_exporter.
    ("rabbitmq_queue_messages_ready", "", Role::QueueLength),
    ("rabbitmq_queue_messages_unacked", "", Role::QueueTaken),
    ("rabbitmq_detailed_queue_messages_ready", "", Role::QueueLength),
    ("rabbitmq_detailed_queue_messages_unacked", "", Role::QueueTaken),
    ("rabbitmq_queue_messages_unacknowledged", "", Role::QueueTaken),
    // celery-exporter. It counts the tasks of each worker, for all queues together, and the processes of each queue.
    ("celery_queue_length", "", Role::QueueLength),
    ("celery_worker_tasks_active", "", Role::QueueTaken),
    ("celery_active_process_count", "", Role::QueueWorkers),
    // Flower.
    ("flower_worker_number_of_currently_executing_tasks", "", Role::QueueTaken),
    // Sidekiq, by prometheus_exporter.
    ("sidekiq_queue_backlog", "", Role::QueueLength),
    ("sidekiq_process_busy", "", Role::QueueTaken),
    ("sidekiq_process_concurrency", "", Role::QueueWorkers),
    ("ruby_sidekiq_queue_backlog", "", Role::QueueLength),
    ("ruby_sidekiq_process_busy", "", Role::QueueTaken),
    ("ruby_sidekiq_process_concurrency", "", Role::QueueWorkers),
    // BullMQ's own exporter; Bull's bull_exporter and bull-prom.
    ("bullmq_job_count", "waiting", Role::QueueLength),
    ("bullmq_job_count", "active", Role::QueueTaken),
    ("bull_queue_waiting", "", Role::QueueLength),
    ("bull_queue_active", "", Role::QueueTaken),
    ("jobs_waiting_total", "", Role::QueueLength),
    ("jobs_active_total", "", Role::QueueTaken),
    // Dramatiq's middleware.
    ("dramatiq_messages_inprogress", "", Role::QueueTaken),
];
/// Labels that name the queue.
const QUEUE_LABELS: [&str; 2] = ["queue", "queue_name"];

/// A signal with its role and its queue, where its name is that of a queue's metric.
pub(crate) fn with_meaning(signal: Signal) -> Signal {
    let state = signal.label_value("state").unwrap_or("");
    let found = METRICS.iter().find(|(name, wanted, _)| *name == signal.metric() && (wanted.is_empty() || *wanted == state));
    let Some((_, _, role)) = found else { return signal };
    let queue = QUEUE_LABELS.iter().find_map(|label| signal.label_value(label)).map(str::to_owned);
    match queue {
        Some(queue) => signal.role(*role).part(&queue),
        None => signal.role(*role),
    }
}
