//! `cargo xtask selftest`: does the generator know when it was starved?
//!
//! Starved runs must be called suspect or invalid, clean ones valid; the table gives the counts of each and what was
//! said. The list of trials is in `trial`, the ways to starve in `starve`. Needs Linux, root (control groups, network
//! namespaces) and an otherwise idle machine: on a busy one a clean run is not clean. Read [`selftest`] first.

mod starve;
mod trial;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::accuracy::server;
use crate::machine;
use crate::workspace::Workspace;
use trial::{Tools, Trial};

#[derive(Args)]
pub(crate) struct Options {
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

/// What a run said of itself.
#[derive(Debug, Clone, PartialEq)]
struct Said {
    /// `valid`, `suspect`, `invalid`, or `refused`: it said beforehand that it could not make the load.
    grade: String,
    /// Checks that were worse than valid.
    checks: Vec<String>,
}

pub(crate) fn selftest(workspace: &Workspace, options: &Options) -> Result<()> {
    if std::thread::available_parallelism()?.get() < 2 {
        bail!("two cores are needed: one for the generator, one for the server");
    }
    let binary = machine::release_binary(workspace, options.binary.as_deref())?;
    let server = match &options.server {
        Some(server) => fs::canonicalize(server)?,
        None => server::build(workspace)?,
    };
    let tools = Tools { binary, server, scripts: workspace.root.join("bench/selftest") };
    let wanted = |trial: &&Trial| options.only.is_empty() || options.only.iter().any(|part| trial.name.contains(part.as_str()));
    let trials: Vec<&Trial> = trial::ALL.iter().filter(wanted).collect();
    let mut said: Vec<Vec<Said>> = trials.iter().map(|_| Vec::new()).collect();
    for _ in 0..options.repeat {
        for (trial, said) in trials.iter().zip(&mut said) {
            let heard = trial.run(&tools).with_context(|| trial.name.to_owned())?;
            let mark = if trial.is_right(&heard.grade) { "" } else { "  ← wrong" };
            println!("{:<44} {:<8} {}{mark}", trial.name, heard.grade, heard.checks.join(", "));
            said.push(heard);
        }
    }
    let report = report(&trials, &said)?;
    println!("\n{report}");
    if !options.dry {
        let path = workspace.root.join(format!("bench/results/{}-selftest.md", machine::today()?));
        fs::create_dir_all(path.with_file_name(""))?;
        fs::write(&path, report).with_context(|| format!("writing {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

fn report(trials: &[&Trial], said: &[Vec<Said>]) -> Result<String> {
    let mut text = format!(
        "# Self-test of validity, {}\n\n{}\n\nStarved generators must be called suspect or invalid (or refuse the load), clean runs valid.\n\n\
         | trial | runs | valid | suspect | invalid | refused | checks that spoke |\n|---|---|---|---|---|---|---|\n",
        machine::today()?,
        machine::facts()?,
    );
    for (trial, said) in trials.iter().zip(said) {
        let count = |grade: &str| said.iter().filter(|said| said.grade == grade).count();
        let mut checks: Vec<&str> = said.iter().flat_map(|said| &said.checks).map(String::as_str).collect();
        checks.sort_unstable();
        checks.dedup();
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            trial.name,
            said.len(),
            count("valid"),
            count("suspect"),
            count("invalid"),
            count("refused"),
            checks.join(", ")
        );
    }
    let score = |starved: bool| {
        let runs = || trials.iter().zip(said).filter(move |(trial, _)| trial.is_starved() == starved);
        let all: usize = runs().map(|(_, said)| said.len()).sum();
        let right: usize = runs().map(|(trial, said)| said.iter().filter(|said| trial.is_right(&said.grade)).count()).sum();
        let share = if all > 0 { format!(" ({:.1} %)", right as f64 / all as f64 * 100.0) } else { String::new() };
        format!("{right} of {all}{share}")
    };
    text += &format!("\nStarved and told: {}. Clean and valid: {}. The target is 98 % of each.\n", score(true), score(false));
    Ok(text)
}
