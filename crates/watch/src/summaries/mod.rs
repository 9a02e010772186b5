//! What a tool states about all its requests at its end, apart from its record: one file for each tool.
//!
//! Some tools write a file, most print. Read [`SummaryPlace`] and [`printed`].

mod artillery;
mod autocannon;
mod distribution;
mod gatling;
mod jmeter;
mod k6;
mod printed_output;
mod tool_summary;
mod vegeta;
mod wrk;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

pub(crate) use jmeter::of_dashboard as jmeter_dashboard;
pub(crate) use k6::of_export as k6_export;
pub(crate) use printed_output::{OutputCopy, PrintedTail};
use tool_summary::{PrintedText, ToolSummary};

/// Largest file that is read. Bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Where a tool states its summary.
#[derive(Debug)]
pub(crate) enum SummaryPlace {
    File {
        path: PathBuf,
        read: fn(&str) -> Option<ToolSummary>,
    },
    /// The end of what the command printed, for standard output and standard error.
    Printed(Vec<Arc<Mutex<PrintedTail>>>),
}

/// One reader for each tool. The first that recognises the text counts.
const READERS: &[fn(&PrintedText) -> Option<ToolSummary>] = &[
    vegeta::summary,
    autocannon::summary,
    distribution::of_oha,
    distribution::of_hey,
    wrk::summary,
    gatling::summary,
    jmeter::summary,
    artillery::summary,
];

impl SummaryPlace {
    /// `None`: the tool has stated nothing, such as k6 with `--no-summary`.
    pub(crate) fn read(&self) -> Option<ToolSummary> {
        match self {
            Self::File { path, read } => {
                let is_small = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= FILE_BYTES_MAX);
                read(&is_small.then(|| std::fs::read_to_string(path).ok()).flatten()?)
            }
            Self::Printed(tails) => tails.iter().find_map(|tail| printed(&PrintedTail::text(tail))),
        }
    }
}

/// Finds the summary of any known tool in what a command printed.
pub(crate) fn printed(text: &str) -> Option<ToolSummary> {
    let printed = PrintedText::new(text);
    READERS.iter().find_map(|read| read(&printed)).filter(|summary| !summary.percentiles.is_empty())
}
