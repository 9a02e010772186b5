//! Recordings that are replayed: access logs, HAR, GoReplay.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_script::fuzzing::recordings(input));
