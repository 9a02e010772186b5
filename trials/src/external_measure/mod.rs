//! External measures of the first finding: systems and faults of other projects, with answers that were written down before the first run.
//!
//! Each measure has a table of faults and starts its services as processes. What they share is here: a run and its twin without the fault, services that
//! start and stop, the rating of a first finding, and results. Deliberately absent: any system, and any knowledge of Loadstone's rules.

pub(crate) mod fault_run;
pub(crate) mod rating;
pub(crate) mod results;
pub(crate) mod service_processes;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::machine;
use clap::Args;
use serde_json::Value;

use self::fault_run::{FaultRun, OnsetKind, RunPart};

/// Options of every external measure.
#[derive(Args)]
pub(crate) struct MeasureOptions {
    /// How often each fault is run.
    #[arg(long, default_value_t = 1)]
    pub(crate) repeat: u32,
    /// Only runs with a fault, or only their twins without one.
    #[arg(long, value_name = "PART")]
    pub(crate) part: Option<RunPart>,
    /// Only faults that are on from the start, or only those that are switched on in mid-run.
    #[arg(long, value_name = "ONSET")]
    pub(crate) onset: Option<OnsetKind>,
    /// Length of each run's load.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(20..))]
    pub(crate) seconds: u64,
    /// Run nothing; rate the results of earlier runs.
    #[arg(long)]
    judge: bool,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Where runs and results are written; `target/NAME` by default, with the name of the command.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Where one measure finds its system and writes its results.
pub(crate) struct MeasureFolders {
    /// The system's sources.
    pub(crate) checkout: PathBuf,
    /// Its built services.
    pub(crate) built: PathBuf,
    pub(crate) runs: PathBuf,
    pub(crate) logs: PathBuf,
    /// A line of JSON for each run.
    pub(crate) results: PathBuf,
    /// Loadstone.
    pub(crate) binary: PathBuf,
}

/// Runs a measure, unless its results are only to be rated, and prints the table of all its results. `run_all` returns how many runs failed.
pub(crate) fn measure(
    workspace: &Workspace,
    name: &str,
    options: &MeasureOptions,
    sources: (&Path, Option<&Path>),
    run_all: impl FnOnce(&MeasureFolders) -> Result<usize>,
    table: impl FnOnce(&[Value]) -> String,
) -> Result<()> {
    let folder = options.folder.clone().unwrap_or_else(|| workspace.target.join(name));
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let folder = fs::canonicalize(&folder)?;
    let results = folder.join("results.jsonl");
    let failures = if options.judge { 0 } else { run_all(&folders(workspace, name, options, sources, &folder)?)? };
    println!("{}\n\n{}\nResults: {}", machine::facts()?, table(&results::read(&results)?), results.display());
    if failures > 0 {
        bail!("{failures} runs did not end");
    }
    Ok(())
}

fn folders(
    workspace: &Workspace,
    name: &str,
    options: &MeasureOptions,
    (checkout, built): (&Path, Option<&Path>),
    folder: &Path,
) -> Result<MeasureFolders> {
    let binary = match &options.binary {
        Some(binary) => fs::canonicalize(binary).with_context(|| format!("there is no {}", binary.display()))?,
        None => machine::development_binary(workspace)?,
    };
    let existing =
        |path: &Path| fs::canonicalize(path).with_context(|| format!("there is no {}: see labs/{name}/README.md", path.display()));
    let folders = MeasureFolders {
        checkout: existing(checkout)?,
        built: existing(built.unwrap_or(&folder.join("built")))?,
        runs: folder.join("runs"),
        logs: folder.join("logs"),
        results: folder.join("results.jsonl"),
        binary,
    };
    for folder in [&folders.runs, &folders.logs] {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    Ok(folders)
}

/// Carries out all runs and appends their results. Returns how many failed.
pub(crate) fn run_each<Fault>(
    runs: &[FaultRun<'_, Fault>],
    results: &Path,
    name: impl Fn(&Fault) -> &str,
    carry_out: impl Fn(&FaultRun<'_, Fault>) -> Result<Value>,
) -> usize {
    let mut failures = 0;
    for run in runs {
        eprintln!("{}", run.name(name(run.fault)));
        // One failed run does not lose the results of the others.
        if let Err(error) = carry_out(run).and_then(|result| {
            eprintln!("  {}", result["claim"].as_str().unwrap_or("no finding"));
            results::append(results, &result)
        }) {
            eprintln!("  did not run: {error:#}");
            failures += 1;
        }
    }
    failures
}
