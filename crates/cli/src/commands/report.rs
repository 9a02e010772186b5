//! `loadstone report`: writes the report of a finished run again.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::conclusion_files::{ConclusionFiles, short_path};
use crate::context::CommandContext;
use crate::exit::Exit;
use crate::flags::StoredRunArgs;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    run: StoredRunArgs,
    /// Write the HTML report here instead of into the run directory.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ReportArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        let (directory, run, summary) = self.run.read()?;
        let files = ConclusionFiles::of(&run, &summary);
        let path = match &self.output {
            Some(path) => {
                std::fs::write(path, files.text(loadstone_run_directory::files::REPORT))
                    .with_context(|| format!("cannot write {}", path.display()))?;
                path.clone()
            }
            None => files.write(&directory)?,
        };
        writeln!(std::io::stdout(), "{}", short_path(&path))?;
        Ok(Exit::Passed)
    }
}
