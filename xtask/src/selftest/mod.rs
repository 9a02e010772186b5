//! `cargo xtask selftest`: does the generator know when it was starved?
//!
//! A run whose numbers were moved must be called suspect or invalid, one whose numbers were not valid. Whether they were is measured: the percentiles
//! are held against the server's own record of the same requests. The list of trials is in `trial`, the ways to starve in `starve`. Needs Linux, root
//! (control groups, network namespaces), Python 3 and an otherwise idle machine: on a busy one a clean run is not clean, and on one that its host takes
//! the cores from (see `stillness`) it is not counted. Read [`selftest`] first.

mod score;
mod starve;
mod trial;
mod verdict;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::accuracy::server;
use crate::machine;
use crate::stillness::{self, Stillness};
use crate::workspace::Workspace;
use score::ToldScore;
use trial::{Trial, TrialFiles};
use verdict::SelfVerdict;

#[derive(Args)]
pub(crate) struct SelftestOptions {
    /// Times that each trial runs.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Only trials whose name contains this. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    /// Test this binary instead of building the release one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Take this truth server (an example of crates/stub) instead of building it.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Print the table without writing it to bench/results.
    #[arg(long)]
    dry: bool,
}

/// Validity compares percentiles up to this one.
const STILL_FOR: f64 = 0.99;

/// What a run said, and whether the machine held still meanwhile.
type TrialResult = (SelfVerdict, Stillness);

pub(crate) fn selftest(workspace: &Workspace, options: &SelftestOptions) -> Result<()> {
    if std::thread::available_parallelism()?.get() < 2 {
        bail!("two cores are needed: one for the generator, one for the server");
    }
    let binary = machine::release_binary(workspace, options.binary.as_deref())?;
    let server = match &options.server {
        Some(server) => fs::canonicalize(server)?,
        None => server::build(workspace)?,
    };
    let tools = TrialFiles { binary, server, scripts: workspace.root.join("bench/selftest") };
    let wanted = |trial: &Trial| options.only.is_empty() || options.only.iter().any(|part| trial.name.contains(part.as_str()));
    let trials: Vec<Trial> = trial::all().into_iter().filter(wanted).collect();
    let mut heard: Vec<Vec<TrialResult>> = trials.iter().map(|_| Vec::new()).collect();
    for _ in 0..options.repeat {
        for (trial, heard) in trials.iter().zip(&mut heard) {
            let (said, stillness) = stillness::stillest(STILL_FOR, || trial.run(&tools)).with_context(|| trial.name.clone())?;
            let mark = match (stillness.holds_for(STILL_FOR), said.is_right()) {
                (false, _) => "  (the machine did not hold still)",
                (true, true) => "",
                (true, false) => "  ← wrong",
            };
            let (moved, checks) = (said.moved.join(", "), said.checks.join(", "));
            println!("{:<52} {:<8} away {} [{moved}] {checks}{mark}", trial.name, said.grade, stillness.shown());
            heard.push((said, stillness));
        }
    }
    let report = report(&trials, &heard)?;
    println!("\n{report}");
    if !options.dry {
        let path = workspace.root.join(format!("bench/results/{}-selftest.md", machine::today()?));
        fs::create_dir_all(path.with_file_name(""))?;
        fs::write(&path, report).with_context(|| format!("writing {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

fn report(trials: &[Trial], heard: &[Vec<TrialResult>]) -> Result<String> {
    let mut text = format!(
        "# Self-test of validity, {}\n\n{}\n\nA run is moved if its p50, p95 or p99 differs from the server's own record of the same requests by more than \
         5 % and 0.5 ms, or if more than 5 % of its load was not made or failed. Moved runs must be called suspect or invalid (or refuse the load), others \
         valid. A trial runs up to {} times, until the machine was away for at most 0.5 % of the time, by a timer at real-time priority; where it \
         never was that still, the trial is not counted.\n\n\
         | trial | runs | still | moved | told | doubted, not moved | checks that spoke |\n|---|---|---|---|---|---|---|\n",
        machine::today()?,
        machine::facts()?,
        stillness::TRIES,
    );
    let mut counted: Vec<&SelfVerdict> = Vec::new();
    for (trial, heard) in trials.iter().zip(heard) {
        let still: Vec<&SelfVerdict> = heard.iter().filter(|(_, stillness)| stillness.holds_for(STILL_FOR)).map(|(said, _)| said).collect();
        let count = |wanted: fn(&SelfVerdict) -> bool| still.iter().filter(|said| wanted(said)).count();
        let mut checks: Vec<&str> = still.iter().flat_map(|said| &said.checks).map(String::as_str).collect();
        checks.sort_unstable();
        checks.dedup();
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            trial.name,
            heard.len(),
            still.len(),
            count(|said| !said.moved.is_empty()),
            count(|said| !said.moved.is_empty() && said.doubts()),
            count(|said| said.moved.is_empty() && said.doubts()),
            checks.join(", ")
        );
        counted.extend(still);
    }
    let told = ToldScore::of(counted.iter().filter(|said| !said.moved.is_empty()).map(|said| said.doubts()));
    let doubted = ToldScore::of(counted.iter().filter(|said| said.moved.is_empty()).map(|said| said.doubts()));
    text += &format!(
        "\nMoved and told: {}; the target is 98 %. Not moved, and doubted: {}; the target is at most 3 %.\n",
        told.shown(),
        doubted.shown()
    );
    Ok(text)
}
