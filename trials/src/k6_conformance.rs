//! `cargo xtask k6-conformance`: whether small scripts, one for each member of k6, behave in Loadstone as in k6.
//!
//! The trial itself is `trials/k6`: the scripts, the server that both tools send to, and the comparison.

use std::path::PathBuf;

use anyhow::{Context, Result};
use checkout::{Workspace, machine, process};
use clap::Args;

const RESULTS: &str = "bench/results/k6-conformance.md";

#[derive(Args)]
pub(crate) struct K6ConformanceOptions {
    /// Run only the scripts whose member contains this, show everything, and write no results.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// k6: `go install go.k6.io/k6@v1.4.2` builds it.
    #[arg(long, value_name = "FILE", default_value = "k6")]
    k6: PathBuf,
    /// Use this binary instead of the development build.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

pub(crate) fn k6_conformance(workspace: &Workspace, options: &K6ConformanceOptions) -> Result<()> {
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("there is no {}", binary.display()))?,
        None => machine::development_binary(workspace)?,
    };
    let mut command = workspace.command("node");
    command.arg("trials/k6/main.mjs").arg("--loadstone").arg(binary).arg("--k6").arg(&options.k6);
    match &options.only {
        Some(only) => command.args(["--only", only]),
        None => command.arg("--results").arg(workspace.root.join(RESULTS)),
    };
    process::run(&mut command).context("Loadstone differs from k6 without an explanation: see above")
}
