//! `loadstone trend`: shows a test over its runs.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;
use loadstone_report::terminal::Style;

use crate::conclusion_files::{onto_job_page, write_if_asked};
use crate::context::CommandContext;
use crate::exit::Exit;
use crate::flags::RunsFolderArgs;
use crate::run_trend::TestHistory;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loadstone trend
  loadstone trend shop --last 100 --markdown trend.md")]
pub(crate) struct TrendArgs {
    /// Name of the test.  [default: that of the newest run]
    #[arg(value_name = "TEST")]
    test: Option<String>,
    /// How many of the newest runs to include.
    #[arg(long, value_name = "N", default_value_t = 200)]
    last: usize,
    #[command(flatten)]
    folder: RunsFolderArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Also write the trend as Markdown to this file. GITHUB_STEP_SUMMARY is honoured.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Also write the trend as an HTML page to this file, with each number as a series.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl TrendArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        let history = TestHistory::read(&self.folder.runs, self.test.as_deref(), self.last)?;
        let trend = history.trend();
        let mut out = std::io::stdout();
        let text = if self.json {
            loadstone_report::trend::json(&trend)
        } else {
            loadstone_report::trend::terminal(&trend, &Style::detect(context.color, out.is_terminal()))
        };
        out.write_all(text.as_bytes())?;
        if let Some(left_out) = history.left_out() {
            // This output is optional: a closed standard error must not stop the command.
            let _ = writeln!(std::io::stderr(), "Left out: {left_out}.");
        }
        let markdown = loadstone_report::trend::markdown(&trend);
        write_if_asked(self.markdown.as_deref(), || markdown.clone())?;
        write_if_asked(self.html.as_deref(), || loadstone_report::trend::html(&trend))?;
        onto_job_page(&markdown)?;
        Ok(Exit::Passed)
    }
}
