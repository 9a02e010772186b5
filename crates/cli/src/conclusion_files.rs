//! Writes the conclusions of a run as files: into its directory, and to the paths that the user requests.

use std::path::{Path, PathBuf};

use anyhow::Context;
use loadstone_analysis::{RunComparison, Summary};
use loadstone_report::DOCUMENTS;
use loadstone_run_directory::{Run, Writer, files};

use crate::flags::OutputArgs;

/// The conclusions in every stored format: file name, title, content.
pub(crate) struct ConclusionFiles {
    documents: Vec<(&'static str, &'static str, String)>,
}

impl ConclusionFiles {
    pub(crate) fn of(run: &Run, summary: &Summary) -> Self {
        Self::compared(run, summary, None)
    }

    /// With the comparison with a baseline.
    pub(crate) fn compared(run: &Run, summary: &Summary, compared: Option<&RunComparison>) -> Self {
        let rendered = DOCUMENTS.iter().map(|document| (document.file, document.title, document.render(run, summary, compared)));
        Self { documents: rendered.collect() }
    }

    /// The document with this file name in the run directory.
    pub(crate) fn text(&self, file: &str) -> &str {
        self.documents.iter().find(|(name, ..)| *name == file).map_or("", |(.., text)| text)
    }

    /// Writes into the run directory. Returns the report's path.
    pub(crate) fn write(&self, directory: &Path) -> anyhow::Result<PathBuf> {
        for (file, _, text) in &self.documents {
            Writer::conclusion(directory, file, text.as_bytes())?;
        }
        Ok(directory.join(files::REPORT))
    }

    /// Writes everything for a finished run. `directory`: the run directory, if it is stored. Returns the lines to show to the user.
    pub(crate) fn write_all(&self, directory: Option<&Path>, output: &OutputArgs) -> anyhow::Result<Vec<(&'static str, String)>> {
        let mut places = Vec::new();
        if let Some(directory) = directory {
            places.push(("Report", short_path(&self.write(directory)?)));
            places.push(("Run", short_path(directory)));
        }
        for (file, path) in [(files::REPORT, &output.html), (files::JUNIT, &output.junit), (files::MARKDOWN, &output.markdown)] {
            let document = self.documents.iter().find(|(name, ..)| *name == file);
            if let (Some((_, title, text)), Some(path)) = (document, path) {
                std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
                places.push((*title, short_path(path)));
            }
        }
        onto_job_page(self.text(files::MARKDOWN))?;
        Ok(places)
    }
}

/// Writes the files that flags name.
pub(crate) fn write_if_asked(path: Option<&Path>, render: impl FnOnce() -> String) -> anyhow::Result<()> {
    path.map_or(Ok(()), |path| std::fs::write(path, render()).with_context(|| format!("cannot write {}", path.display())))
}

/// Also appends to the job summary of GitHub Actions, if there is one.
pub(crate) fn onto_job_page(markdown: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()).map(PathBuf::from) else { return Ok(()) };
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    let mut file = opened.with_context(|| format!("cannot open {}", path.display()))?;
    writeln!(file, "{markdown}").with_context(|| format!("cannot write {}", path.display()))
}

/// The shortest form of a path from the current folder.
pub(crate) fn short_path(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
