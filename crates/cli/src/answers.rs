//! The experiments and searches of a folder of runs: where they lie, and what they say. Read [`AnswerFolder`].

use std::path::{Path, PathBuf};

use loadstone_analysis::{Capacity, Experiment};
use loadstone_run_directory::files;

use crate::{capacity, experiment};

/// The folder of an experiment or a search: its answer, and the runs that it rests on.
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
    /// All of them, in no order. A folder that cannot be read has none.
    pub(crate) fn all(runs: &Path) -> Vec<Self> {
        let experiments = experiment::folder(runs);
        let in_runs = |name: &String| runs.join(name).join(files::CAPACITY).is_file();
        let searches = folders(runs).into_iter().filter(in_runs).map(|name| (runs.join(&name), name));
        let stem = experiments.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let turned = folders(&experiments).into_iter().map(|name| (experiments.join(&name), format!("{stem}/{name}")));
        turned.chain(searches).map(|(directory, id)| Self { id, directory }).collect()
    }

    /// What it says; `None`: nothing was learnt yet.
    ///
    /// # Errors
    /// A file that is not what was written.
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

/// The directory of a run that was made for one of them, by its whole name.
pub(crate) fn run_of_any(runs: &Path, name: &str) -> Option<PathBuf> {
    let is_plain = !name.is_empty() && !name.contains('/') && name != "..";
    let mut places = AnswerFolder::all(runs).into_iter().map(|folder| folder.directory.join(name));
    places.find(|directory| is_plain && directory.join(files::RUN).is_file())
}

fn folders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().is_dir()).filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
