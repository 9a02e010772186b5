//! Finished runs and the run in progress, as the page lists and draws them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use loadstone_report::{ReportView, RunRow, RunState};
use loadstone_run_directory::{History, Notes, Reader, RunError};
use loadstone_secrets::Secrets;
use serde::Deserialize;

/// Number of cached views: users compare two runs, and go back and forth.
const VIEWS_MAX: usize = 4;
/// A run writes every second. A run without an end that has been silent for longer was killed.
const SILENCE_MAX: Duration = Duration::from_secs(10);
const NOTE_CHARACTERS_MAX: usize = 10_000;
const TAGS_MAX: usize = 20;
const TAG_CHARACTERS_MAX: usize = 60;

/// A change to the note or the tags of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunEdit {
    note: Option<String>,
    tags: Option<Vec<String>>,
}

/// Why a request about a run is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{0}")]
    Wrong(String),
    #[error("{0}")]
    Missing(String),
    #[error("the run is still in progress: stop it first")]
    GoingOn,
}

pub(crate) struct RunArchive {
    folder: PathBuf,
    /// By name, with the directory's modification time: its files are replaced by rename, which changes it.
    rows: Mutex<HashMap<String, (SystemTime, Option<RunRow>)>>,
    views: Mutex<Vec<(String, SystemTime, Bytes)>>,
}

impl RunArchive {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), rows: Mutex::default(), views: Mutex::default() }
    }

    /// Newest first. An unreadable directory is reported once on standard error, and left out.
    pub(crate) fn rows(&self) -> Result<Vec<RunRow>, ArchiveError> {
        let history = History::of(&self.folder)?;
        let mut known = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fresh = HashMap::new();
        let mut rows = Vec::new();
        for name in history.names() {
            let directory = self.folder.join(name);
            let changed = changed(&directory);
            let kept = known.remove(name).filter(|(at, _)| *at == changed);
            let (row, keep) = kept.map_or_else(|| read_row(&directory), |(_, row)| (row, true));
            rows.extend(row.clone());
            if keep {
                fresh.insert(name.clone(), (changed, row));
            }
        }
        *known = fresh;
        Ok(rows)
    }

    /// The complete view of a run, as JSON. `within`: the folder of the experiment or search that it belongs to.
    pub(crate) fn view(&self, name: &str, within: Option<&Path>) -> Result<Bytes, ArchiveError> {
        let directory = History::of(within.unwrap_or(&self.folder))?.named(name)?;
        let changed = changed(&directory);
        {
            let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
            views.retain(|(of, at, _)| of != name || *at == changed);
            if let Some((_, _, view)) = views.iter().find(|(of, ..)| of == name) {
                return Ok(view.clone());
            }
        }
        let goes_on = goes_on(&History::entry(&directory)?);
        let mut run = Reader::open(&directory).and_then(Reader::run)?;
        let summary = loadstone_analysis::conclude_in_place(&mut run);
        let (state, detail) = if goes_on { (RunState::Running, "") } else { RunState::of(run.end.as_ref()) };
        let view = ReportView::build_in_state(&run, &summary, state, detail);
        let json = Bytes::from(serde_json::to_vec(&view).map_err(|problem| ArchiveError::Wrong(problem.to_string()))?);
        if !goes_on {
            let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
            views.insert(0, (name.to_owned(), changed, json.clone()));
            views.truncate(VIEWS_MAX);
        }
        Ok(json)
    }

    pub(crate) fn describe(&self, name: &str, change: RunEdit, secrets: &Secrets) -> Result<(), ArchiveError> {
        let directory = History::of(&self.folder)?.named(name)?;
        let mut notes = Notes::read(&directory)?;
        if let Some(note) = change.note {
            if note.chars().count() > NOTE_CHARACTERS_MAX {
                return Err(ArchiveError::Wrong(format!("a note has at most {NOTE_CHARACTERS_MAX} characters")));
            }
            notes.note = Some(note).filter(|note| !note.trim().is_empty());
        }
        if let Some(tags) = change.tags {
            if tags.len() > TAGS_MAX || tags.iter().any(|tag| tag.trim().is_empty() || tag.chars().count() > TAG_CHARACTERS_MAX) {
                return Err(ArchiveError::Wrong(format!(
                    "a run has at most {TAGS_MAX} tags, each of 1 to {TAG_CHARACTERS_MAX} characters"
                )));
            }
            notes.tags = Some(tags);
        }
        notes.write(&directory, secrets)?;
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        self.views.lock().unwrap_or_else(PoisonError::into_inner).retain(|(of, ..)| of != name);
        Ok(())
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), ArchiveError> {
        let mut history = History::of(&self.folder)?;
        // A directory that is too damaged to read can still be deleted.
        if History::entry(&history.named(name)?).is_ok_and(|entry| goes_on(&entry)) {
            return Err(ArchiveError::GoingOn);
        }
        Ok(history.remove(name)?)
    }
}

/// The row, and whether it is final until the directory changes.
fn read_row(directory: &Path) -> (Option<RunRow>, bool) {
    match History::entry(directory) {
        Ok(entry) => {
            let mut row = RunRow::of(&entry);
            if goes_on(&entry) {
                row.state = RunState::Running;
            }
            (Some(row), entry.end.is_some() && entry.summary.is_some())
        }
        Err(problem) => {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "warning: {}", loadstone_units::text::printable(&problem.to_string()));
            (None, true)
        }
    }
}

fn goes_on(entry: &loadstone_run_directory::HistoryEntry) -> bool {
    let now = SystemTime::UNIX_EPOCH + Duration::from_nanos(loadstone_metrics::clock::wall_ns());
    let silent = |written: SystemTime| now.duration_since(written).is_ok_and(|silence| silence > SILENCE_MAX);
    entry.end.is_none() && entry.written.is_some_and(|written| !silent(written))
}

fn changed(directory: &Path) -> SystemTime {
    std::fs::metadata(directory).and_then(|facts| facts.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}
