//! The inputs of the fuzz target `records`, cut and changed, by the same functions.

use loadstone_plan::LoadModel;
use loadstone_watch::{ReaderChoices, format_names, printed_percentiles, read_all};

/// As the fuzz target reads an input: the first byte selects the format.
fn read(input: &[u8]) {
    let (names, (first, record)) = (format_names(), input.split_first().expect("a first byte"));
    if usize::from(*first) == names.len() {
        let _ = printed_percentiles(&String::from_utf8_lossy(record));
        return;
    }
    let name = names[usize::from(*first) % names.len()];
    read_all(name, ReaderChoices::default(), LoadModel::Arrivals, 1_700_000_000_000_000_000, record).expect("the format exists");
}

#[test]
fn damaged_records_do_not_crash_their_readers() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/records");
    let mut selected: Vec<u8> = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the seeds") {
        let seed = std::fs::read(entry.expect("a seed").path()).expect("a seed");
        selected.push(seed[0]);
        for at in 1..seed.len() {
            read(&seed[..at]);
            let mut changed = seed.clone();
            changed[at] = b"\0\xff\"[{,-9\n"[at % 9];
            read(&changed);
        }
    }
    selected.sort_unstable();
    selected.dedup();
    assert_eq!(selected.len(), format_names().len() + 1, "each format, and the summaries, have a seed");
}
