//! What observed services send: Prometheus, StatsD, JSON, INFO of Redis, responses of Kafka, OTLP.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_observe::fuzzing::telemetry(input));
