//! Packets and messages of a fleet.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_fleet::fuzzing::packets(input));
