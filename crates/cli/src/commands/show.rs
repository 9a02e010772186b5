//! `loadstone show`: shows the summary of a finished run.

use std::io::{IsTerminal, Write};

use clap::Args;
use loadstone_report::RunState;
use loadstone_report::terminal::{Closing, Style, TimeColumns};

use crate::conclusion_files::short_path;
use crate::context::CommandContext;
use crate::exit::Exit;
use crate::flags::StoredRunArgs;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    run: StoredRunArgs,
    /// Print JSON (summary.json).
    #[arg(long)]
    json: bool,
    /// Columns of the table, as for `loadstone run`.
    #[arg(long = "summary", value_name = "COLUMNS")]
    columns: Option<TimeColumns>,

    /// Show every request in the table, not only the ten most important ones.
    #[arg(long)]
    all: bool,
}

impl ShowArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        let (directory, run, summary) = self.run.read()?;
        let mut out = std::io::stdout();
        if self.json {
            out.write_all(loadstone_report::summary_json(&summary).as_bytes())?;
            return Ok(Exit::Passed);
        }
        let style = Style::detect(context.color, out.is_terminal());
        let (state, state_detail) = RunState::of(run.end.as_ref());
        let places = [("Run", short_path(&directory))];
        let columns = self.columns.clone().unwrap_or_default();
        let file = run.info.file.as_deref();
        let closing = Closing { state, state_detail, file, places: &places, columns, shows_all: self.all };
        out.write_all(loadstone_report::terminal::summary(&summary, &closing, &style).as_bytes())?;
        Ok(Exit::Passed)
    }
}
