//! Records of tools that `loadstone watch` reads. The first byte selects the format.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((first, record)) = input.split_first() else { return };
    let names = loadstone_watch::format_names();
    if usize::from(*first) == names.len() {
        let _ = loadstone_watch::printed_percentiles(&String::from_utf8_lossy(record));
        return;
    }
    let model = loadstone_plan::LoadModel::Arrivals;
    // Lines that cannot be read are counted.
    let _ = loadstone_watch::read_all(names[usize::from(*first) % names.len()], Default::default(), model, 1_700_000_000_000_000_000, record);
});
