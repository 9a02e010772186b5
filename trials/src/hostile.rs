//! `cargo xtask hostile`: whether hostile targets, files and networks can harm a run or the machine.
//!
//! The trial itself is `trials/hostile`, in the language of its tests. Here is what it needs of this workspace: the binary under test, and where results
//! belong.

use std::path::PathBuf;

use anyhow::{Context, Result};
use checkout::{Workspace, machine, process};
use clap::Args;

const RESULTS: &str = "bench/results/hostile.md";

#[derive(Args)]
pub(crate) struct HostileOptions {
    /// Run only these attacks, and write no results: `flood/*,memory/otlp`.
    #[arg(long, value_name = "ATTACKS")]
    only: Option<String>,
    /// Use this binary instead of the development build.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

pub(crate) fn hostile(workspace: &Workspace, options: &HostileOptions) -> Result<()> {
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("there is no {}", binary.display()))?,
        None => machine::development_binary(workspace)?,
    };
    let mut command = workspace.command("node");
    command.arg("trials/hostile/main.mjs").arg("--loadstone").arg(binary).arg("--results").arg(workspace.root.join(RESULTS));
    if let Some(attacks) = &options.only {
        command.args(["--only", attacks]);
    }
    process::run(&mut command).context("an attack exceeded its limits: see above")
}
