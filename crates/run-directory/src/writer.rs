//! Writes a run in progress. Read [`Writer`].

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use loadstone_metrics::span::TraceBatch;
use loadstone_metrics::{SignalNotice, Snapshot};
use loadstone_plan::TestPlan;
use loadstone_secrets::Secrets;
use serde::Serialize;

use crate::disk::{self, Lines};
use crate::fold::{self, SliceFold};
use crate::json::{fill, push_line};
use crate::line::{self, TraceLine};
use crate::parts::{self, FIRST_S, MINUTE_S, PartedLines};
use crate::signal_lines::SignalLines;
use crate::{RunEnd, RunError, RunInfo, SignalSeries, files};

/// Maximum bytes of stored console output.
const CONSOLE_BYTES_MAX: u64 = 64 << 20;

/// One run directory during its run. After a call has returned, its data survives a kill of the process.
///
/// After an error, the directory remains readable. A caller that continues to write may succeed later, for example once
/// space was freed. The slices in between are missing, which the reader and the validity checks detect.
#[derive(Debug)]
pub struct Writer {
    directory: PathBuf,
    info: RunInfo,
    /// As written to `run.json`.
    plan: TestPlan,
    secrets: Secrets,
    snapshots: PartedLines,
    signals: SignalLines,
    /// Folds the minutes after the first hour; `None` if every second is kept.
    minutes: Option<SliceFold>,
    /// Created when the first trace is reported.
    traces: Option<Lines>,
    paths: u32,
    /// Whether writing a line failed: later lines could not be interpreted without it.
    traces_lost: bool,
    console: Lines,
    console_full: bool,
    buffer: Vec<u8>,
}

/// `run.json`.
#[derive(Serialize)]
struct RunFile<'a> {
    #[serde(flatten)]
    info: &'a RunInfo,
    plan: &'a TestPlan,
}

impl Writer {
    /// Creates the directory `folder/DATE-NAME` and writes `run.json`. Sets `info.id` and `info.format`. The date is from
    /// `info.started`, the name from the plan. If the name exists, a number is appended.
    ///
    /// # Errors
    /// [`RunError::Io`] when the folder cannot be created or written.
    pub fn create(folder: &Path, info: RunInfo, plan: &TestPlan) -> Result<Self, RunError> {
        let secrets = plan.all_secrets();
        let shown = plan.hiding(&secrets);
        let (directory, id) = disk::make_new_directory(folder, &directory_name(&info.started, &shown.name))?;
        let info = RunInfo { id, format: files::FORMAT, ..info.hiding(&secrets) };
        let file = RunFile { info: &info, plan: &shown };
        disk::write_whole(&directory.join(files::RUN), &pretty(&file)?)?;
        Ok(Self {
            snapshots: PartedLines::create(&directory, files::SNAPSHOT_STEM)?,
            signals: SignalLines::create(&directory, fold::is_foldable(plan))?,
            minutes: fold::is_foldable(plan).then(|| SliceFold::in_little_memory(MINUTE_S, plan)),
            traces: None,
            paths: 0,
            traces_lost: false,
            console: Lines::create(directory.join(files::CONSOLE))?,
            console_full: false,
            buffer: Vec::new(),
            directory,
            plan: shown,
            info,
            secrets,
        })
    }

    /// Writes the begin of the run to `run.json`.
    ///
    /// # Errors
    /// [`RunError::Io`]; the file is then unchanged.
    pub fn begin(&mut self, started: &str, plan: &TestPlan) -> Result<(), RunError> {
        started.clone_into(&mut self.info.started);
        self.plan = plan.hiding(&self.secrets);
        let file = RunFile { info: &self.info, plan: &self.plan };
        disk::write_whole(&self.directory.join(files::RUN), &pretty(&file)?)
    }

    /// Whether the directory is still there.
    pub fn is_in_place(&self) -> bool {
        self.snapshots.is_in_place()
    }

