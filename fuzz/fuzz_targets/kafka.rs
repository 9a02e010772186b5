//! Batches of records as a partition of Kafka holds them.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_protocol::fuzzing::kafka(input));
