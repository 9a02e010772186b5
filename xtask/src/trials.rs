//! Starts the package `trials`, whose commands are also commands of `cargo xtask`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;

use anyhow::{Context, Result};
use checkout::Workspace;
use clap::Args;

/// Passed on as they are, `--help` included.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct TrialArguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Becomes `cargo run --package trials -- NAME ARGUMENTS`, so that signals and the exit code are those of the trial.
pub(crate) fn run(workspace: &Workspace, name: &str, arguments: &TrialArguments) -> Result<()> {
    let mut command = workspace.command("cargo");
    command.args(["run", "--quiet", "--locked", "--package", "trials", "--", name]).args(&arguments.arguments);
    Err(command.exec()).context("cannot start cargo")
}
