//! The functions that the fuzz targets call. Each reads arbitrary bytes as what a service, a runtime or a broker sends to an observer.
//!
//! Behind the feature `fuzzing` and in this crate's own tests, so that no parser becomes part of the crate's public API.

use super::{go, json, jvm, kafka, native, node, prometheus, python, redis_info, statsd, traces};
use crate::collector::SignalCollector;

/// Metrics and traces: expositions of Prometheus, packets of StatsD, JSON, `INFO` of Redis, responses of Kafka, messages of OTLP.
pub fn telemetry(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut out = SignalCollector::new("fuzz");
    prometheus::fuzzing::exposition(&text, &mut out);
    statsd::fuzzing::packet(&text, &mut out);
    json::fuzzing::document(input, &mut out);
    redis_info::fuzzing::info(&text, &mut out);
    kafka::fuzzing::responses(input);
    traces::fuzzing::message(input);
    assert!(out.finish(0).iter().all(|(_, point)| point.value.is_finite()), "a reading that is no number");
}

/// Stacks and profiles of runtimes: goroutines and profiles of Go, dumps and counters of a JVM, py-spy's dumps, profiles of V8.
pub fn runtimes(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    go::fuzzing::profile(input);
    jvm::fuzzing::dump(&text);
    jvm::fuzzing::counters(input);
    python::fuzzing::dump(input);
    node::fuzzing::profile(input);
}

/// What native code is read from: perf records, maps of processes, names of functions.
pub fn native(input: &[u8]) {
    native::fuzzing::records(input);
}

/// A program or library whose symbols are read.
pub fn elf(input: &[u8]) {
    native::fuzzing::elf(input);
}

#[cfg(test)]
#[path = "../../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::damaged;
    use super::*;

    #[test]
    fn damaged_metrics_and_traces_end_with_an_error() {
        damaged("telemetry", telemetry);
    }

    #[test]
    fn damaged_profiles_and_dumps_end_with_an_error() {
        damaged("runtimes", runtimes);
    }

    #[test]
    fn damaged_records_end_with_an_error() {
        damaged("native", native);
    }

    #[test]
    fn damaged_programs_end_with_an_error() {
        damaged("elf", elf);
    }
}
