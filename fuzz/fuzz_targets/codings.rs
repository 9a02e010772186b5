//! Content codings: gzip, deflate, brotli, Zstandard, and stacks of them.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_protocol::fuzzing::codings(input));
