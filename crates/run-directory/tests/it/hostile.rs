//! Run directories from somebody else: limits while they are read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use loadstone_run_directory::{Reader, RunError, Writer, files};
use tempfile::TempDir;

use crate::fixtures;

fn stored() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), fixtures::info(), &fixtures::plan("shop")).unwrap();
    writer.snapshot(&fixtures::slice(0, &["List"], 5)).unwrap();
    let directory = writer.directory().to_owned();
    (folder, directory)
}

#[test]
fn a_compressed_part_that_decompresses_to_an_endless_line_is_refused() {
    let (_folder, directory) = stored();
    let bomb = zstd::encode_all(&*vec![b' '; 70 << 20], 1).unwrap();
    assert!(bomb.len() < 100_000);
    fs::write(directory.join("snapshots-3600.jsonl.zst"), bomb).unwrap();
    let error = Reader::open(&directory).unwrap().run().unwrap_err();
    assert!(matches!(error, RunError::Corrupt { line: 1, .. }) && error.to_string().contains("more than 64 MiB"), "{error}");
}

#[test]
fn only_regular_files_are_read() {
    for file in [files::RUN, files::SNAPSHOTS, files::END, files::NOTES] {
        let (_folder, directory) = stored();
        let path = directory.join(file);
        let _ = fs::remove_file(&path);
        symlink("/dev/zero", &path).unwrap();
        let error = Reader::open(&directory).and_then(Reader::run).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{file}: {error}");
    }
}
