//! HTTP/1.1 answers: head, Content-Length, chunked, until close.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_protocol::fuzzing::answer(input));
