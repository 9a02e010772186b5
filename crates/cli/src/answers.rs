//! Experiments and capacity searches in a folder of runs: their folders and results. Read [`AnswerFolder`].

use std::path::{Path, PathBuf};

use loadstone_analysis::{Capacity, Experiment};
use loadstone_run_directory::files;

use crate::{capacity, experiment};

/// The folder of an experiment or a search: its result, and the runs that it is based on.
pub(crate) struct AnswerFolder {
    /// Path below the folder of runs.
    pub(crate) id: String,
    pub(crate) directory: PathBuf,
}

pub(crate) enum FoundAnswer {
    Experiment(Experiment),
    Capacity(Capacity),
}

impl AnswerFolder {
    /// All of them, in no particular order. An unreadable folder yields none.
    pub(crate) fn all(runs: &Path) -> Vec<Self> {
        let experiments = experiment::folder(runs);
        let in_runs = |name: &String| runs.join(name).join(files::CAPACITY).is_file();
        let searches = folders(runs).into_iter().filter(in_runs).map(|name| (runs.join(&name), name));
        let stem = experiments.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let turned = folders(&experiments).into_iter().map(|name| (experiments.join(&name), format!("{stem}/{name}")));
        turned.chain(searches).map(|(directory, id)| Self { id, directory }).collect()
    }

    /// The result. `None` if there is none yet.
    ///
    /// # Errors
    /// The file is damaged or has an unknown format.
    pub(crate) fn read(&self) -> anyhow::Result<Option<FoundAnswer>> {
        if let Some(capacity) = capacity::answer(&self.directory)? {
            return Ok(Some(FoundAnswer::Capacity(capacity)));
        }
        Ok(experiment::answer(&self.directory)?.map(FoundAnswer::Experiment))
    }
}

impl FoundAnswer {
    /// Name of the test.
    pub(crate) fn test(&self) -> &str {
        match self {
            FoundAnswer::Experiment(experiment) => &experiment.test,
            FoundAnswer::Capacity(capacity) => &capacity.test,
        }
    }
}

/// The directory of a run that belongs to one of these folders, by the run's full name.
pub(crate) fn run_of_any(runs: &Path, name: &str) -> Option<PathBuf> {
    let is_plain = !name.is_empty() && !name.contains('/') && name != "..";
    let mut places = AnswerFolder::all(runs).into_iter().map(|folder| folder.directory.join(name));
    places.find(|directory| is_plain && directory.join(files::RUN).is_file())
}

fn folders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().is_dir()).filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
