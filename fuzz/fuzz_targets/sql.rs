//! Answers of PostgreSQL and of MySQL.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_protocol::fuzzing::sql(input));
