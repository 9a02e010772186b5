//! Recorded requests: `arrivals.replay(…)` sends them when they were sent, and `user.replay()` sends what they were.
//!
//! Read [`Replay`]: one record with its index. [`index`] reads the record once, in a stream, and stores where and when each request is. A request itself is
//! read again when it is due, by the one worker that sends it. [`access_log`], [`har`] and [`gor`] are the formats.

mod access_log;
mod border;
mod format;
mod gor;
mod har;
mod index;
mod logged;
mod unpack;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loadstone_plan::{Load, LoadProfile, OpenStage, RecordedInstants, ReplayInstants, ReplayStage, ScenarioId, ScenarioRun, TestPlan};

use crate::error::ScriptError;
use crate::permissions::{AccessKind, FileAccess};
use format::ReplayFormat;
use index::RecordIndex;
pub(crate) use logged::LoggedRequest;

/// Longest recorded request, with its body. Bytes.
const REQUEST_BYTES_MAX: usize = 16 << 20;
/// Most lines of an access log are shorter. Bytes.
const FIRST_READ_BYTES: usize = 4 << 10;

/// A record whose index is known.
#[derive(Debug)]
pub(crate) struct Replay {
    index: Arc<RecordIndex>,
    source: File,
    format: ReplayFormat,
    path: PathBuf,
}

/// A request that cannot be read again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayError {
    #[error("cannot read {}: {problem}", path.display())]
    Unreadable { path: PathBuf, problem: String },
    #[error("{} changed while it was replayed", .0.display())]
    Changed(PathBuf),
}

/// The records of a plan, by the scenario that replays them.
pub(crate) type RecordsOfScenarios = Vec<(ScenarioId, Arc<Replay>)>;

/// Reads the records of a plan, and sets the counts and instants of its stages. `allow_writes`: also requests that change data.
///
/// # Errors
/// A record cannot be read, or contains no request.
pub(crate) fn prepare(
    plan: &mut TestPlan,
    folder: &Path,
    access: &FileAccess,
    allow_writes: bool,
) -> Result<RecordsOfScenarios, ScriptError> {
    let mut replays = RecordsOfScenarios::new();
    each_leaf(&mut plan.load, &mut |run| {
        // The number of an arrival is that of its request, so a record is the only stage of its profile.
        let LoadProfile::Open { stages } = &mut run.profile else { return Ok(()) };
        let [OpenStage::Replay(stage)] = stages.as_mut_slice() else { return Ok(()) };
        if replays.iter().any(|(scenario, _)| *scenario == run.scenario) {
            return Err(ScriptError::new(format!("arrivals.replay(\"{}\"): its scenario already replays another record", stage.file))
                .help("give each record its own scenario"));
        }
        replays.push((run.scenario, Arc::new(Replay::open(stage, folder, access, allow_writes)?)));
        Ok(())
    })?;
    Ok(replays)
}

fn each_leaf(load: &mut Load, visit: &mut impl FnMut(&mut ScenarioRun) -> Result<(), ScriptError>) -> Result<(), ScriptError> {
    match load {
        Load::Sequence(parts) | Load::Parallel(parts) => parts.iter_mut().try_for_each(|part| each_leaf(part, visit)),
        Load::Run(run) => visit(run),
    }
}

