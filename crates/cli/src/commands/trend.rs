//! `loadstone trend`: a test over its runs.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use analysis::{Grade, RunTrend, Summary, TrendInput, TrendRun};
use anyhow::Context;
use clap::Args;
use plan::TestPlan;
use report::terminal::Style;
use run_directory::{History, HistoryEntry, Reader, RunEnd};

use crate::conclusion_files::append;
use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::flags::RunsFolderArgs;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loadstone trend
  loadstone trend shop --last 100 --markdown trend.md")]
pub(crate) struct TrendArgs {
    /// Name of the test.  [default: that of the newest run]
    #[arg(value_name = "TEST")]
    test: Option<String>,
    /// How many runs, the newest.
    #[arg(long, value_name = "N", default_value_t = 200)]
    last: usize,
    #[command(flatten)]
    folder: RunsFolderArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// Also write it as Markdown here. GITHUB_STEP_SUMMARY is honoured.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Runs of the test that are no part of its trend.
#[derive(Debug, Default)]
struct LeftOut {
    other_load: usize,
    cut_short: usize,
    invalid: usize,
    unreadable: usize,
}

impl TrendArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        let (test, inputs, left_out) = self.read()?;
        let trend = RunTrend::of(&test, &inputs);
        let mut out = std::io::stdout();
        let text = if self.json {
            report::trend::json(&trend)
        } else {
            report::trend::terminal(&trend, &Style::detect(context.color, out.is_terminal()))
        };
        out.write_all(text.as_bytes())?;
        left_out.tell();
        let markdown = report::trend::markdown(&trend);
        if let Some(path) = &self.markdown {
            std::fs::write(path, &markdown).with_context(|| format!("cannot write {}", path.display()))?;
        }
        if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
            append(Path::new(&path), &markdown)?;
        }
        Ok(Exit::Passed)
    }

    /// The complete and valid runs of the test under the load of its newest, the oldest first.
    fn read(&self) -> anyhow::Result<(String, Vec<TrendInput>, LeftOut)> {
        let folder = &self.folder.runs;
        let history = History::of(folder).map_err(|error| UsageError(error.to_string()))?;
        let mut test = self.test.clone();
        let mut newest: Option<TestPlan> = None;
        let mut left_out = LeftOut::default();
        let mut inputs = Vec::new();
        for entry in history.entries() {
            let Ok(entry) = entry else {
                left_out.unreadable += 1;
                continue;
            };
            if *test.get_or_insert_with(|| entry.test.clone()) != entry.test {
                continue;
            }
            match kept(&entry, &mut newest, &mut left_out) {
                Some(input) => inputs.push(input),
                None => continue,
            }
            if inputs.len() >= self.last {
                break;
            }
        }
        let Some(test) = test.filter(|_| !inputs.is_empty()) else {
            let of = self.test.as_ref().map_or_else(String::new, |test| format!(" of \"{test}\""));
            return Err(UsageError(format!("there is no complete run{of} in {}", folder.display())).into());
        };
        inputs.reverse();
        Ok((test, inputs, left_out))
    }
}

fn kept(entry: &HistoryEntry, newest: &mut Option<TestPlan>, left_out: &mut LeftOut) -> Option<TrendInput> {
    if entry.end != Some(RunEnd::Completed) {
        left_out.cut_short += 1;
        return None;
    }
    let summary = entry.summary.as_ref().and_then(|value| serde_json::from_value::<Summary>(value.clone()).ok());
    let (Some(summary), Ok(reader)) = (summary, Reader::open(&entry.directory)) else {
        left_out.unreadable += 1;
        return None;
    };
    if summary.verdict.validity.grade == Grade::Invalid {
        left_out.invalid += 1;
        return None;
    }
    if !analysis::same_load(newest.get_or_insert_with(|| reader.plan().clone()), reader.plan()) {
        left_out.other_load += 1;
        return None;
    }
    let info = &entry.info;
    let run = TrendRun { id: info.id.clone(), started: info.started.clone(), commit: info.commit.clone(), tags: info.tags.clone() };
    Some(TrendInput { run, summary })
}

impl LeftOut {
    /// A convenience; a closed standard error is no reason to stop.
    fn tell(&self) {
        let parts = [
            (self.other_load, "under another load"),
            (self.cut_short, "cut short"),
            (self.invalid, "invalid"),
            (self.unreadable, "without a summary that can be read"),
        ];
        let told: Vec<String> = parts.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
        if !told.is_empty() {
            let _ = writeln!(std::io::stderr(), "Left out: {}.", told.join(", "));
        }
    }
}
