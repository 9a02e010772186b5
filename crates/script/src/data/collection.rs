//! Rows that users collect in a file, as the input of a later test: `collect(path)`.
//!
//! Rows pass through a buffer to a temporary file in the same folder, which replaces the file when the run is over. A reader of the file
//! therefore finds either the complete new file or the previous one. The temporary file is opened again for each buffer, since the workers
//! that fill it may not share descriptors.
//!
//! Deliberately absent: the format of a line (`module/data.ts`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::{fs, io, process};

use thiserror::Error;

/// Bytes that are buffered before they are written, so that most rows cost their user only a copy.
const BUFFER_BYTES: usize = 64 * 1024;

#[derive(Debug, Error)]
pub(crate) enum CollectError {
    #[error("{path}: cannot be written: {problem}", path = .path.display())]
    Unwritable { path: PathBuf, problem: io::Error },
    #[error("{path}: earlier rows have the columns {before}, this row has {now}: every row needs the same columns in the same order", path = .path.display())]
    Columns { path: PathBuf, before: String, now: String },
}

/// A file that a run has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    pub path: PathBuf,
    pub rows: u64,
}

/// Receives rows for a file on another machine.
pub(crate) trait CollectSink: Send + Sync {
    /// Lines without line ends. `header` is the first line of the file, if it is not empty.
    fn take(&self, path: &Path, header: &str, lines: Vec<String>);
}

/// All collections of a run, by path.
#[derive(Default)]
pub(crate) struct Collections {
    known: Mutex<BTreeMap<PathBuf, Arc<Collection>>>,
    sink: OnceLock<Arc<dyn CollectSink>>,
}

/// One file before it is complete.
pub(crate) struct Collection {
    path: PathBuf,
    draft: Mutex<Option<CollectionDraft>>,
    sent: Option<SentRows>,
}

/// Rows to send to another machine.
struct SentRows {
    sink: Arc<dyn CollectSink>,
    /// The header, and the lines that have not been sent.
    waiting: Mutex<(Option<String>, Vec<String>)>,
}

/// A temporary file. Removed unless it becomes complete.
#[derive(Debug)]
struct CollectionDraft {
    path: PathBuf,
    /// Not yet written.
    buffer: Vec<u8>,
    header: String,
    rows: u64,
}

impl Collections {
    pub(crate) fn declare(&self, path: &Path) -> Arc<Collection> {
        let mut known = lock(&self.known);
        let sent = || self.sink.get().map(|sink| SentRows { sink: Arc::clone(sink), waiting: Mutex::default() });
        let new = || Arc::new(Collection { path: path.to_owned(), draft: Mutex::default(), sent: sent() });
        Arc::clone(known.entry(path.to_owned()).or_insert_with(new))
    }

    /// Sends all later rows to another machine. Call this before any file is declared.
    pub(crate) fn send_to(&self, sink: Arc<dyn CollectSink>) {
        let _ = self.sink.set(sink);
    }

    /// Sends the rows that were collected for other machines.
    pub(crate) fn send(&self) {
        self.all().iter().for_each(|collection| collection.send());
    }

    fn all(&self) -> Vec<Arc<Collection>> {
        lock(&self.known).values().cloned().collect()
    }

    /// Replaces every file that has rows. Files without rows remain as they were.
    pub(crate) fn finish(&self) -> Result<Vec<Collected>, CollectError> {
        self.all().iter().filter_map(|collection| collection.finish().transpose()).collect()
    }
}

impl Collection {
    /// Adds a line. The `header` of the first line becomes the first line of the file, unless it is empty. Later headers must be equal.
    pub(crate) fn add(&self, header: &str, line: &str) -> Result<(), CollectError> {
        if let Some(sent) = &self.sent {
            let (known, lines) = &mut *lock(&sent.waiting);
            if known.get_or_insert_with(|| header.to_owned()) != header {
                return Err(self.other_columns(known.clone().unwrap_or_default(), header));
            }
            lines.push(line.to_owned());
            return Ok(());
        }
        let mut draft = lock(&self.draft);
        let draft = match &mut *draft {
            Some(draft) => draft,
            none => none.insert(CollectionDraft::begin(&self.path, header).map_err(|problem| self.unwritable(problem))?),
        };
        if draft.header != header {
            return Err(self.other_columns(draft.header.clone(), header));
        }
        draft.add(line).map_err(|problem| self.unwritable(problem))
    }