impl Replay {
    fn open(stage: &mut ReplayStage, folder: &Path, access: &FileAccess, allow_writes: bool) -> Result<Self, ScriptError> {
        let path = folder.join(&stage.file);
        let shown = stage.file.clone();
        let failed = |problem: String| ScriptError::new(format!("arrivals.replay(\"{shown}\"): {problem}"));
        access.check(AccessKind::Read, &path).map_err(|refused| failed(refused.to_string()))?;
        let facts = std::fs::metadata(&path).map_err(|problem| failed(format!("cannot be read: {problem}")))?;
        if !facts.is_file() {
            return Err(failed("is not a regular file".to_owned()));
        }
        let source = File::open(&path).map_err(|problem| failed(format!("cannot be read: {problem}")))?;
        let source = unpack::unpacked(source).map_err(failed)?;
        let format = ReplayFormat::of(stage).map_err(failed)?;
        let source = match &format {
            ReplayFormat::Spooled => {
                let size = source.metadata().map_err(|problem| failed(format!("cannot be read: {problem}")))?.len();
                har::spool(source, size).map_err(failed)?
            }
            ReplayFormat::Lines(_) | ReplayFormat::Gor => source,
        };
        let index = RecordIndex::build(&source, &format, stage, allow_writes).map_err(failed)?;
        if stage.count == 0 {
            return Err(failed(nothing_to_send(stage)).help(
                "set `format` to the log's format string, as in the server's configuration, or check `from` and `to`; docs/replay.md",
            ));
        }
        let index = Arc::new(index);
        stage.instants = ReplayInstants(Some(Arc::clone(&index) as Arc<dyn RecordedInstants>));
        Ok(Self { index, source, format, path })
    }

    /// The request with this number, read again from the record.
    pub(crate) fn request(&self, number: u64) -> Result<LoggedRequest, ReplayError> {
        let changed = || ReplayError::Changed(self.path.clone());
        let position = self.index.position(number).ok_or_else(changed)?;
        let mut wanted = FIRST_READ_BYTES;
        loop {
            let bytes = self.read(position, wanted)?;
            let is_all = bytes.len() < wanted;
            let request = match &self.format {
                ReplayFormat::Lines(format) => line_of(&bytes, is_all).map(|line| access_log::request(format, line)),
                ReplayFormat::Spooled => line_of(&bytes, is_all).map(har::request),
                ReplayFormat::Gor => gor::request(&bytes, is_all),
            };
            match request {
                Some(request) => return request.ok_or_else(changed),
                None if is_all || wanted >= REQUEST_BYTES_MAX => return Err(changed()),
                None => wanted *= 4,
            }
        }
    }

    fn read(&self, position: u64, wanted: usize) -> Result<Vec<u8>, ReplayError> {
        let mut bytes = vec![0; wanted];
        let mut filled = 0;
        while filled < wanted {
            match self.source.read_at(&mut bytes[filled..], position + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(problem) if problem.kind() == std::io::ErrorKind::Interrupted => {}
                Err(problem) => return Err(ReplayError::Unreadable { path: self.path.clone(), problem: problem.to_string() }),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

/// The first line. `None`: more has to be read.
fn line_of(bytes: &[u8], is_all: bool) -> Option<&[u8]> {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => Some(&bytes[..end]),
        None => is_all.then_some(bytes),
    }
}

fn nothing_to_send(stage: &ReplayStage) -> String {
    match (stage.writes_left_out, stage.unreadable) {
        (0, 0) => "contains no request in that stretch".to_owned(),
        (0, unreadable) => format!("contains no request: {} do not fit the format", loadstone_units::counted(unreadable, "line")),
        (writes, _) => {
            let counted = loadstone_units::counted(writes, "request");
            format!("contains only requests that may change data ({counted}); to send them, add `--allow-writes`")
        }
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    use loadstone_wire_formats::access_log::LogFormat;

    use super::gor::{self, GorReader};
    use super::{access_log, har};

    pub(crate) fn recording(input: &[u8]) {
        let mut reader = GorReader::new(input);
        while let Ok(Some(entry)) = reader.next() {
            if let Some(entry) = entry {
                let _ = gor::request(&input[entry.position as usize..], true);
            }
        }
        let _ = gor::request(input, true);
        let _ = (har::request(input), har::of_document(input));
        // These formats always parse.
        for format in ["combined", "%h %t %D \"%r\" %>s %{Referer}i"].into_iter().flat_map(LogFormat::parse) {
            input.split(|byte| *byte == b'\n').for_each(|line| drop(access_log::request(&format, line)));
        }
    }
}
