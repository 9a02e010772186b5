//! `loadstone compare`: is a run better or worse than another?

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;
use loadstone_report::comparison::ShownNumbers;
use loadstone_report::terminal::Style;

use crate::comparison::{self, ConcludedRun};
use crate::conclusion_files::write_if_asked;
use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::flags::{self, ComparisonArgs, RunsFolderArgs};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loadstone compare last latest
  loadstone compare main latest --fail-if 'p99 worse by 5%' --markdown comparison.md")]
pub(crate) struct CompareArgs {
    /// The baseline: an id or its prefix, a run directory, a tag (the newest run of the test with this tag), `latest~1`, or `last` (the complete run of the
    /// test before the candidate).
    #[arg(value_name = "BASELINE", default_value = "last")]
    baseline: String,
    /// The run to judge.
    #[arg(value_name = "CANDIDATE", default_value = "latest")]
    candidate: String,
    #[command(flatten)]
    how: ComparisonArgs,
    #[command(flatten)]
    folder: RunsFolderArgs,
    /// Show the numbers of runs that cannot be compared, such as those of different tests.
    #[arg(long)]
    anyway: bool,
    /// Show all numbers, not only those that changed.
    #[arg(long)]
    all: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Also write the comparison as Markdown to this file, for a pull request. GITHUB_STEP_SUMMARY is honoured.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Also write the comparison as an HTML page to this file, with the shift of every quantile.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write the comparison as JUnit XML to this file.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

impl CompareArgs {
    /// The error of an unknown candidate, which also names the baseline if that is unknown, too.
    fn with_baseline(&self, unknown: UsageError) -> UsageError {
        let is_unknown = self.baseline != "last" && comparison::find(&self.folder.runs, &self.baseline, None, None).is_err();
        if is_unknown { UsageError(format!("no run \"{}\", and {}", self.baseline, unknown.0)) } else { unknown }
    }

    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        let (effect, gates) = (self.how.effect()?, self.how.gates()?);
        let directory = match flags::find(&self.folder.runs, &self.candidate) {
            Ok(directory) => directory,
            // Tags are not part of an id.
            Err(unknown) => comparison::find(&self.folder.runs, &self.candidate, None, None).map_err(|_| self.with_baseline(unknown))?,
        };
        let candidate = ConcludedRun::read(&directory)?;
        let baseline = comparison::find(&self.folder.runs, &self.baseline, Some(candidate.test()), Some(&directory))?;
        let compared = ConcludedRun::read(&baseline)?.compare_with(&candidate, effect, &gates);
        let mut out = std::io::stdout();
        let text = if self.json {
            loadstone_report::comparison::json(&compared)
        } else {
            let shown = ShownNumbers { all: self.all, anyway: self.anyway };
            loadstone_report::comparison::terminal(&compared, shown, &Style::detect(context.color, out.is_terminal()))
        };
        out.write_all(text.as_bytes())?;
        comparison::write_markdown(&compared, self.markdown.as_deref())?;
        write_if_asked(self.junit.as_deref(), || loadstone_report::comparison::junit(&compared))?;
        write_if_asked(self.html.as_deref(), || loadstone_report::comparison::html(&compared))?;
        Ok(comparison::exit_of(&compared))
    }
}
