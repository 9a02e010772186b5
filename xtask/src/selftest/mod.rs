//! `cargo xtask selftest`: does the generator know when it was starved?
//!
//! Starved runs must be called suspect or invalid, clean ones valid; the table gives the counts of each and what was
//! said. The list of trials is in `trial`, the ways to starve in `starve`. Needs Linux, root (control groups, network
//! namespaces) and an otherwise idle machine: on a busy one a clean run is not clean, and on one that its host takes the cores from
//! (see `stillness`) it is not counted. Read [`selftest`] first.

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
    let wanted = |trial: &&Trial| options.only.is_empty() || options.only.iter().any(|part| trial.name.contains(part.as_str()));
    let trials: Vec<&Trial> = trial::ALL.iter().filter(wanted).collect();
    let mut heard: Vec<Vec<TrialResult>> = trials.iter().map(|_| Vec::new()).collect();
    for _ in 0..options.repeat {
        for (trial, heard) in trials.iter().zip(&mut heard) {
            let (said, stillness) = stillness::stillest(STILL_FOR, || trial.run(&tools)).with_context(|| trial.name.to_owned())?;
            let mark = match (stillness.holds_for(STILL_FOR), trial.is_right(&said.grade)) {
                (false, _) => "  (the machine did not hold still)",
                (true, true) => "",
                (true, false) => "  ← wrong",
            };
            println!("{:<44} {:<8} away {} {}{mark}", trial.name, said.grade, stillness.shown(), said.checks.join(", "));
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

fn report(trials: &[&Trial], heard: &[Vec<TrialResult>]) -> Result<String> {
    let mut text = format!(
        "# Self-test of validity, {}\n\n{}\n\nStarved generators must be called suspect or invalid (or refuse the load), clean runs valid. \
         A trial runs up to {} times, until the machine was away for at most 0.5 % of the time, by a timer at real-time priority; where it \
         never was that still, the trial is not counted.\n\n\
         | trial | runs | still | valid | suspect | invalid | refused | checks that spoke |\n|---|---|---|---|---|---|---|---|\n",
        machine::today()?,
        machine::facts()?,
        stillness::TRIES,
    );
    for (trial, heard) in trials.iter().zip(heard) {
        let still = || heard.iter().filter(|(_, stillness)| stillness.holds_for(STILL_FOR)).map(|(said, _)| said);
        let count = |grade: &str| still().filter(|said| said.grade == grade).count();
        let mut checks: Vec<&str> = still().flat_map(|said| &said.checks).map(String::as_str).collect();
        checks.sort_unstable();
        checks.dedup();
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            trial.name,
            heard.len(),
            still().count(),
            count("valid"),
            count("suspect"),
            count("invalid"),
            count("refused"),
            checks.join(", ")
        );
    }
    let score = |starved: bool| {
        let runs = trials.iter().zip(heard).filter(move |(trial, _)| trial.is_starved() == starved);
        let still = runs.flat_map(|(trial, heard)| {
            heard.iter().filter(|(_, stillness)| stillness.holds_for(STILL_FOR)).map(move |(said, _)| (trial, said))
        });
        let rights: Vec<bool> = still.map(|(trial, said)| trial.is_right(&said.grade)).collect();
        let (all, right) = (rights.len(), rights.iter().filter(|right| **right).count());
        let share = if all > 0 { format!(" ({:.1} %)", right as f64 / all as f64 * 100.0) } else { String::new() };
        format!("{right} of {all}{share}")
    };
    text += &format!("\nStarved and detected: {}. Clean and valid: {}. The target is 98 % of each.\n", score(true), score(false));
    Ok(text)
}
