//! Data files: CSV, JSON, lines of JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_script::fuzzing::tables(input));
