//! Reads a complete or truncated run. Read [`Reader`].

use std::io::{BufRead, ErrorKind, Read};
use std::path::{Path, PathBuf};

use loadstone_metrics::{SignalNotice, SignalPoint, Snapshot};
use loadstone_plan::TestPlan;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::fold::{self, Folding, SliceList};
use crate::json::{parse, printable, problem};
use crate::line::{self, SignalLine, TraceLine};
use crate::readings::Readings;
use crate::stretch::Stretches;
use crate::{Notes, Run, RunEnd, RunError, RunInfo, RunTraces, SignalSeries, disk, files, parts};

/// Runs up to this long are read second by second.
const WHOLE_S: u32 = 7200;
/// Limit on a line. A compressed part of a few KB could decompress to one of any length.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Longest step of the readings of a long run.
const READINGS_S: u32 = 60;

/// One run directory, opened. [`Reader::run`] is everything; the other methods read a part.
#[derive(Debug)]
pub struct Reader {
    directory: PathBuf,
    info: RunInfo,
    plan: TestPlan,
    note: Option<String>,
}

/// The part of `run.json` that every version has.
#[derive(Deserialize)]
struct FormatHeader {
    format: u32,
    #[serde(default)]
    loadstone: String,
}

#[derive(Deserialize)]
struct StoredRun {
    #[serde(flatten)]
    info: RunInfo,
    plan: TestPlan,
}

impl Reader {
    /// # Errors
    /// [`RunError::NotARun`], [`RunError::NewerFormat`], [`RunError::Corrupt`] and [`RunError::Io`], about `run.json`.
    pub fn open(directory: &Path) -> Result<Self, RunError> {
        let path = directory.join(files::RUN);
        let Some(bytes) = disk::read_whole(&path)? else { return Err(RunError::NotARun { path: directory.to_owned() }) };
        let FormatHeader { format, loadstone } = parse(&path, &bytes)?;
        if format > files::FORMAT {
            return Err(RunError::NewerFormat { path: directory.to_owned(), loadstone, found: format, known: files::FORMAT });
        }
        let StoredRun { mut info, plan } = parse(&path, &bytes)?;
        let notes = Notes::read(directory)?;
        info.tags = notes.tags.unwrap_or(info.tags);
        Ok(Self { directory: directory.to_owned(), info, plan, note: notes.note })
    }

    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    pub fn plan(&self) -> &TestPlan {
        &self.plan
    }

    /// People's remarks about the run, see [`Notes`]. Tags that were added later are in [`Self::info`].
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The complete run, in slices of a second. For a run of more than two hours, a slice covers several seconds, with as many slices as fit into
    /// memory. Readings are aggregated likewise: the mean of a level, the last value of a counter. See docs/run-directory.md, "Long runs".
    ///
    /// # Errors
    /// [`RunError::Corrupt`] names file and line. A truncated last line, as after a kill, is skipped.
    pub fn run(self) -> Result<Run, RunError> {
        let is_long = parts::last_begin(&self.directory)?.is_some_and(|begin| begin >= WHOLE_S);
        let folding = match (fold::is_foldable(&self.plan), is_long) {
            (false, _) => Folding::Never,
            (true, false) => Folding::After(WHOLE_S),
            (true, true) => Folding::After(0),
        };
        self.gathered(folding, is_long)
    }

    /// The complete run with all stored seconds, regardless of its size.
    ///
    /// # Errors
    /// As [`Reader::run`].
    pub fn run_unfolded(self) -> Result<Run, RunError> {
        self.gathered(Folding::Never, false)
    }

    /// `is_long`: return the stored seconds in addition to the folded slices.
    fn gathered(self, folding: Folding, is_long: bool) -> Result<Run, RunError> {
        let mut list = SliceList::new(&self.plan, folding);
        let mut stretches = Stretches::default();
        self.each_slice(|snapshot| {
            if is_long && folding != Folding::Never {
                stretches.push(&snapshot);
            }
            list.push(snapshot);
        })?;
        stretches.close();
        let (mut slices, step_seconds) = list.finish();
        slices.sort_by_key(|snapshot: &Snapshot| snapshot.slice);
        let readings = if step_seconds == 1 { Readings::all() } else { Readings::in_steps(step_seconds.min(READINGS_S), &self.plan) };
        let (signals, notices) = self.observed(readings, &mut stretches)?;
        let end = self.end()?;
        let traces = self.traces(step_seconds)?;
        Ok(Run { info: self.info, plan: self.plan, slices, signals, stretches: stretches.finish(), traces, notices, end })
    }

