//! Test files.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_script::fuzzing::typescript(input));