    fn other_columns(&self, before: String, now: &str) -> CollectError {
        CollectError::Columns { path: self.path.clone(), before, now: now.to_owned() }
    }

    fn send(&self) {
        let Some(sent) = &self.sent else { return };
        let (header, lines) = {
            let (header, lines) = &mut *lock(&sent.waiting);
            (header.clone().unwrap_or_default(), std::mem::take(lines))
        };
        if !lines.is_empty() {
            sent.sink.take(&self.path, &header, lines);
        }
    }

    fn finish(&self) -> Result<Option<Collected>, CollectError> {
        let Some(draft) = lock(&self.draft).take() else { return Ok(None) };
        let rows = draft.rows;
        draft.publish(&self.path).map_err(|problem| self.unwritable(problem))?;
        Ok(Some(Collected { path: self.path.clone(), rows }))
    }

    fn unwritable(&self, problem: io::Error) -> CollectError {
        CollectError::Unwritable { path: self.path.clone(), problem }
    }
}

impl CollectionDraft {
    fn begin(wanted: &Path, header: &str) -> io::Result<Self> {
        let mut name = wanted.as_os_str().to_owned();
        // Each of two concurrent runs writes a complete file. The last to finish wins.
        name.push(format!(".{}.part", process::id()));
        let path = PathBuf::from(name);
        fs::write(&path, "")?;
        let mut draft = Self { path, buffer: Vec::new(), header: header.to_owned(), rows: 0 };
        if !header.is_empty() {
            draft.line(header)?;
        }
        Ok(draft)
    }

    fn add(&mut self, row: &str) -> io::Result<()> {
        self.line(row)?;
        self.rows += 1;
        Ok(())
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.buffer.extend_from_slice(text.as_bytes());
        self.buffer.push(b'\n');
        if self.buffer.len() < BUFFER_BYTES { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> io::Result<()> {
        File::options().append(true).open(&self.path)?.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn publish(mut self, wanted: &Path) -> io::Result<()> {
        self.write()?;
        fs::rename(&self.path, wanted)
    }
}

impl Drop for CollectionDraft {
    fn drop(&mut self) {
        // Already gone if the file was published.
        let _ = fs::remove_file(&self.path);
    }
}

/// No code panics while it holds these locks, so the data is consistent even after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_complete_when_the_run_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("codes.csv");
        fs::write(&path, "of an earlier run\n").unwrap();
        let collections = Collections::default();
        let collection = collections.declare(&path);
        collection.add("code,n", "a,1").unwrap();
        collections.declare(&path).add("code,n", "b,2").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "of an earlier run\n");
        assert_eq!(collections.finish().unwrap(), [Collected { path: path.clone(), rows: 2 }]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "code,n\na,1\nb,2\n");
        assert_eq!(names(folder.path()), ["codes.csv"]);
        assert_eq!(collections.finish().unwrap(), []);
    }

    #[test]
    fn an_unfinished_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let collections = Collections::default();
        collections.declare(&folder.path().join("codes.jsonl")).add("", "{}").unwrap();
        assert_eq!(names(folder.path()).len(), 1);
        drop(collections);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn rows_of_several_threads_are_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers.csv");
        let collections = Collections::default();
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let collection = collections.declare(&path);
                thread::spawn(move || (0..500).for_each(|n| collection.add("n", &(thread * 500 + n).to_string()).unwrap()))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        collections.finish().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let mut numbers: Vec<u32> = text.lines().skip(1).map(|line| line.parse().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..2_000).collect::<Vec<_>>());
    }

    #[test]
    fn errors_name_the_file_and_the_columns() {
        let folder = tempfile::tempdir().unwrap();
        let collections = Collections::default();
        let nowhere = collections.declare(&folder.path().join("missing/codes.csv")).add("a", "1").unwrap_err();
        assert!(nowhere.to_string().contains("missing/codes.csv: cannot be written: No such file"), "{nowhere}");
        let collection = collections.declare(&folder.path().join("codes.csv"));
        collection.add("a,b", "1,2").unwrap();
        let other = collection.add("b,a", "2,1").unwrap_err().to_string();
        assert!(
            other.ends_with(
                "codes.csv: earlier rows have the columns a,b, this row has b,a: every row needs the same columns in the same order"
            ),
            "{other}"
        );
    }
}
