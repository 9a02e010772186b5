//! Openings of connections to MySQL, PostgreSQL and Kafka.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_protocol::fuzzing::logins(input));
