//! The stored state of a search: a folder in the runs folder with `capacity.json`, from which an interrupted search resumes.

use std::path::{Path, PathBuf};

use anyhow::Context;
use loadstone_analysis::{Capacity, CapacitySettings};
use loadstone_run_directory::{Reader, Writer, files};
use serde::{Deserialize, Serialize};

use crate::exit::UsageError;

/// `capacity.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredSearch {
    #[serde(flatten)]
    pub(crate) capacity: Capacity,
    pub(crate) settings: CapacitySettings,
    /// Digest of the script. A search only resumes with the same script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) script: Option<String>,
}

impl StoredSearch {
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        Writer::conclusion(folder, files::CAPACITY, &text)?;
        Ok(())
    }

    fn read(folder: &Path) -> anyhow::Result<Option<Self>> {
        let Some(bytes) = Reader::conclusion(folder, files::CAPACITY)? else { return Ok(None) };
        let path = folder.join(files::CAPACITY);
        serde_json::from_slice(&bytes).map(Some).with_context(|| format!("{} cannot be read", path.display()))
    }
}

/// Writes the answer as a page, after the search has ended.
pub(crate) fn write_page(folder: &Path, capacity: &Capacity) -> anyhow::Result<()> {
    Writer::conclusion(folder, files::REPORT, loadstone_report::capacity::html(capacity).as_bytes())?;
    Ok(())
}

/// The answer of a search. `None` if the folder does not belong to a search.
pub(crate) fn answer(folder: &Path) -> anyhow::Result<Option<Capacity>> {
    Ok(StoredSearch::read(folder)?.map(|stored| stored.capacity))
}

fn stem(test: &str) -> String {
    let slug: String = test.chars().map(|c| if c.is_alphanumeric() || c == '.' || c == '_' { c } else { '-' }).take(60).collect();
    format!("capacity-{}", slug.trim_matches(['-', '.']))
}

fn numbered(runs: &Path, test: &str, number: u32) -> PathBuf {
    let stem = stem(test);
    runs.join(if number == 1 { stem } else { format!("{stem}-{number}") })
}

/// Creates a folder for a search of this test.
pub(crate) fn make(runs: &Path, test: &str) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(runs).with_context(|| format!("cannot create {}", runs.display()))?;
    for number in 1.. {
        let folder = numbered(runs, test, number);
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot create {}", folder.display())),
        }
    }
    anyhow::bail!("{} has too many searches of \"{test}\"", runs.display())
}

/// The newest search of this test.
pub(crate) fn newest(runs: &Path, test: &str) -> anyhow::Result<(PathBuf, StoredSearch)> {
    let mut found = None;
    for number in 1.. {
        let folder = numbered(runs, test, number);
        if !folder.is_dir() {
            break;
        }
        if let Some(stored) = StoredSearch::read(&folder)? {
            found = Some((folder, stored));
        }
    }
    found.ok_or_else(|| UsageError(format!("--resume: there is no search of \"{test}\" in {}", runs.display())).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_search_has_a_separate_folder() {
        let runs = tempfile::tempdir().unwrap();
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(name(make(runs.path(), "demo shop").unwrap()), "capacity-demo-shop");
        assert_eq!(name(make(runs.path(), "demo shop").unwrap()), "capacity-demo-shop-2");
        assert!(newest(runs.path(), "demo shop").unwrap_err().to_string().contains("no search of \"demo shop\""));
    }
}
