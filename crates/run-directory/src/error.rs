//! Errors of reading and writing runs.

use std::path::{Path, PathBuf};

use loadstone_units::text::without_os_numbers;
use thiserror::Error;

/// Every message names the file and the remedy.
#[derive(Debug, Error)]
pub enum RunError {
    #[error("cannot {doing} {}: {}{}", path.display(), without_os_numbers(&source.to_string()), advice(source))]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{}:{line}: {problem}. The file was changed or damaged after it was written; remove the line to read the rest", path.display())]
    Corrupt { path: PathBuf, line: usize, problem: String },
    #[error("{} was written by a newer Loadstone ({loadstone}, run format {found}; this one reads up to {known}): update Loadstone to read it", path.display())]
    NewerFormat { path: PathBuf, loadstone: String, found: u32, known: u32 },
    #[error("{} is not a run directory: it has no {}", path.display(), crate::files::RUN)]
    NotARun { path: PathBuf },
    #[error("no run \"{asked}\" in {}{}", folder.display(), known_runs(known))]
    NotFound { asked: String, folder: PathBuf, known: Vec<String> },
    #[error("\"{asked}\" is ambiguous: it matches {}; give more of the name", matches.join(", "))]
    Ambiguous { asked: String, matches: Vec<String> },
    #[error("cannot write {what}: {problem}")]
    Export { what: &'static str, problem: String },
}

impl RunError {
    pub(crate) fn io(doing: &'static str, path: &Path, source: std::io::Error) -> Self {
        RunError::Io { doing, path: path.to_owned(), source }
    }

    /// The disk, or the user's share of it, is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, RunError::Io { source, .. } if is_full(source))
    }
}

fn is_full(source: &std::io::Error) -> bool {
    matches!(source.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

fn advice(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            ". Free some space or write runs elsewhere. The measurements so far are readable"
        }
        std::io::ErrorKind::PermissionDenied => ". Check who owns the folder, or write runs elsewhere",
        _ => "",
    }
}

fn known_runs(known: &[String]) -> String {
    match known {
        [] => ", which contains no runs".to_owned(),
        some => format!("; newest: {}", some.join(", ")),
    }
}
