//! What was concluded from a run, as files: in its directory, and where else the user wants them.

use std::path::{Path, PathBuf};

use analysis::Summary;
use anyhow::Context;
use report::terminal::Closing;
use report::{ReportView, RunState};
use run_directory::{Run, Writer, files};

use crate::flags::OutputArgs;

/// The conclusions in every form that is kept.
pub(crate) struct ConclusionFiles {
    pub(crate) html: String,
    junit: String,
    markdown: String,
    json: String,
}

impl ConclusionFiles {
    pub(crate) fn of(run: &Run, summary: &Summary) -> Self {
        let (state, state_detail) = RunState::of(run.end.as_ref());
        let closing = Closing { state, state_detail, places: &[] };
        Self {
            html: report::html(&ReportView::build(run, summary)),
            junit: report::junit(summary, state, state_detail),
            markdown: report::markdown(summary, &closing),
            json: report::summary_json(summary),
        }
    }

    /// Into the run directory. Returns the report's path.
    pub(crate) fn write(&self, directory: &Path) -> anyhow::Result<PathBuf> {
        Writer::conclusion(directory, files::SUMMARY, self.json.as_bytes())?;
        Writer::conclusion(directory, files::JUNIT, self.junit.as_bytes())?;
        Writer::conclusion(directory, files::MARKDOWN, self.markdown.as_bytes())?;
        Ok(Writer::conclusion(directory, files::REPORT, self.html.as_bytes())?)
    }

    /// Everything a finished run writes. `directory`: the run directory, if it stays. Returns what to tell the user.
    pub(crate) fn write_all(&self, directory: Option<&Path>, output: &OutputArgs) -> anyhow::Result<Vec<(&'static str, String)>> {
        let mut places = Vec::new();
        if let Some(directory) = directory {
            places.push(("Report", short_path(&self.write(directory)?)));
            places.push(("Run", short_path(directory)));
        }
        for (what, path, text) in
            [("Report", &output.html, &self.html), ("JUnit", &output.junit, &self.junit), ("Markdown", &output.markdown, &self.markdown)]
        {
            if let Some(path) = path {
                std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
                places.push((what, short_path(path)));
            }
        }
        if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
            append(Path::new(&path), &self.markdown)?;
        }
        Ok(places)
    }
}

fn append(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let mut file =
        std::fs::OpenOptions::new().create(true).append(true).open(path).with_context(|| format!("cannot open {}", path.display()))?;
    writeln!(file, "{text}").with_context(|| format!("cannot write {}", path.display()))
}

/// A path as short as it can be written from here.
pub(crate) fn short_path(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
