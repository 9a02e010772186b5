//! Writes what was concluded from a run: into its directory, and where else the user wants it.

use std::path::{Path, PathBuf};

use analysis::Summary;
use anyhow::Context;
use report::DOCUMENTS;
use run_directory::{Run, Writer, files};

use crate::args::OutputArgs;
use crate::session::shown;

/// A run's conclusions in every form that is kept: file name, title, text.
pub(crate) struct Conclusions {
    documents: Vec<(&'static str, &'static str, String)>,
}

impl Conclusions {
    pub(crate) fn of(run: &Run, summary: &Summary) -> Self {
        let rendered = DOCUMENTS.iter().map(|document| (document.file, document.title, document.render(run, summary)));
        Self { documents: rendered.collect() }
    }

    /// The document that stands in the run directory under this name.
    pub(crate) fn text(&self, file: &str) -> &str {
        self.documents.iter().find(|(name, ..)| *name == file).map_or("", |(.., text)| text)
    }

    /// Into the run directory. Returns the report's path.
    pub(crate) fn write(&self, directory: &Path) -> anyhow::Result<PathBuf> {
        for (file, _, text) in &self.documents {
            Writer::conclusion(directory, file, text.as_bytes())?;
        }
        Ok(directory.join(files::REPORT))
    }

    /// Everything a finished run writes. `directory`: the run directory, if it stays. Returns what to tell the user.
    pub(crate) fn write_all(&self, directory: Option<&Path>, output: &OutputArgs) -> anyhow::Result<Vec<(&'static str, String)>> {
        let mut places = Vec::new();
        if let Some(directory) = directory {
            places.push(("Report", shown(&self.write(directory)?)));
            places.push(("Run", shown(directory)));
        }
        let asked = [(files::REPORT, &output.html), (files::JUNIT, &output.junit), (files::MARKDOWN, &output.markdown)];
        for (file, path) in asked {
            let document = self.documents.iter().find(|(name, ..)| *name == file);
            if let (Some((_, title, text)), Some(path)) = (document, path) {
                std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))?;
                places.push((*title, shown(path)));
            }
        }
        if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
            append(Path::new(&path), self.text(files::MARKDOWN))?;
        }
        Ok(places)
    }
}

fn append(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let mut file =
        std::fs::OpenOptions::new().create(true).append(true).open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    writeln!(file, "{text}").with_context(|| format!("{} cannot be written", path.display()))
}
