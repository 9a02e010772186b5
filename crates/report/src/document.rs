//! The documents that a finished run leaves in its directory, in one table. A new document is a renderer in its own file and a line in [`DOCUMENTS`].
//! Its file name belongs to the directory's layout, `loadstone_run_directory::files`.

use loadstone_analysis::Summary;
use loadstone_run_directory::{Run, files};

use crate::html::html;
use crate::json::summary_json;
use crate::junit::junit;
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
    render: fn(&Run, &Summary) -> String,
}

/// Every document, in the order in which they are written.
pub static DOCUMENTS: [Document; 4] = [
    Document { file: files::SUMMARY, title: "Summary", render: |_, summary| summary_json(summary) },
    Document { file: files::JUNIT, title: "JUnit", render: as_junit },
    Document { file: files::MARKDOWN, title: "Markdown", render: as_markdown },
    Document { file: files::REPORT, title: "Report", render: |run, summary| html(&ReportView::build(run, summary)) },
];

impl Document {
    /// The content of the file. `summary` is the conclusion that `analysis` drew from the same run.
    pub fn render(&self, run: &Run, summary: &Summary) -> String {
        (self.render)(run, summary)
    }
}

fn as_junit(run: &Run, summary: &Summary) -> String {
    let (state, state_detail) = RunState::of(run.end.as_ref());
    junit(summary, state, state_detail)
}

fn as_markdown(run: &Run, summary: &Summary) -> String {
    let (state, state_detail) = RunState::of(run.end.as_ref());
    markdown(summary, &Closing { state, state_detail, places: &[], columns: TimeColumns::default() })
}
