//! JSON paths, CSS selectors and XPath, and the bodies that they read.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_script::fuzzing::extract(input));