    /// Continues in a new directory in `folder`, because the directory has vanished. It has the measurements so far, except complete parts of a run that
    /// is longer than an hour.
    ///
    /// # Errors
    /// [`RunError::Io`]
    pub fn rescue(&mut self, folder: &Path) -> Result<(), RunError> {
        let name = self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (directory, id) = disk::make_new_directory(folder, &format!("loadstone-rescued-{name}"))?;
        self.info.id = id;
        disk::write_whole(&directory.join(files::RUN), &pretty(&RunFile { info: &self.info, plan: &self.plan })?)?;
        self.snapshots.move_to(&directory)?;
        self.signals.move_to(&directory)?;
        self.console.move_to(&directory)?;
        self.traces.as_mut().map_or(Ok(()), |traces| traces.move_to(&directory))?;
        self.directory = directory;
        Ok(())
    }

    /// The info as written, including the id.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends one second, merged over the workers. In a long run, this also folds old seconds into minutes.
    ///
    /// # Errors
    /// [`RunError::Io`]; the file then ends with the previous second.
    pub fn snapshot(&mut self, snapshot: &Snapshot) -> Result<(), RunError> {
        let shown = Snapshot::hiding(Cow::Borrowed(snapshot), &self.secrets);
        if snapshot.slice >= FIRST_S {
            // A minute whose write failed is only in its part, so from here on, parts are kept.
            self.later(&shown).inspect_err(|_| self.minutes = None)?;
        }
        fill(&mut self.buffer, &*line::slim(&shown))?;
        self.snapshots.append(&self.buffer)
    }

    /// Work before writing a second after the first hour: completes its minute and begins its part.
    fn later(&mut self, shown: &Snapshot) -> Result<(), RunError> {
        if let Some(minutes) = &mut self.minutes {
            let mut complete = Vec::new();
            minutes.push(shown.clone(), |minute| complete.push(minute));
            for minute in complete {
                fill(&mut self.buffer, &*line::slim(&minute))?;
                self.snapshots.append_minute(&self.buffer)?;
            }
        }
        self.signals.second(shown.slice)?;
        self.snapshots.roll(shown.slice, self.minutes.is_some())
    }

    /// Appends points of observer series; a series is defined when its signal is first seen.
    ///
    /// # Errors
    /// [`RunError::Io`]
    pub fn signals(&mut self, batch: &[SignalSeries]) -> Result<(), RunError> {
        self.signals.points(batch, &self.secrets)
    }

    /// Appends traces; a batch is one write.
    ///
    /// # Errors
    /// [`RunError::Io`]
    pub fn traces(&mut self, batch: &TraceBatch) -> Result<(), RunError> {
        if self.traces_lost {
            return Ok(());
        }
        let written = self.trace_lines(batch);
        self.traces_lost = written.is_err();
        written
    }

    fn trace_lines(&mut self, batch: &TraceBatch) -> Result<(), RunError> {
        let mut batch = batch.clone();
        batch.hide(&self.secrets);
        self.buffer.clear();
        for path in &batch.paths {
            push_line(&mut self.buffer, &TraceLine::Path { id: self.paths, path: Cow::Borrowed(path) })?;
            self.paths += 1;
        }
        for slice in &batch.slices {
            push_line(&mut self.buffer, &TraceLine::Slice(Cow::Borrowed(slice)))?;
        }
        for kept in &batch.kept {
            push_line(&mut self.buffer, &TraceLine::Kept(Cow::Borrowed(kept)))?;
        }
        let lines = match &mut self.traces {
            Some(lines) => lines,
            None => self.traces.insert(Lines::create(self.directory.join(files::TRACES))?),
        };
        lines.append(&self.buffer)
    }

    /// Appends a notice of an observer.
    ///
    /// # Errors
    /// [`RunError::Io`]
    pub fn notice(&mut self, notice: &SignalNotice) -> Result<(), RunError> {
        self.signals.notice(notice.hiding(&self.secrets))
    }

