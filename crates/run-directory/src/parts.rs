//! A file of lines that may grow for days: a plain file for the first hour, then compressed parts, of which old ones are removed.
//!
//! `snapshots.jsonl` has the first hour. Later seconds are in parts of half an hour, such as `snapshots-3600.jsonl.zst`, named by their first second. Each
//! append is one Zstandard frame (RFC 8878), so that a part can be truncated anywhere, like the plain file. A part is removed once it is more than half an
//! hour old; `snapshots-minutes.jsonl.zst` has its minutes by then.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use crate::disk::{self, Lines};
use crate::{RunError, files};

/// Length of the plain file and of each part. Seconds; multiples of the minute.
pub(crate) const FIRST_S: u32 = 3600;
pub(crate) const PART_S: u32 = 1800;
pub(crate) const MINUTE_S: u32 = 60;

/// Complete parts that are kept in addition to the one being written.
const PARTS_KEPT: usize = 1;

/// Compression level. Level 9 reduces a minute's frame only slightly and needs several more megabytes of memory.
const LEVEL: i32 = 3;
/// log2 of the compression window in bytes. A larger window makes the directory 1 % smaller and needs megabytes of tables.
const WINDOW_LOG: u32 = 15;

/// The files of one kind of line while they are written.
pub(crate) struct PartedLines {
    directory: PathBuf,
    stem: &'static str,
    lines: Lines,
    /// First seconds of the existing parts.
    parts: Vec<u32>,
    minutes: Option<Lines>,
    compressor: Option<Compressor<'static>>,
}

impl std::fmt::Debug for PartedLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PartedLines({} in {})", self.stem, self.directory.display())
    }
}

impl PartedLines {
    pub(crate) fn create(directory: &Path, stem: &'static str) -> Result<Self, RunError> {
        let lines = Lines::create(plain(directory, stem))?;
        Ok(Self { directory: directory.to_owned(), stem, lines, parts: Vec::new(), minutes: None, compressor: None })
    }

    /// Appends complete lines.
    pub(crate) fn append(&mut self, text: &[u8]) -> Result<(), RunError> {
        if self.parts.is_empty() {
            return self.lines.append(text);
        }
        let frame = compressed(&mut self.compressor, text)?;
        self.lines.append(&frame)
    }

    /// Appends complete lines to the minutes.
    pub(crate) fn append_minute(&mut self, text: &[u8]) -> Result<(), RunError> {
        let minutes = match &mut self.minutes {
            Some(minutes) => minutes,
            None => self.minutes.insert(Lines::create(minutes(&self.directory, self.stem))?),
        };
        let frame = compressed(&mut self.compressor, text)?;
        minutes.append(&frame)
    }

    /// Whether a second begins a part.
    pub(crate) fn is_due(&self, second: u32) -> bool {
        second >= FIRST_S && self.parts.last() != Some(&(second / PART_S * PART_S))
    }

    /// Begins the part of a second. `removes`: the minutes contain older parts, so these may be removed.
    pub(crate) fn roll(&mut self, second: u32, removes: bool) -> Result<(), RunError> {
        if !self.is_due(second) {
            return Ok(());
        }
        let begin = second / PART_S * PART_S;
        self.lines.sync()?;
        self.lines = Lines::create(part(&self.directory, self.stem, begin))?;
        self.parts.push(begin);
        while removes && self.parts.len() > PARTS_KEPT + 1 {
            disk::remove_file(&part(&self.directory, self.stem, self.parts[0]))?;
            self.parts.remove(0);
        }
        Ok(())
    }

    pub(crate) fn is_in_place(&self) -> bool {
        self.lines.is_in_place()
    }

    /// Continues in another directory. Complete parts that were deleted are lost.
    pub(crate) fn move_to(&mut self, directory: &Path) -> Result<(), RunError> {
        self.lines.move_to(directory)?;
        self.minutes.as_mut().map_or(Ok(()), |minutes| minutes.move_to(directory))?;
        self.parts.drain(..self.parts.len().saturating_sub(1));
        directory.clone_into(&mut self.directory);
        Ok(())
    }

