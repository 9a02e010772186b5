//! `loadstone show`: the summary of a run that is over.

use std::io::{IsTerminal, Write};

use clap::Args;
use report::RunState;
use report::terminal::{Closing, Style};

use crate::conclusion_files::short_path;
use crate::context::CommandContext;
use crate::exit::Exit;
use crate::flags::StoredRunArgs;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    run: StoredRunArgs,
    /// As JSON (summary.json).
    #[arg(long)]
    json: bool,
}

impl ShowArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        let (directory, run, summary) = self.run.read()?;
        let mut out = std::io::stdout();
        if self.json {
            out.write_all(report::summary_json(&summary).as_bytes())?;
            return Ok(Exit::Passed);
        }
        let style = Style::detect(context.color, out.is_terminal());
        let (state, state_detail) = RunState::of(run.end.as_ref());
        let places = [("Run", short_path(&directory))];
        out.write_all(report::terminal::summary(&summary, &Closing { state, state_detail, places: &places }, &style).as_bytes())?;
        Ok(Exit::Passed)
    }
}
