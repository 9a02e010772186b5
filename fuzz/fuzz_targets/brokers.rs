//! Responses of Kafka to the load's client.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_protocol::fuzzing::kafka_answers(input));
