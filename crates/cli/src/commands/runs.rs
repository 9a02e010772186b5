//! `loadstone runs`: lists the runs of a folder.

mod prune;

use std::io::{IsTerminal, Write};

use clap::{Args, Subcommand};
use loadstone_report::RunRow;
use loadstone_report::terminal::Style;
use loadstone_run_directory::{History, RunError};
use loadstone_units::text;

use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::flags::RunsFolderArgs;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    action: Option<RunsAction>,
    #[command(flatten)]
    folder: RunsFolderArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum RunsAction {
    /// Delete old runs.
    Prune(prune::PruneArgs),
}

impl RunsArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        if let Some(RunsAction::Prune(prune)) = &self.action {
            return prune.perform();
        }
        let history = History::of(&self.folder.runs).map_err(|error| UsageError(error.to_string()))?;
        let rows: Vec<RunRow> =
            history.entries().filter_map(|entry| entry.inspect_err(warn).ok()).map(|entry| RunRow::of(&entry)).collect();
        let mut out = std::io::stdout();
        let is_terminal = out.is_terminal();
        let style = Style::detect(context.color, is_terminal);
        // A program that reads a pipe needs full ids.
        let style = if is_terminal { style } else { style.as_wide_as_needed() };
        let text = match rows.as_slice() {
            _ if self.json => loadstone_report::runs_json(&rows),
            [] => format!("No runs yet in {}.\n", self.folder.runs.display()),
            rows => loadstone_report::runs_table(rows, &style),
        };
        out.write_all(text.as_bytes())?;
        Ok(Exit::Passed)
    }
}

/// An unreadable directory must not hide the others.
fn warn(problem: &RunError) {
    let _ = writeln!(std::io::stderr(), "warning: {}", text::printable(&problem.to_string()));
}
