//! `cargo xtask wire`: what Loadstone, curl, Node and Go send for the same requests, and what they see of the same odd responses.
//!
//! The trial itself is `trials/wire`, in the language of its tables and of two of the clients. Here is what it needs of this workspace: the binary under test,
//! and where results belong.

use std::path::PathBuf;

use anyhow::{Context, Result};
use checkout::{Workspace, machine, process};
use clap::Args;

const RESULTS: &str = "bench/results/wire.md";

#[derive(Args)]
pub(crate) struct WireOptions {
    /// Run only these rows, and write no results: `header/*,redirect/302-post`.
    #[arg(long, value_name = "ROWS")]
    only: Option<String>,
    /// Show every difference, explained ones too.
    #[arg(long)]
    show: bool,
    /// Run Loadstone alone, against what the other clients did when the results were written.
    #[arg(long)]
    recorded: bool,
    /// Use this binary instead of the development build.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

pub(crate) fn wire(workspace: &Workspace, options: &WireOptions) -> Result<()> {
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("there is no {}", binary.display()))?,
        None => machine::development_binary(workspace)?,
    };
    let mut command = workspace.command("node");
    command.arg("trials/wire/main.mjs").arg("--loadstone").arg(binary).arg("--results").arg(workspace.root.join(RESULTS));
    if let Some(rows) = &options.only {
        command.args(["--only", rows]);
    }
    for (flag, wanted) in [("--show", options.show), ("--recorded", options.recorded)] {
        command.args(wanted.then_some(flag));
    }
    process::run(&mut command).context("Loadstone differs from other clients without a reason, or a reason explains nothing: see above")
}
