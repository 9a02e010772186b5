//! The data that a trend needs from each run, cached in one file in the runs folder, so that thousands of runs are not read again. Read [`TrendIndex`].
//!
//! It is only a cache: a run whose files changed is read again, and so are all runs if the cache is missing or damaged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use loadstone_analysis::{Grade, LoadShape, Summary, TrendNumbers, TrendRun};
use loadstone_run_directory::{History, Reader, RunEnd, Writer, files};
use serde::{Deserialize, Serialize};

const FILE: &str = "trend-index.json";
/// Incremented whenever a build would read different data from the same runs.
const SCHEMA: u32 = 1;
/// Files that a trend reads.
const FILES_READ: [&str; 4] = [files::RUN, files::END, files::SUMMARY, files::NOTES];

/// The runs of a folder by directory name.
pub(super) struct TrendIndex {
    folder: PathBuf,
    runs: BTreeMap<String, IndexedRun>,
    is_changed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct IndexedRun {
    /// Size and modification time of each file in [`FILES_READ`]. `None`: the file does not exist.
    files: [Option<FileState>; FILES_READ.len()],
    pub(super) test: String,
    pub(super) is_complete: bool,
    pub(super) load: LoadShape,
    pub(super) run: TrendRun,
    pub(super) concluded: Option<IndexedConclusion>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct IndexedConclusion {
    pub(super) grade: Grade,
    pub(super) numbers: TrendNumbers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FileState {
    bytes: u64,
    modified_ns: u64,
}

#[derive(Serialize, Deserialize)]
struct IndexFile {
    schema: u32,
    runs: BTreeMap<String, IndexedRun>,
}

impl TrendIndex {
    /// The index of a folder. Empty if it is not usable.
    pub(super) fn open(folder: &Path) -> Self {
        let bytes = Reader::conclusion(folder, FILE).ok().flatten();
        let file = bytes.and_then(|bytes| serde_json::from_slice::<IndexFile>(&bytes).ok()).filter(|file| file.schema == SCHEMA);
        Self { folder: folder.to_owned(), runs: file.map(|file| file.runs).unwrap_or_default(), is_changed: false }
    }

    /// One run, read again if its files changed. `None`: it cannot be read.
    pub(super) fn run(&mut self, name: &str) -> Option<IndexedRun> {
        let directory = self.folder.join(name);
        let files = FILES_READ.map(|file| stamp(&directory.join(file)));
        if let Some(known) = self.runs.get(name).filter(|known| known.files == files) {
            return Some(known.clone());
        }
        self.is_changed |= self.runs.remove(name).is_some();
        let run = read(&directory, files)?;
        // A run in progress, or one that is not concluded yet, will change soon.
        if run.concluded.is_some() {
            self.runs.insert(name.to_owned(), run.clone());
            self.is_changed = true;
        }
        Some(run)
    }

    /// Stores the entries of existing runs. If the folder is not writable, the runs are read again next time.
    pub(super) fn keep(mut self, names: &[String]) {
        if !self.is_changed {
            return;
        }
        let there: std::collections::HashSet<&String> = names.iter().collect();
        self.runs.retain(|name, _| there.contains(name));
        if let Ok(bytes) = serde_json::to_vec(&IndexFile { schema: SCHEMA, runs: self.runs }) {
            let _ = Writer::conclusion(&self.folder, FILE, &bytes);
        }
    }
}

fn stamp(path: &Path) -> Option<FileState> {
    let facts = std::fs::metadata(path).ok()?;
    let modified = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(FileState { bytes: facts.len(), modified_ns: modified.as_nanos() as u64 })
}

fn read(directory: &Path, files: [Option<FileState>; FILES_READ.len()]) -> Option<IndexedRun> {
    let entry = History::entry(directory).ok()?;
    let load = LoadShape::of(Reader::open(directory).ok()?.plan());
    let summary = entry.summary.and_then(|value| serde_json::from_value::<Summary>(value).ok());
    let concluded = summary
        .map(|summary| IndexedConclusion { grade: summary.verdict.validity.grade, numbers: TrendNumbers::of(&summary) })
        .filter(|_| entry.end.is_some());
    let info = entry.info;
    let run = TrendRun { id: info.id, started: info.started, commit: info.commit, tags: info.tags };
    Some(IndexedRun { files, test: entry.test, is_complete: entry.end == Some(RunEnd::Completed), load, run, concluded })
}
