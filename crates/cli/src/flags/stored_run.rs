//! Selects a run in a folder.

use std::path::{Path, PathBuf};

use clap::Args;
use loadstone_analysis::Summary;
use loadstone_run_directory::{History, Reader, Run};

use crate::answers;
use crate::exit::UsageError;

#[derive(Debug, Args)]
pub(crate) struct RunsFolderArgs {
    /// Folder of run directories.
    #[arg(long, value_name = "FOLDER", default_value = "runs", env = "LOADSTONE_RUNS")]
    pub(crate) runs: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct StoredRunArgs {
    /// An id or its prefix, `latest` or `last`, `latest~1`, a tag, or a run directory.
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    #[command(flatten)]
    folder: RunsFolderArgs,
}

impl StoredRunArgs {
    /// The run with conclusions computed again, and its directory.
    pub(crate) fn read(&self) -> anyhow::Result<(PathBuf, Run, Summary)> {
        let directory = self.directory()?;
        let mut run = Reader::open(&directory).and_then(Reader::run)?;
        let summary = Summary { proofs: crate::experiment::proofs(&directory)?, ..loadstone_analysis::conclude_in_place(&mut run) };
        Ok((directory, run, summary))
    }

    /// All stored data of the run, per second where seconds are stored.
    pub(crate) fn as_kept(&self) -> anyhow::Result<Run> {
        Ok(Reader::open(&self.directory()?).and_then(Reader::run_unfolded)?)
    }

    pub(crate) fn directory(&self) -> Result<PathBuf, UsageError> {
        find(&self.folder.runs, &self.run)
    }
}

/// The directory of the selected run. It may be outside the folder, or in the folder of an experiment or a search.
pub(crate) fn find(runs: &Path, asked: &str) -> Result<PathBuf, UsageError> {
    let path = Path::new(asked);
    if path.join(loadstone_run_directory::files::RUN).is_file() {
        return Ok(path.to_owned());
    }
    match History::of(runs).and_then(|history| history.find(asked)) {
        Ok(directory) => Ok(directory),
        Err(unknown) => answers::run_of_any(runs, asked).ok_or_else(|| UsageError(unknown.to_string())),
    }
}
