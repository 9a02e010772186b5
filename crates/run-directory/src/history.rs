//! The runs of a folder, without their measurements. Read [`History`].

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::json::parse;
use crate::{Reader, RunEnd, RunError, RunInfo, disk, files, parts};

/// A run as an entry of a list.
#[derive(Debug)]
pub struct HistoryEntry {
    pub directory: PathBuf,
    pub info: RunInfo,
    /// Name of the test and its parameters, with secrets masked.
    pub test: String,
    pub parameters: Vec<loadstone_plan::Parameter>,
    /// `None`: still running, or killed.
    pub end: Option<RunEnd>,
    /// The content of `summary.json`, an `analysis::Summary`. `None` until it is concluded.
    pub summary: Option<serde_json::Value>,
    /// People's remarks about it.
    pub note: Option<String>,
    /// When the last second was written. A run without an end and with a recent second is still running.
    pub written: Option<SystemTime>,
}

/// All runs of a folder.
#[derive(Debug)]
pub struct History {
    folder: PathBuf,
    /// Directory names, newest first.
    names: Vec<String>,
}

impl History {
    /// Lists the folder; a folder that does not exist has no runs.
    ///
    /// # Errors
    /// [`RunError::Io`]
    pub fn of(folder: &Path) -> Result<Self, RunError> {
        let mut names = disk::folders_in(folder)?;
        names.retain(|name| folder.join(name).join(files::RUN).is_file());
        names.sort_by(|a, b| sort_key(b).cmp(&sort_key(a)));
        Ok(Self { folder: folder.to_owned(), names })
    }

    /// Names of the runs, newest first.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The directory of the run with exactly this name.
    ///
    /// # Errors
    /// [`RunError::NotFound`]
    pub fn named(&self, name: &str) -> Result<PathBuf, RunError> {
        self.names.iter().find(|known| *known == name).map(|name| self.folder.join(name)).ok_or_else(|| self.not_found(name))
    }

    /// Deletes the directory of the run with exactly this name, including its content.
    ///
    /// # Errors
    /// [`RunError::NotFound`] and [`RunError::Io`].
    pub fn remove(&mut self, name: &str) -> Result<(), RunError> {
        disk::remove_directory(&self.named(name)?)?;
        self.names.retain(|known| known != name);
        Ok(())
    }

    fn not_found(&self, asked: &str) -> RunError {
        let known = self.names.iter().take(5).cloned().collect();
        RunError::NotFound { asked: asked.to_owned(), folder: self.folder.clone(), known }
    }

    /// One run, by its directory.
    ///
    /// # Errors
    /// As [`Reader::open`] and [`Reader::end`].
    pub fn entry(directory: &Path) -> Result<HistoryEntry, RunError> {
        entry(directory.to_owned())
    }

    /// Reads the small files of each run, newest first. An unreadable run is an error in its position, not of the list.
    pub fn entries(&self) -> impl Iterator<Item = Result<HistoryEntry, RunError>> + '_ {
        self.names.iter().map(|name| entry(self.folder.join(name)))
    }

    /// The directory that `asked` means: a path to a run directory, `latest` or `last`, `latest~2` (two before it), a name, the start of a
    /// name, a tag, a branch or the start of a commit, or a part of a name. A tag, a branch and a commit mean the newest run that has it; a part must fit
    /// one run only.
    ///
    /// # Errors
    /// [`RunError::NotFound`] and [`RunError::Ambiguous`], which list the candidates.
    pub fn find(&self, asked: &str) -> Result<PathBuf, RunError> {
        let not_found = || self.not_found(asked);
        if let Some(back) = steps_back(asked) {
            return self.names.get(back).map(|name| self.folder.join(name)).ok_or_else(not_found);
        }
        if self.names.iter().any(|name| name == asked) {
            return Ok(self.folder.join(asked));
        }
        if Path::new(asked).join(files::RUN).is_file() {
            return Ok(PathBuf::from(asked));
        }
        let by_name = |fits: fn(&str, &str) -> bool| self.only(asked, self.names.iter().filter(|name| fits(name, asked)));
        let found = by_name(starts)?.or_else(|| self.newest(|info| info.tags.iter().any(|tag| tag == asked)));
        let found = found.or_else(|| self.newest(|info| info.is_of_source(asked)));
        let found = if found.is_none() { by_name(contains)? } else { found };
        found.map(|name| self.folder.join(name)).ok_or_else(not_found)
    }

    /// The one name, if there is one.
    fn only<'n>(&self, asked: &str, names: impl Iterator<Item = &'n String>) -> Result<Option<&'n String>, RunError> {
        let matches: Vec<&String> = names.take(5).collect();
        match matches[..] {
            [] => Ok(None),
            [name] => Ok(Some(name)),
            [..] => Err(RunError::Ambiguous { asked: asked.to_owned(), matches: matches.into_iter().cloned().collect() }),
        }
    }

    /// The newest run that matches. An unreadable run does not match.
    fn newest(&self, holds: impl Fn(&RunInfo) -> bool) -> Option<&String> {
        self.names.iter().find(|name| Reader::open(&self.folder.join(name)).is_ok_and(|reader| holds(reader.info())))
    }
}

fn starts(name: &str, part: &str) -> bool {
    !part.is_empty() && name.starts_with(part)
}

fn contains(name: &str, part: &str) -> bool {
    !part.is_empty() && name.contains(part)
}

/// `latest` → 0, `last~2` → 2.
fn steps_back(asked: &str) -> Option<usize> {
    match asked.strip_prefix("latest").or_else(|| asked.strip_prefix("last"))? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// Names begin with the date. A number at the end distinguishes runs that began in the same second: `…-shop` < `…-shop-2` < `…-shop-10`.
fn sort_key(name: &str) -> (&str, &str, u32) {
    let (date, rest) = name.split_at_checked("2026-11-20T18-30-05".len()).unwrap_or((name, ""));
    match rest.rsplit_once('-').and_then(|(stem, number)| Some((stem, number.parse().ok()?))) {
        Some((stem, number)) => (date, stem, number),
        None => (date, rest, 1),
    }
}

fn entry(directory: PathBuf) -> Result<HistoryEntry, RunError> {
    let reader = Reader::open(&directory)?;
    let end = reader.end()?;
    let path = directory.join(files::SUMMARY);
    let summary = disk::read_whole(&path)?.map(|bytes| parse(&path, &bytes)).transpose()?;
    let written = disk::modified(&parts::newest(&directory)?);
    let note = reader.note().map(str::to_owned);
    let (test, parameters) = (reader.plan().name.clone(), reader.plan().parameters.clone());
    Ok(HistoryEntry { info: reader.info().clone(), test, parameters, end, summary, note, written, directory })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_and_higher_numbered_runs_are_newer() {
        let mut names = ["2026-11-20T18-30-05-shop-10", "2026-11-20T18-30-05-shop", "2026-11-21T00-00-00-a", "2026-11-20T18-30-05-shop-2"];
        names.sort_by(|a, b| sort_key(b).cmp(&sort_key(a)));
        assert_eq!(
            names,
            ["2026-11-21T00-00-00-a", "2026-11-20T18-30-05-shop-10", "2026-11-20T18-30-05-shop-2", "2026-11-20T18-30-05-shop"]
        );
    }
}
