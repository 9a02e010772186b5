//! `loadstone ui`: the page for a folder of tests.

use std::path::PathBuf;

use clap::Args;

use crate::argument;
use crate::context::CommandContext;
use crate::exit::Exit;
use crate::flags::{PermissionArgs, RunsFolderArgs};
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct UiArgs {
    /// Folder with the tests (*.load.ts) and k6 scripts, at any depth.
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    #[command(flatten)]
    runs: RunsFolderArgs,
    #[command(flatten)]
    permissions: PermissionArgs,
    /// Address to serve the page on. Port 0 picks a free port. Anyone who can reach it can read; changes need the token in the address shown.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7580", value_parser = argument::listen)]
    listen: std::net::SocketAddr,
}

impl UiArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        ui::serve(&self.folder, &self.runs.runs, self.listen, &self.permissions)
    }
}
