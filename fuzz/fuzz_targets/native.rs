//! perf records, maps of processes, names of functions.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_observe::fuzzing::native(input));