    /// Passes on one second after another without storing them; for a long run also minutes.
    ///
    /// # Errors
    /// [`RunError::Corrupt`] and [`RunError::Io`].
    pub fn each_slice(&self, mut take: impl FnMut(Snapshot)) -> Result<(), RunError> {
        for file in parts::in_order(&self.directory, files::SNAPSHOT_STEM)? {
            each_line(&file.path, |_, mut snapshot: Snapshot| {
                if file.until.is_none_or(|until| snapshot.slice < until) {
                    line::restore(&mut snapshot);
                    take(snapshot);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Observer series in the order in which they were first seen.
    ///
    /// # Errors
    /// [`RunError::Corrupt`] and [`RunError::Io`].
    pub fn signals(&self) -> Result<Vec<SignalSeries>, RunError> {
        Ok(self.observed(Readings::all(), &mut Stretches::default())?.0)
    }

    fn observed(&self, mut readings: Readings, stretches: &mut Stretches) -> Result<(Vec<SignalSeries>, Vec<SignalNotice>), RunError> {
        let mut all: Vec<SignalSeries> = Vec::new();
        let mut notices = Vec::new();
        for file in parts::in_order(&self.directory, files::SIGNAL_STEM)? {
            let mut is_over = false;
            each_line(&file.path, |_, line| match line {
                SignalLine::Part(begin) => {
                    is_over |= file.until.is_some_and(|until| begin >= until);
                    Ok(())
                }
                _ if is_over => Ok(()),
                SignalLine::Signal { id, signal } if id as usize == all.len() => {
                    all.push(SignalSeries { signal: line::complete(signal), points: Vec::new() });
                    Ok(())
                }
                SignalLine::Points { id, at, value } if at.len() == value.len() => {
                    let series = all.get_mut(id as usize).ok_or_else(|| format!("points of series {id}, which no earlier line defines"))?;
                    for point in at.into_iter().zip(value).map(|(at, value)| SignalPoint { at, value }) {
                        stretches.push_signal(id as usize, series, point);
                        readings.add(id as usize, series, point);
                    }
                    Ok(())
                }
                SignalLine::Notice(notice) => {
                    notices.push(notice);
                    Ok(())
                }
                SignalLine::Signal { id, .. } => Err(format!("series {id} is out of order")),
                SignalLine::Points { .. } => Err("expected as many instants as values".to_owned()),
            })?;
        }
        Ok((all, notices))
    }

    /// The traces, in stretches of at least `step_seconds`.
    fn traces(&self, step_seconds: u32) -> Result<RunTraces, RunError> {
        let mut traces = RunTraces::default();
        each_line(&self.directory.join(files::TRACES), |_, line| match line {
            TraceLine::Path { id, path } if id as usize == traces.paths.len() => {
                traces.paths.push(path.into_owned());
                Ok(())
            }
            TraceLine::Path { id, .. } => Err(format!("path {id} is out of order")),
            TraceLine::Slice(slice) if slice.spans.iter().all(|span| (span.path as usize) < traces.paths.len()) => {
                traces.add(slice.into_owned(), step_seconds);
                Ok(())
            }
            TraceLine::Slice(_) => Err("a span of a path that no earlier line defines".to_owned()),
            TraceLine::Kept(kept) => {
                traces.keep(kept.into_owned());
                Ok(())
            }
        })?;
        Ok(traces)
    }

    /// `None`: still running, or killed.
    ///
    /// # Errors
    /// [`RunError::Corrupt`] and [`RunError::Io`].
    pub fn end(&self) -> Result<Option<RunEnd>, RunError> {
        let path = self.directory.join(files::END);
        disk::read_whole(&path)?.map(|bytes| parse(&path, &bytes)).transpose()
    }

    /// A conclusion (`files::SUMMARY`, …), if it exists.
    ///
    /// # Errors
    /// [`RunError::Io`]
    pub fn conclusion(directory: &Path, file: &str) -> Result<Option<Vec<u8>>, RunError> {
        disk::read_whole(&directory.join(file))
    }
}

/// Parses each line. A last line without a newline was truncated while it was written, and is skipped.
fn each_line<T: DeserializeOwned>(path: &Path, mut take: impl FnMut(usize, T) -> Result<(), String>) -> Result<(), RunError> {
    let Some(mut lines) = parts::open(path)? else { return Ok(()) };
    let corrupt = |line, problem| RunError::Corrupt { path: path.to_owned(), line, problem };
    let mut buffer = Vec::new();
    for number in 1.. {
        buffer.clear();
        match (&mut lines).take(LINE_BYTES_MAX).read_until(b'\n', &mut buffer) {
            Ok(length) if length as u64 == LINE_BYTES_MAX => return Err(corrupt(number, "a line of more than 64 MiB".to_owned())),
            Ok(_) => {}
            // A truncated compressed frame is a truncated end, too.
            Err(source) if source.kind() == ErrorKind::UnexpectedEof => break,
            Err(source) => return Err(RunError::io("read", path, source)),
        }
        if buffer.pop() != Some(b'\n') {
            break;
        }
        if buffer.is_empty() {
            continue;
        }
        match serde_json::from_slice(&printable(&buffer)) {
            Ok(value) => take(number, value).map_err(|problem| corrupt(number, problem))?,
            // After a machine crash, blocks that never reached the disk read as zeros, which is another form of a truncated end.
            Err(_) if buffer.contains(&0) && at_end(&mut lines) => break,
            Err(error) => return Err(corrupt(number, problem(&error))),
        }
    }
    Ok(())
}

fn at_end(lines: &mut impl BufRead) -> bool {
    lines.fill_buf().is_ok_and(<[u8]>::is_empty)
}
