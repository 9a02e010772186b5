//! What users of several machines have in common and one machine keeps, as the others have it: shared values and collected rows.
//!
//! [`SharedCopy`] stands for a value: changes go to where the value is, and what was read is used again until it is told to be out of date. So each
//! machine sees changes in one order, its own at once, those of others as late as the way takes. `common_data` is the other side.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::collection::CollectSink;

#[derive(Debug, Clone, Error, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SharedError {
    #[error("shared \"{name}\" holds {found}, and only {wanted} can do that")]
    WrongKind { name: String, found: String, wanted: String },
    #[error("shared \"{name}\": the fleet's controller does not answer")]
    Away { name: String },
}

/// What is done to a shared value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SharedChange {
    Read,
    /// JSON text, as in all that follow.
    Set(String),
    ReplaceIf {
        version: u64,
        json: String,
    },
    Increment(f64),
    Push(Vec<Box<str>>),
    Shift,
    /// Nothing: the version is wanted.
    Version,
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SharedResult {
    Value(String),
    Done(bool),
    Number(f64),
    Length(usize),
    Item(Option<Box<str>>),
    Refused(SharedError),
}

/// The way to where the common data are.
pub trait CommonHome: Send + Sync {
    /// Waits for the answer; `None`: there is nobody any more.
    fn ask(&self, question: String) -> Option<String>;

    fn tell(&self, text: String);
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SharedQuestion {
    pub(super) name: String,
    /// JSON text.
    pub(super) initial: String,
    pub(super) change: SharedChange,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SharedAnswer {
    pub(super) result: SharedResult,
    pub(super) version: u64,
}

/// A value is now of this version.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SharedNews {
    pub(super) name: String,
    pub(super) version: u64,
}

/// Rows for a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RowsSent {
    /// As far as it is below the test's folder, from there.
    pub(super) path: PathBuf,
    pub(super) header: String,
    pub(super) lines: Vec<String>,
}

/// A shared value that is elsewhere.
pub(crate) struct SharedCopy {
    name: String,
    initial: String,
    home: Arc<dyn CommonHome>,
    /// The newest version that was heard of.
    newest: AtomicU64,
    /// What was read last. JSON text.
    read: Mutex<Option<(u64, String)>>,
}

impl std::fmt::Debug for SharedCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedCopy").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SharedCopy {
    pub(super) fn new(name: &str, initial: &str, home: Arc<dyn CommonHome>) -> Self {
        Self { name: name.to_owned(), initial: initial.to_owned(), home, newest: AtomicU64::new(0), read: Mutex::default() }
    }

    /// The value as JSON text, and its version.
    pub(super) fn read(&self) -> Result<(u64, String), SharedError> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        match self.ask(SharedChange::Read)? {
            SharedAnswer { result: SharedResult::Value(json), version } => {
                let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
                // Another worker may have read a later one meanwhile.
                if read.as_ref().is_none_or(|(known, _)| *known <= version) {
                    *read = Some((version, json.clone()));
                }
                Ok((version, json))
            }
            _ => Err(self.away()),
        }
    }

    fn known(&self) -> Option<(u64, String)> {
        let newest = self.newest.load(Ordering::Acquire);
        self.read.lock().unwrap_or_else(PoisonError::into_inner).clone().filter(|(version, _)| *version >= newest)
    }

    pub(super) fn change(&self, change: SharedChange) -> Result<SharedResult, SharedError> {
        let SharedAnswer { result, version } = self.ask(change)?;
        self.hear(version);
        match result {
            SharedResult::Refused(error) => Err(error),
            result => Ok(result),
        }
    }

    fn ask(&self, change: SharedChange) -> Result<SharedAnswer, SharedError> {
        let question = SharedQuestion { name: self.name.clone(), initial: self.initial.clone(), change };
        let question = serde_json::to_string(&question).map_err(|_| self.away())?;
        let answer = self.home.ask(question).ok_or_else(|| self.away())?;
        serde_json::from_str(&answer).map_err(|_| self.away())
    }

    /// Its value is now of this version.
    pub(super) fn hear(&self, version: u64) {
        self.newest.fetch_max(version, Ordering::AcqRel);
    }

    pub(super) fn away(&self) -> SharedError {
        SharedError::Away { name: self.name.clone() }
    }
}

/// Collected rows on their way to where the file is.
pub(crate) struct RowsElsewhere {
    pub(crate) home: Arc<dyn CommonHome>,
    /// Of the test.
    pub(crate) folder: PathBuf,
}

impl CollectSink for RowsElsewhere {
    fn take(&self, path: &Path, header: &str, lines: Vec<String>) {
        let path = path.strip_prefix(&self.folder).unwrap_or(path).to_owned();
        if let Ok(text) = serde_json::to_string(&RowsSent { path, header: header.to_owned(), lines }) {
            self.home.tell(text);
        }
    }
}
