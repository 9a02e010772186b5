//! Programs and libraries whose symbols are read.

#![no_main]

use std::sync::Once;

static HOOK: Once = Once::new();

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    // libFuzzer's hook aborts at every panic. The observer catches those of the library blazesym; any other still ends this target.
    HOOK.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    loadstone_observe::fuzzing::elf(input);
});
