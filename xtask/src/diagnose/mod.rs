//! `cargo xtask diagnose`: how often are findings right? Real stacks with planted faults, their healthy twins, and what is said of them.
//!
//! Each [`cell::Cell`] is a stack, a fault, its severity, a load and what is watched. Results are lines of JSON that hold what was said; judging is
//! done anew each time, by the expectations in `labs/diagnose/faults.json`. Read [`diagnose`] first, then `judge`. Deliberately absent: any
//! knowledge of the faults in the load test or the binary; they see what a user's would.

mod catalogue;
mod cell;
mod document;
mod judge;
mod phrase;
mod quiet;
mod said;
mod score;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use self::catalogue::Catalogue;
use self::cell::Cell;
use self::judge::Rating;
use self::said::Said;
use crate::machine;
use crate::process;
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct DiagnoseOptions {
    /// Only this stack. May be repeated, as all that follow.
    #[arg(long = "stack", value_name = "STACK")]
    stacks: Vec<String>,
    /// Only this fault, or `healthy`.
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<String>,
    /// Only this severity: `plain`, `gross`, `slight`.
    #[arg(long = "severity", value_name = "SEVERITY")]
    severities: Vec<String>,
    /// Only this load: `constant`, `ramp`, `closed`.
    #[arg(long = "load", value_name = "LOAD")]
    loads: Vec<String>,
    /// Only watched this way: `nothing`, `process`, `all`.
    #[arg(long = "observe", value_name = "WHAT")]
    observe: Vec<String>,
    /// Only cells whose name contains this.
    #[arg(long = "only", value_name = "TEXT")]
    only: Vec<String>,
    /// How often each cell is run.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Go on where an earlier benchmark ended: cells that have a result are not run again.
    #[arg(long)]
    resume: bool,
    /// The few cells that CI runs; an error unless all of them are right.
    #[arg(long)]
    slice: bool,
    /// Only say which cells there are.
    #[arg(long)]
    list: bool,
    /// Run nothing; judge the results that are there.
    #[arg(long)]
    judge: bool,
    /// Run nothing; let the binary conclude again from the runs that were kept, and judge that.
    #[arg(long)]
    again: bool,
    /// Put the tables into docs/findings.md.
    #[arg(long)]
    write: bool,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    loadstone: Option<PathBuf>,
    /// Where results and runs are kept; `target/diagnose` by default.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

pub(crate) fn diagnose(workspace: &Workspace, options: &DiagnoseOptions) -> Result<()> {
    let catalogue = Catalogue::read(&workspace.root)?;
    let cells = chosen(&catalogue, options)?;
    if options.list {
        cells.iter().for_each(|cell| println!("{}", cell.name()));
        return Ok(());
    }
    let folder = options.folder.clone().unwrap_or_else(|| workspace.target.join("diagnose"));
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let folder = fs::canonicalize(&folder)?;
    let results = folder.join(if options.slice { "slice.jsonl" } else { "results.jsonl" });
    let mut failures = 0;
    if options.again {
        conclude_again(workspace, options, &folder.join("runs"), &results, &cells)?;
    } else if !options.judge {
        failures = run_all(workspace, options, &folder.join("runs"), &results, &catalogue, &cells)?;
    }
    let mut all = said::read(&results)?;
    all.retain(|said| cells.iter().any(|cell| cell.name() == said.cell));
    let judged = score::judged(&catalogue, &all);
    println!("{}\n\n{}\n{}", machine::facts()?, score::tables(&judged), score::misses(&judged));
    if options.write {
        document::write(workspace, &score::tables(&judged))?;
    }
    println!("Results: {}; runs: {}.", results.display(), folder.join("runs").display());
    if failures > 0 {
        bail!("{failures} of {} cells did not run", cells.len());
    }
    let missed = judged.iter().filter(|one| one.rating != Rating::Right).count();
    if options.slice && (missed > 0 || judged.len() < cells.len()) {
        bail!("{missed} of {} cells of the slice were not right", judged.len());
    }
    Ok(())
}

/// The cells that the options leave; an error if a word of theirs means none.
fn chosen(catalogue: &Catalogue, options: &DiagnoseOptions) -> Result<Vec<Cell>> {
    if options.slice {
        return catalogue.slice.iter().map(|name| Cell::parse(name)).collect();
    }
    let among = |wanted: &[String], value: &str| wanted.is_empty() || wanted.iter().any(|one| one == value);
    let mut cells = cell::all(catalogue, options.repeat);
    cells.retain(|cell| {
        among(&options.stacks, &cell.stack)
            && among(&options.faults, &cell.fault)
            && among(&options.severities, &cell.severity)
            && among(&options.loads, &cell.load)
            && among(&options.observe, &cell.observe)
            && (options.only.is_empty() || options.only.iter().any(|text| cell.name().contains(text.as_str())))
    });
    if cells.is_empty() {
        let faults: Vec<&str> = catalogue.faults.iter().map(|fault| fault.name.as_str()).collect();
        bail!("no cell is left; stacks: {}; faults: {}", catalogue.stacks.join(", "), faults.join(", "));
    }
    Ok(cells)
}

/// How many did not run.
fn run_all(
    workspace: &Workspace,
    options: &DiagnoseOptions,
    runs: &Path,
    results: &Path,
    catalogue: &Catalogue,
    cells: &[Cell],
) -> Result<usize> {
    let binary = binary(workspace, options)?;
    if !options.resume && results.is_file() {
        // An hour of runs is not thrown away for a flag that was forgotten.
        fs::rename(results, results.with_extension("jsonl.before"))?;
    }
    let done = said::read(results)?;
    let left: Vec<&Cell> = cells.iter().filter(|cell| !done.iter().any(|said| said.cell == cell.name())).collect();
    let (date, commit, mut failures) = (machine::today()?, commit(workspace)?, 0);
    for (index, cell) in left.iter().enumerate() {
        eprintln!("{} of {}: {}", index + 1, left.len(), cell.name());
        let busy = quiet::busy_share()?;
        match trial::carry_out(workspace, &binary, runs, catalogue, cell) {
            Ok(summary) => {
                let said = Said { busy, ..Said::of(&cell.name(), &summary, &date, &commit) };
                let judged = score::judged(catalogue, std::slice::from_ref(&said));
                eprintln!("  {}: {}", judged.first().map_or("?", |one| one.rating.name()), said.first());
                said::append(results, &said)?;
            }
            // What the others say is not lost with it; --resume tries it again.
            Err(error) => {
                eprintln!("  did not run: {error:#}");
                failures += 1;
            }
        }
    }
    Ok(failures)
}

fn conclude_again(workspace: &Workspace, options: &DiagnoseOptions, runs: &Path, results: &Path, cells: &[Cell]) -> Result<()> {
    let binary = binary(workspace, options)?;
    let (date, commit) = (machine::today()?, commit(workspace)?);
    let mut all = said::read(results)?;
    for said in all.iter_mut().filter(|said| cells.iter().any(|cell| cell.name() == said.cell)) {
        let summary = trial::conclude_again(&binary, runs, &said.run).with_context(|| format!("the run of {}", said.cell))?;
        *said = Said { busy: said.busy, ..Said::of(&said.cell, &summary, &date, &commit) };
    }
    said::write(results, &all)
}

fn binary(workspace: &Workspace, options: &DiagnoseOptions) -> Result<PathBuf> {
    match &options.loadstone {
        Some(binary) => fs::canonicalize(binary).with_context(|| format!("there is no {}", binary.display())),
        None => machine::development_binary(workspace),
    }
}

/// Which state of the sources said it.
fn commit(workspace: &Workspace) -> Result<String> {
    Ok(process::output(workspace.command("git").args(["describe", "--always", "--dirty"]))?.trim().to_owned())
}
