//! Runs one cell: the system with its fault, a run as a user would start it, and its conclusions.

use std::path::Path;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;
use serde_json::{Value, json};

use super::judging::{Catalogue, Cell};
use crate::lab::conclusion;
use crate::lab::system::LabSystem;

const SCRIPT: &str = "labs/diagnose/shop.load.ts";

/// The summary of a run against a system that is set up for it.
pub(super) fn carry_out(
    workspace: &Workspace,
    lab: &mut LabSystem,
    binary: &Path,
    runs: &Path,
    catalogue: &Catalogue,
    (cell, seconds, inside): (&Cell, u64, bool),
) -> Result<Value> {
    let fault = catalogue.fault(&cell.fault).context("no such fault")?;
    let settings = &fault.severity(&cell.severity).context("no such severity")?.settings;
    lab.switch(&json!({ "stack": cell.stack, "fault": settings }).to_string())?;
    let mut parameters = vec![
        ("target", lab.address("shop")?.to_owned()),
        ("load", cell.load.clone()),
        ("watch", cell.observe.clone()),
        ("length", format!("{seconds}s")),
    ];
    if inside && cell.observe == "all" {
        parameters.push(("inside", cell.stack.clone()));
    }
    for part in ["database", "redis", "provider", "upstream", "metrics", "cgroup"] {
        if let Ok(address) = lab.address(part) {
            parameters.push((part, address.to_owned()));
        }
    }
    let concluded = conclusion::run(binary, &workspace.root.join(SCRIPT), runs, &parameters, None)?;
    Ok(concluded.summary)
}

/// What this binary says of a run that was kept.
pub(super) fn conclude_again(binary: &Path, runs: &Path, run: &str) -> Result<Value> {
    let mut command = std::process::Command::new(binary);
    let text = process::output(command.arg("show").arg(run).arg("--json").arg("--runs").arg(runs))?;
    serde_json::from_str(&text).context("what `loadstone show --json` wrote")
}
