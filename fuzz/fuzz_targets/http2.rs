//! What a server sends on a connection of HTTP/2.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_protocol::fuzzing::http2(input));
