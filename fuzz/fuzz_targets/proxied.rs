//! Both directions of a connection through the proxy of `loadstone watch`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_watch::fuzzing::proxied(input));
