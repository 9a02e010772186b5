//! WebSocket frames as a server sends them.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_protocol::fuzzing::frames(input));
