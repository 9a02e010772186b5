//! Header fields, cookies and redirects of HTTP/1.1.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_protocol::fuzzing::head(input));
