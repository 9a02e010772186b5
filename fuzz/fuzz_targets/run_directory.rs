//! A run directory from somebody else. The first byte selects the file that the rest of the input replaces.

#![no_main]

use std::fs;
use std::sync::OnceLock;

use loadstone_run_directory::Reader;

const FILES: [&str; 7] = ["run.json", "snapshots.jsonl", "signals.jsonl", "traces.jsonl", "end.json", "notes.json", "snapshots-minutes.jsonl.zst"];
const RUN: &str = include_str!("../run.json");

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    static FOLDER: OnceLock<std::path::PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("loadstone-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the run directory");
        folder
    });
    let Some((first, content)) = input.split_first() else { return };
    let file = FILES[usize::from(*first) % FILES.len()];
    fs::write(folder.join("run.json"), RUN).expect("the run is written");
    fs::write(folder.join(file), content).expect("the file is written");
    // A directory that cannot be read is an error.
    if let Ok(reader) = Reader::open(folder) {
        let _ = reader.run();
    }
    fs::remove_file(folder.join(file)).expect("the file is removed");
});
