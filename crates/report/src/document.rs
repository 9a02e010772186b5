//! The documents that a finished run leaves in its directory, in one table. A new document is a renderer in its own file and a line in [`DOCUMENTS`].
//! Its file name belongs to the directory's layout, `loadstone_run_directory::files`.

use loadstone_analysis::{RunComparison, Summary};
use loadstone_run_directory::{Run, files};

use crate::comparison;
use crate::html::html;
use crate::json::summary_json_with;
use crate::junit::junit_with;
use crate::markdown::markdown;
use crate::terminal::{Closing, TimeColumns};
use crate::view::{ReportView, RunState};

/// A form in which a finished run is stored.
#[derive(Debug, Clone, Copy)]
pub struct Document {
    /// File in the run directory.
    pub file: &'static str,
    /// Name for people: `Report`.
    pub title: &'static str,
    render: fn(&Run, &Summary, Option<&RunComparison>) -> String,
}

/// Every document, in the order in which they are written.
pub static DOCUMENTS: [Document; 4] = [
    Document { file: files::SUMMARY, title: "Summary", render: |_, summary, compared| summary_json_with(summary, compared) },
    Document { file: files::JUNIT, title: "JUnit", render: as_junit },
    Document { file: files::MARKDOWN, title: "Markdown", render: as_markdown },
    Document { file: files::REPORT, title: "Report", render: as_page },
];

impl Document {
    /// The content of the file. `summary` is the conclusion that `analysis` drew from the same run, `compared` its comparison with a baseline.
    pub fn render(&self, run: &Run, summary: &Summary, compared: Option<&RunComparison>) -> String {
        (self.render)(run, summary, compared)
    }
}

fn as_junit(run: &Run, summary: &Summary, compared: Option<&RunComparison>) -> String {
    let (state, state_detail) = RunState::of(run.end.as_ref());
    junit_with(summary, state, state_detail, compared)
}

fn as_markdown(run: &Run, summary: &Summary, compared: Option<&RunComparison>) -> String {
    let (state, state_detail) = RunState::of(run.end.as_ref());
    let file = run.info.file.as_deref();
    let text = markdown(summary, &Closing { state, state_detail, file, places: &[], columns: TimeColumns::default(), shows_all: false });
    compared.map_or_else(|| text.clone(), |compared| format!("{text}\n{}", comparison::markdown(compared)))
}

fn as_page(run: &Run, summary: &Summary, compared: Option<&RunComparison>) -> String {
    html(&ReportView { comparison: compared.cloned(), ..ReportView::build(run, summary) })
}
