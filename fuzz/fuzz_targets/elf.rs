//! Programs and libraries whose symbols are read.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_observe::fuzzing::elf(input));
