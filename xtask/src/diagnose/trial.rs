//! One cell, carried out: the system with its fault, a run as a user would make it, and what was said.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::catalogue::Catalogue;
use super::cell::Cell;
use crate::lab::conclusion;
use crate::lab::system::LabSystem;
use crate::process;
use crate::workspace::Workspace;

const SCRIPT: &str = "labs/diagnose/shop.load.ts";

/// The summary of a run against a system that was started for it, and is stopped after it.
pub(super) fn carry_out(workspace: &Workspace, binary: &Path, runs: &Path, catalogue: &Catalogue, cell: &Cell) -> Result<Value> {
    let fault = catalogue.faults.iter().find(|fault| fault.name == cell.fault).context("no such fault")?;
    let settings = fault.severity(&cell.severity).context("no such severity")?.settings.to_string();
    let system = LabSystem::start(workspace, "diagnose", &[("STACK", &cell.stack), ("FAULT", &settings)])?;
    let mut parameters = vec![("target", system.address("shop")?.to_owned()), ("load", cell.load.clone()), ("watch", cell.observe.clone())];
    for part in ["database", "redis", "provider", "upstream", "metrics"] {
        if let Ok(address) = system.address(part) {
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
