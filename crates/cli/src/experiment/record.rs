//! Stores an experiment: a folder with its result and the runs of its blocks, and a line in the directory of the run whose finding was verified.

use std::path::{Path, PathBuf};

use anyhow::Context;
use loadstone_analysis::{Experiment, FindingProof};
use loadstone_run_directory::files;

/// A subfolder of the runs folder. Listings of runs do not descend into it, so no block is taken for a run of its test.
const FOLDER: &str = "experiments";
const FILE: &str = "experiment.json";
const MARKDOWN: &str = "experiment.md";

/// Results of experiments that verified findings of a run.
///
/// # Errors
/// The file is damaged or has an unknown format.
pub(crate) fn proofs(run: &Path) -> anyhow::Result<Vec<FindingProof>> {
    let path = run.join(files::PROOFS);
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| format!("cannot read {}", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Folder of all experiments, within the runs folder.
pub(crate) fn folder(runs: &Path) -> PathBuf {
    runs.join(FOLDER)
}

/// The result in an experiment's folder. `None` if it is not one.
pub(crate) fn answer(folder: &Path) -> anyhow::Result<Option<Experiment>> {
    let Some(bytes) = loadstone_run_directory::Reader::conclusion(folder, FILE)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).with_context(|| format!("cannot read {}", folder.join(FILE).display()))
}

pub(crate) struct ExperimentRecord {
    directory: PathBuf,
}

impl ExperimentRecord {
    /// Creates `experiments/TIME-TEST-KNOB` in the folder of runs.
    pub(crate) fn create(runs: &Path, test: &str, knob: &str) -> anyhow::Result<Self> {
        let time: String =
            loadstone_session::now().chars().take("2026-11-20T18:30:05".len()).map(|c| if c == ':' { '-' } else { c }).collect();
        let plain =
            |text: &str| -> String { text.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect() };
        let directory = runs.join(FOLDER).join(format!("{time}-{}-{}", plain(test), plain(knob)));
        std::fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
        Ok(Self { directory })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn id(&self) -> String {
        self.directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Path below the folder of runs.
    pub(crate) fn answer(&self) -> String {
        format!("{FOLDER}/{}", self.id())
    }

    /// Writes the page, after the experiment has ended.
    pub(crate) fn write_page(&self, experiment: &Experiment) -> anyhow::Result<()> {
        loadstone_run_directory::Writer::conclusion(
            &self.directory,
            files::REPORT,
            loadstone_report::experiment::html(experiment).as_bytes(),
        )?;
        Ok(())
    }

    /// Replaces the stored result with the current one.
    pub(crate) fn write(&self, experiment: &Experiment) -> anyhow::Result<()> {
        for (file, text) in
            [(FILE, loadstone_report::experiment::json(experiment)), (MARKDOWN, loadstone_report::experiment::markdown(experiment))]
        {
            loadstone_run_directory::Writer::conclusion(&self.directory, file, text.as_bytes())?;
        }
        Ok(())
    }

    /// Adds the outcome for a finding to the run that reported it.
    pub(crate) fn add_to_run(&self, run: &Path, proof: &FindingProof) -> anyhow::Result<()> {
        let mut proofs = proofs(run)?;
        proofs.retain(|known| (&known.rule, &known.subject, &known.knob) != (&proof.rule, &proof.subject, &proof.knob));
        proofs.push(FindingProof { experiment: self.id(), ..proof.clone() });
        loadstone_run_directory::Writer::conclusion(run, files::PROOFS, &serde_json::to_vec_pretty(&proofs)?)?;
        Ok(())
    }
}
