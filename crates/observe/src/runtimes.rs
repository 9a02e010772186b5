//! What the metrics of language runtimes mean, by their names: time spent collecting garbage, the heap, the event loop.
//!
//! Read [`with_meaning`] first; the rest is a table of well-known exporters.

use loadstone_metrics::{Role, Signal};

/// Name of a metric as its exporter writes it, and what it means.
const METRICS: [(&str, Role); 11] = [
    // Micrometer, the Java client's hotspot collector, OpenTelemetry.
    ("jvm_gc_pause_seconds_sum", Role::GarbageCollection),
    ("jvm_gc_collection_seconds_sum", Role::GarbageCollection),
    ("process_runtime_jvm_gc_duration_seconds_sum", Role::GarbageCollection),
    ("jvm_gc_duration_seconds_sum", Role::GarbageCollection),
    // prom-client of Node.
    ("nodejs_gc_duration_seconds_sum", Role::GarbageCollection),
    ("nodejs_eventloop_lag_seconds", Role::EventLoopDelay),
    // The Go client: pauses alone.
    ("go_gc_duration_seconds_sum", Role::GarbageCollection),
    ("jvm_memory_used_bytes", Role::HeapUsed),
    ("jvm_memory_bytes_used", Role::HeapUsed),
    ("jvm_memory_max_bytes", Role::HeapMax),
    ("jvm_memory_bytes_max", Role::HeapMax),
];
/// Part of the name of the memory that is full when a heap is.
const LONG_LIVED: [&str; 2] = ["old", "tenured"];

/// A signal with its role, where its name says that it is a runtime's.
pub(crate) fn with_meaning(signal: Signal) -> Signal {
    let Some((_, role)) = METRICS.iter().find(|(name, _)| *name == signal.metric()) else { return signal };
    let is_long_lived = ["id", "pool"].iter().filter_map(|label| signal.label_value(label)).any(|pool| {
        let pool = pool.to_ascii_lowercase();
        LONG_LIVED.iter().any(|word| pool.contains(word))
    });
    if matches!(role, Role::HeapUsed | Role::HeapMax) && !is_long_lived { signal } else { signal.role(*role) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_metrics::{SignalKind, unit};

    #[test]
    fn collections_and_the_old_generation_have_a_meaning() {
        let counter = |name: &str| with_meaning(Signal::new("app", name, SignalKind::Counter, unit::SECONDS).label("cause", "x")).role;
        assert_eq!(counter("jvm_gc_pause_seconds_sum"), Some(Role::GarbageCollection));
        assert_eq!(counter("jvm_gc_pause_seconds_count"), None);
        let memory =
            |id: &str| with_meaning(Signal::new("app", "jvm_memory_used_bytes", SignalKind::Gauge, unit::BYTES).label("id", id)).role;
        assert_eq!((memory("G1 Old Gen"), memory("Tenured Gen")), (Some(Role::HeapUsed), Some(Role::HeapUsed)));
        assert_eq!((memory("G1 Eden Space"), memory("Metaspace")), (None, None));
    }
}
