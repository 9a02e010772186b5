//! Profiles and dumps of Go, the JVM, Python and V8.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_observe::fuzzing::runtimes(input));