    pub(crate) fn sync(&self) -> Result<(), RunError> {
        self.lines.sync()?;
        self.minutes.as_ref().map_or(Ok(()), Lines::sync)
    }
}

fn compressed(compressor: &mut Option<Compressor<'static>>, text: &[u8]) -> Result<Vec<u8>, RunError> {
    let failed = |error: std::io::Error| RunError::Export { what: "compressed lines", problem: error.to_string() };
    let compressor = match compressor {
        Some(compressor) => compressor,
        None => compressor.insert(new_compressor().map_err(failed)?),
    };
    compressor.compress(text).map_err(failed)
}

fn new_compressor() -> std::io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(LEVEL)?;
    compressor.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
    Ok(compressor)
}

fn plain(directory: &Path, stem: &str) -> PathBuf {
    directory.join(format!("{stem}.jsonl"))
}

fn part(directory: &Path, stem: &str, begin: u32) -> PathBuf {
    directory.join(format!("{stem}-{begin}.jsonl.zst"))
}

fn minutes(directory: &Path, stem: &str) -> PathBuf {
    directory.join(format!("{stem}-minutes.jsonl.zst"))
}

/// A file of lines. Only minutes before `until` count, because the remaining parts have the rest.
#[derive(Debug)]
pub(crate) struct LineFile {
    pub(crate) path: PathBuf,
    pub(crate) until: Option<u32>,
}

/// The files of one kind of line, in reading order.
pub(crate) fn in_order(directory: &Path, stem: &str) -> Result<Vec<LineFile>, RunError> {
    let begins = begins(directory, stem)?;
    let whole = |path| LineFile { path, until: None };
    let minutes = LineFile { path: minutes(directory, stem), until: Some(begins.first().copied().unwrap_or(u32::MAX)) };
    let parts = begins.iter().map(|begin| whole(part(directory, stem, *begin)));
    Ok([whole(plain(directory, stem)), minutes].into_iter().chain(parts).collect())
}

/// The first second of a run's last part; `None` in the first hour.
pub(crate) fn last_begin(directory: &Path) -> Result<Option<u32>, RunError> {
    Ok(begins(directory, files::SNAPSHOT_STEM)?.last().copied())
}

/// Appends complete lines to the newest file of a run's seconds, as the run's own writer would have.
pub(crate) fn append_to_newest(directory: &Path, text: &[u8]) -> Result<(), RunError> {
    let path = newest(directory)?;
    if last_begin(directory)?.is_none() {
        return disk::append_after_last_line(&path, text);
    }
    disk::append(&path, &compressed(&mut None, text)?)
}

/// The file that a run's seconds are appended to.
pub(crate) fn newest(directory: &Path) -> Result<PathBuf, RunError> {
    let begin = last_begin(directory)?;
    Ok(begin.map_or_else(|| plain(directory, files::SNAPSHOT_STEM), |begin| part(directory, files::SNAPSHOT_STEM, begin)))
}

fn begins(directory: &Path, stem: &str) -> Result<Vec<u32>, RunError> {
    let begin = |name: &str| name.strip_prefix(stem)?.strip_prefix('-')?.strip_suffix(".jsonl.zst")?.parse::<u32>().ok();
    let mut begins: Vec<u32> = disk::files_in(directory)?.iter().filter_map(|name| begin(name)).collect();
    begins.sort_unstable();
    Ok(begins)
}

/// Opens a file of lines, compressed or not.
pub(crate) fn open(path: &Path) -> Result<Option<Box<dyn BufRead>>, RunError> {
    let Some(file) = disk::open_lines(path)? else { return Ok(None) };
    if path.extension().is_none_or(|extension| extension != "zst") {
        return Ok(Some(Box::new(file)));
    }
    let decoder = zstd::Decoder::with_buffer(file).map_err(|source| RunError::io("open", path, source))?;
    Ok(Some(Box::new(BufReader::with_capacity(1 << 18, decoder))))
}
