//! `loadstone man`: manual pages, for packages.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::context::CommandContext;
use crate::exit::Exit;

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write to.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

impl ManArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        std::fs::create_dir_all(&self.folder).with_context(|| format!("cannot create {}", self.folder.display()))?;
        clap_mangen::generate_to((context.command_line)(), &self.folder)
            .with_context(|| format!("cannot write to {}", self.folder.display()))?;
        Ok(Exit::Passed)
    }
}
