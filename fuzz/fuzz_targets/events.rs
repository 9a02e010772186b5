//! Server-sent events.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_protocol::fuzzing::events(input));
