//! `cargo xtask selftest`: does the generator know when it was starved?
//!
//! A run whose numbers were moved must be called suspect or invalid, one whose numbers were not valid. Whether they were is measured: the percentiles
//! are held against the server's own record of the same requests. The list of trials is in `trial`, the ways to starve in `starve`. Needs Linux, root
//! (control groups, network namespaces), Python 3 and an otherwise idle machine: on a busy one a clean run is not clean, and on one that its host takes
//! the cores from (see `stillness`) it is not counted. All of it takes some ten minutes, and what was cut off goes on where it was. Read [`selftest`]
//! first.

mod document;
mod kept;
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
use crate::stillness;
use crate::workspace::Workspace;
use kept::{KeptResults, TrialResult};
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
    /// Forget the results of a self-test of the same binary that was cut off.
    #[arg(long)]
    afresh: bool,
    /// Write the table to bench/results and to docs/validity.md.
    #[arg(long)]
    write: bool,
}

/// Validity compares percentiles up to this one.
const STILL_FOR: f64 = 0.99;

/// Times that a trial runs for one in which the machine held still: so all of them fit into twenty minutes.
const TRIES: u32 = 2;

pub(crate) fn selftest(workspace: &Workspace, options: &SelftestOptions) -> Result<()> {
    if std::thread::available_parallelism()?.get() < 2 {
        bail!("two cores are needed: one for the generator, one for the server");
    }
    let binary = machine::release_binary(workspace, options.binary.as_deref())?;
    let server = match &options.server {
        Some(server) => fs::canonicalize(server)?,
        None => server::build(workspace)?,
    };
    let mut kept = KeptResults::open(&workspace.target.join("selftest.jsonl"), &binary, options.afresh)?;
    let tools = TrialFiles { binary, server, scripts: workspace.root.join("bench/selftest") };
    let wanted = |trial: &Trial| options.only.is_empty() || options.only.iter().any(|part| trial.name.contains(part.as_str()));
    let trials: Vec<Trial> = trial::all().into_iter().filter(wanted).collect();
    for round in 1..=options.repeat {
        for trial in &trials {
            if kept.of(&trial.name).count() < round as usize {
                let result = run(trial, &tools)?;
                println!("{}", line(trial, &result));
                kept.add(&trial.name, result)?;
            }
        }
    }
    let report = report(&trials, &kept)?;
    println!("\n{report}");
    if options.write {
        let path = workspace.root.join(format!("bench/results/{}-selftest.md", machine::today()?));
        fs::create_dir_all(path.with_file_name(""))?;
        fs::write(&path, format!("# Self-test of validity\n\n{report}")).with_context(|| format!("writing {}", path.display()))?;
        document::write(workspace, &report)?;
        println!("wrote {} and docs/validity.md", path.display());
    }
    Ok(())
}

fn run(trial: &Trial, tools: &TrialFiles) -> Result<TrialResult> {
    let (said, stillness) = stillness::stillest_of(TRIES, STILL_FOR, || trial.run(tools)).with_context(|| trial.name.clone())?;
    Ok(TrialResult { said, away: stillness.shown(), still: stillness.holds_for(STILL_FOR) })
}

fn line(trial: &Trial, result: &TrialResult) -> String {
    let TrialResult { said, away, still } = result;
    let mark = match (still, said.is_right()) {
        (false, _) => "  (the machine did not hold still)",
        (true, true) => "",
        (true, false) => "  ← wrong",
    };
    let (moved, checks) = (said.moved.join(", "), said.checks.join(", "));
    format!("{:<52} {:<8} away {away} [{moved}] {checks}{mark}", trial.name, said.grade)
}

fn report(trials: &[Trial], kept: &KeptResults) -> Result<String> {
    let mut text = format!(
        "{}, {}.\n\n\
         A run is moved if its p50, p95 or p99 differs from the server's own record of the same requests by more than 5 % and 0.5 ms, or if more than 5 % of\n\
         its load was not made or failed. Moved runs must be called suspect or invalid (or refuse the load), others valid. A trial runs up to {TRIES} times, \
         until the\n\
         machine was away for at most 0.5 % of the time, by a timer at real-time priority; where it never was that still, the trial is not counted.\n\n\
         | trial | runs | still | moved | told | doubted, not moved | checks that spoke |\n|---|---|---|---|---|---|---|\n",
        machine::today()?,
        machine::kind()?,
    );
    let mut counted: Vec<&SelfVerdict> = Vec::new();
    for trial in trials {
        let still: Vec<&SelfVerdict> = kept.of(&trial.name).filter(|result| result.still).map(|result| &result.said).collect();
        let count = |wanted: fn(&SelfVerdict) -> bool| still.iter().filter(|said| wanted(said)).count();
        let mut checks: Vec<&str> = still.iter().flat_map(|said| &said.checks).map(String::as_str).collect();
        checks.sort_unstable();
        checks.dedup();
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            trial.name,
            kept.of(&trial.name).count(),
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
        "\nMoved and told: {}; the target is 98 %.\nNot moved, and doubted: {}; the target is at most 3 %.\n",
        told.shown(),
        doubted.shown()
    );
    Ok(text)
}
