//! The chunked transfer coding, against a second decoder.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_protocol::fuzzing::chunked(input));
