//! `cargo xtask selftest`: does the generator know when it was starved?
//!
//! A run must report numbers that its generator moved, and must be valid otherwise. Whether a number moved is measured: each time in the summary is
//! compared with the packets on the wire (`wire`). The list of trials is in `trial`, the ways to starve in `starve`. Needs Linux, root (control
//! groups, network namespaces, packets), Python 3 and an otherwise idle machine, or few clean runs are clean. A round takes some minutes, and an
//! interrupted one continues where it ended. Read [`selftest`] first.

mod document;
mod kept;
mod score;
mod trial;
mod verdict;
mod wire;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::machine;
use clap::Args;

use crate::accuracy::server;
use crate::dated_result;
use kept::KeptResults;
use trial::{Trial, TrialFiles};
use verdict::SelfVerdict;

#[derive(Args)]
pub(crate) struct SelftestOptions {
    /// Times that each trial runs.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Seconds of load in each.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(2..))]
    seconds: u64,
    /// Of the first time's draws; the next time takes the next one.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begin no trial after so many minutes; the same command goes on later.
    #[arg(long)]
    minutes: Option<u64>,
    /// Only trials whose name contains this. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    /// Test this binary instead of building the release one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Have this binary judge the runs, instead of the one that made them.
    #[arg(long, value_name = "FILE")]
    judge: Option<PathBuf>,
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

pub(crate) fn selftest(workspace: &Workspace, options: &SelftestOptions) -> Result<()> {
    if std::thread::available_parallelism()?.get() < 2 {
        bail!("two cores are needed: one for the generator, one for the server");
    }
    let binary = machine::release_binary(workspace, options.binary.as_deref())?;
    let server = match &options.server {
        Some(server) => fs::canonicalize(server)?,
        None => server::build(workspace)?,
    };
    let judge = options.judge.as_ref().map_or(Ok(binary.clone()), fs::canonicalize)?;
    let mut kept = KeptResults::open(&workspace.target.join("selftest.jsonl"), &judge, options.seconds, options.afresh)?;
    let tools = TrialFiles {
        seconds: options.seconds,
        binary,
        judge,
        runs: workspace.target.join("selftest-runs"),
        server,
        scripts: workspace.root.join("bench/selftest"),
    };
    let wanted = |trial: &Trial| options.only.is_empty() || options.only.iter().any(|part| trial.name.contains(part.as_str()));
    let trials: Vec<Trial> = trial::all().into_iter().filter(wanted).collect();
    run_all(options, &trials, &tools, &mut kept)?;
    let (report, totals) = report(&trials, &kept, options.seconds)?;
    println!("\n{report}");
    if options.write {
        let today = machine::today()?;
        dated_result::write(workspace, Some("selftest"), &format!("# Self-test of validity\n\n{report}"))?;
        let short = format!("{today}, {}, {} s of load in each run:\n\n{totals}", machine::kind()?, options.seconds);
        document::write(workspace, &short)?;
        println!("wrote docs/validity.md");
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "it measures how long it has worked, and trials uses none of the project's crates")]
fn run_all(options: &SelftestOptions, trials: &[Trial], tools: &TrialFiles, kept: &mut KeptResults) -> Result<()> {
    let began = std::time::Instant::now();
    for round in 0..options.repeat {
        for trial in trials {
            if options.minutes.is_some_and(|minutes| began.elapsed() >= Duration::from_secs(minutes * 60)) {
                println!("the time is over: the same command goes on");
                return Ok(());
            }
            if kept.of(&trial.name).count() <= round as usize {
                let verdict = trial.run(tools, options.seed + u64::from(round)).with_context(|| trial.name.clone())?;
                println!("{}", line(trial, &verdict));
                kept.add(&trial.name, verdict)?;
            }
        }
    }
    Ok(())
}

fn line(trial: &Trial, verdict: &SelfVerdict) -> String {
    let mark = if verdict.is_right() { "" } else { "  ← wrong" };
    let (marked, unmarked, checks) = (verdict.marked.join(", "), verdict.unmarked.join(", "), verdict.checks.join(", "));
    format!("{:<52} {:<8} [{marked}] not marked [{unmarked}] {checks}{mark}", trial.name, verdict.grade)
}

/// The results of every trial, and their totals alone.
fn report(trials: &[Trial], kept: &KeptResults, seconds: u64) -> Result<(String, String)> {
    let mut text = format!(
        "{}, {}, {seconds} s of load in each run.\n\n\
         A number is moved if it differs from the kernel's packet timestamps by more than 5 % and 0.5 ms. The load is moved if more than 5 % of it was not\n\
         generated or failed. Loadstone reports a moved run if it grades it suspect or invalid, refuses the load, or marks each moved number. It must grade\n\
         all other runs valid. The machine may be busy: the packet timestamps show what another program takes from the generator or the server.\n\n\
         | trial | runs | moved | reported | questioned, not moved | checks that failed |\n|---|---|---|---|---|---|\n",
        machine::today()?,
        machine::kind()?,
    );
    let (mut counted, mut wrong) = (Vec::new(), String::new());
    for trial in trials {
        let runs: Vec<&SelfVerdict> = kept.of(&trial.name).collect();
        let count = |wanted: fn(&SelfVerdict) -> bool| runs.iter().filter(|verdict| wanted(verdict)).count();
        let mut checks: Vec<&str> = runs.iter().flat_map(|verdict| &verdict.checks).map(String::as_str).collect();
        checks.sort_unstable();
        checks.dedup();
        text += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            trial.name,
            runs.len(),
            count(SelfVerdict::is_moved),
            count(|verdict| verdict.is_moved() && verdict.is_reported()),
            count(|verdict| !verdict.is_moved() && verdict.is_questioned()),
            checks.join(", ")
        );
        for verdict in runs.iter().filter(|verdict| !verdict.is_right()) {
            let why =
                if verdict.is_moved() { format!("moved and not reported: {}", verdict.unmarked.join(", ")) } else { verdict.grade.clone() };
            wrong += &format!("- {}: {why}\n", trial.name);
        }
        counted.extend(runs);
    }
    let totals = score::totals(&counted);
    Ok((text + "\n" + &totals + if wrong.is_empty() { "" } else { "\nWrong:\n\n" } + &wrong, totals))
}
