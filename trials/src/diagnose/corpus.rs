//! The corpus that rules are judged by: recorded runs of the benchmark, small and masked, which the tests of `analysis` read.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::process;
use serde_json::Value;

use super::judging::{Cell, CellConclusion};

const CORPUS: &str = "crates/analysis/tests/corpus";
/// What was measured; conclusions are made anew.
const FILES: [&str; 4] = ["run.json", "snapshots.jsonl", "signals.jsonl", "end.json"];
const HOSTNAME: &str = "lab";

/// Copies the stored runs of these cells into the corpus. A new record replaces the previous one of its cell.
pub(super) fn record(workspace: &Workspace, cells: &[Cell], results: &[CellConclusion], runs: &Path) -> Result<()> {
    let kept: Vec<&CellConclusion> = results.iter().filter(|conclusion| cells.iter().any(|cell| cell.name() == conclusion.cell)).collect();
    if kept.is_empty() {
        bail!("no results of these cells: run them first, then record them");
    }
    for conclusion in kept {
        // Only the folder's name identifies the cell.
        let folder = workspace.root.join(CORPUS).join(conclusion.cell.replace('/', "."));
        fs::create_dir_all(&folder)?;
        let mask = mask(workspace, &runs.join(&conclusion.run))?;
        for file in FILES {
            let Ok(text) = fs::read_to_string(runs.join(&conclusion.run).join(file)) else { continue };
            let text = mask.iter().fold(text, |text, (shown, instead)| text.replace(shown, instead));
            fs::write(folder.join(file), text)?;
            process::run(Command::new("gzip").args(["--force", "--best", "--no-name"]).arg(folder.join(file)))?;
        }
        println!("recorded {}", conclusion.cell);
    }
    println!("INSTA_UPDATE=always cargo test -p loadstone-analysis corpus   writes the new score");
    Ok(())
}

/// Strings that identify this machine, and their replacements.
fn mask(workspace: &Workspace, run: &Path) -> Result<Vec<(String, String)>> {
    let info: Value =
        serde_json::from_slice(&fs::read(run.join(FILES[0])).with_context(|| format!("there is no run in {}", run.display()))?)?;
    let mut mask = vec![(format!("{}/", workspace.root.display()), String::new())];
    if let Some(hostname) = info["host"]["hostname"].as_str() {
        mask.push((format!("\"{hostname}\""), format!("\"{HOSTNAME}\"")));
    }
    Ok(mask)
}
