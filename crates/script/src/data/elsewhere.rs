//! Data that users of several machines share and one machine stores, on the other machines: shared values and collected rows.
//!
//! [`SharedCopy`] represents a value. Changes go to the machine that stores it. A read value is reused until a notification reports a later
//! version. All machines see changes in one order: their own at once, those of others after the network delay. `common_data` is the other
//! side.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::collection::CollectSink;

#[derive(Debug, Clone, Error, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SharedError {
    #[error("shared \"{name}\" holds {found}, and this operation needs {wanted}")]
    WrongKind { name: String, found: String, wanted: String },
    #[error("shared \"{name}\": the fleet's controller does not answer")]
    Away { name: String },
}

/// An operation on a shared value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SharedChange {
    Read,
    /// JSON, as in the following variants.
    Set(String),
    ReplaceIf {
        version: u64,
        json: String,
    },
    Increment(f64),
    Push(Vec<Box<str>>),
    Shift,
    /// No change: the version is requested.
    Version,
}

/// The result of an operation.
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

/// The connection to the machine that stores the common data.
pub trait CommonHome: Send + Sync {
    /// Waits for the answer. `None`: the machine no longer answers.
    fn ask(&self, question: String) -> Option<String>;

    fn send(&self, text: String);
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SharedQuestion {
    pub(super) name: String,
    /// JSON.
    pub(super) initial: String,
    pub(super) change: SharedChange,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SharedAnswer {
    pub(super) result: SharedResult,
    pub(super) version: u64,
}

/// A value has this version now.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SharedNews {
    pub(super) name: String,
    pub(super) version: u64,
}

/// Rows for a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RowsSent {
    /// Relative to the test's folder, if it is below it.
    pub(super) path: PathBuf,
    pub(super) header: String,
    pub(super) lines: Vec<String>,
}

/// A shared value on another machine.
pub(crate) struct SharedCopy {
    name: String,
    initial: String,
    home: Arc<dyn CommonHome>,
    /// The newest version in a notification.
    newest: AtomicU64,
    /// The value that was read last, as JSON.
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

    /// The value as JSON, and its version.
    pub(super) fn read(&self) -> Result<(u64, String), SharedError> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        match self.ask(SharedChange::Read)? {
            SharedAnswer { result: SharedResult::Value(json), version } => {
                let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
                // Another worker may have read a later version meanwhile.
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
        self.receive(version);
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

    /// Its value has this version now.
    pub(super) fn receive(&self, version: u64) {
        self.newest.fetch_max(version, Ordering::AcqRel);
    }

    pub(super) fn away(&self) -> SharedError {
        SharedError::Away { name: self.name.clone() }
    }
}

/// Collected rows on their way to the machine that has the file.
pub(crate) struct RowsElsewhere {
    pub(crate) home: Arc<dyn CommonHome>,
    /// Of the test.
    pub(crate) folder: PathBuf,
}

impl CollectSink for RowsElsewhere {
    fn take(&self, path: &Path, header: &str, lines: Vec<String>) {
        let path = path.strip_prefix(&self.folder).unwrap_or(path).to_owned();
        if let Ok(text) = serde_json::to_string(&RowsSent { path, header: header.to_owned(), lines }) {
            self.home.send(text);
        }
    }
}