    /// Appends a line to `console.log`; a newline is added. After 64 MiB, a last line states that further output is omitted.
    ///
    /// # Errors
    /// [`RunError::Io`]
    pub fn console(&mut self, text: &str) -> Result<(), RunError> {
        if self.console_full {
            return Ok(());
        }
        self.console_full = self.console.length() + text.len() as u64 > CONSOLE_BYTES_MAX;
        let shown = if self.console_full { Cow::Borrowed("(further output omitted)") } else { self.secrets.hide(text) };
        self.buffer.clear();
        self.buffer.extend_from_slice(shown.as_bytes());
        self.buffer.push(b'\n');
        self.console.append(&self.buffer)
    }

    /// Writes `end.json` and flushes everything to the device.
    ///
    /// # Errors
    /// [`RunError::Io`]; all measurements are on disk nevertheless, and the run reads as a truncated one.
    pub fn finish(self, end: &RunEnd) -> Result<PathBuf, RunError> {
        let shown = match end {
            RunEnd::Aborted(why) => RunEnd::Aborted(self.secrets.hide(why).into_owned()),
            RunEnd::Failed(why) => RunEnd::Failed(self.secrets.hide(why).into_owned()),
            RunEnd::Completed | RunEnd::Interrupted => end.clone(),
        };
        self.snapshots.sync()?;
        self.signals.sync()?;
        self.traces.as_ref().map_or(Ok(()), Lines::sync)?;
        self.console.sync()?;
        disk::write_whole(&self.directory.join(files::END), &pretty(&shown)?)?;
        Ok(self.directory)
    }

    /// Adds seconds to a run whose writer was killed, and ends it. The seconds contain no secrets and follow the existing ones.
    ///
    /// # Errors
    /// [`RunError::Io`]; the existing content is unchanged.
    pub fn continue_after(directory: &Path, seconds: &[Snapshot], end: &RunEnd) -> Result<(), RunError> {
        let mut lines = Vec::new();
        seconds.iter().try_for_each(|second| push_line(&mut lines, &*line::slim(second)))?;
        parts::append_to_newest(directory, &lines)?;
        disk::write_whole(&directory.join(files::END), &pretty(end)?)
    }

    /// Stores a conclusion (`files::SUMMARY`, `REPORT`, …) in the run directory; an older one is replaced.
    ///
    /// # Errors
    /// [`RunError::Io`]; the older file is then unchanged.
    pub fn conclusion(directory: &Path, file: &str, bytes: &[u8]) -> Result<PathBuf, RunError> {
        let path = directory.join(file);
        disk::write_whole(&path, bytes)?;
        Ok(path)
    }
}

/// `2026-11-20T18-30-05-buy-tickets`.
fn directory_name(started: &str, name: &str) -> String {
    let date: String = started.chars().take("2026-11-20T18:30:05".len()).map(|c| if c == ':' { '-' } else { c }).collect();
    let mut slug = String::new();
    for c in name.chars() {
        if c.is_alphanumeric() || c == '_' || c == '.' {
            slug.push(c);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug: String = slug.trim_matches(['-', '.']).chars().take(60).collect();
    let date: String = date.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect();
    if slug.is_empty() { date } else { format!("{date}-{slug}") }
}

fn pretty<T: Serialize>(value: &T) -> Result<Vec<u8>, RunError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| RunError::Export { what: "JSON", problem: error.to_string() })?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_named_by_date_and_test() {
        for (name, expected) in [
            ("tickets", "2026-11-20T18-30-05-tickets"),
            ("Buy a ticket!", "2026-11-20T18-30-05-Buy-a-ticket"),
            ("../../etc", "2026-11-20T18-30-05-etc"),
            ("127.0.0.1:8080", "2026-11-20T18-30-05-127.0.0.1-8080"),
            ("", "2026-11-20T18-30-05"),
        ] {
            assert_eq!(directory_name("2026-11-20T18:30:05.123+01:00", name), expected);
        }
    }
}
