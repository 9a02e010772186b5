//! `cargo xtask accuracy`: reported percentiles against truths in closed form.
//!
//! Each [`case::AccuracyCase`] is a server whose response times follow a formula (crates/stub, `truth`), and a load. One core generates the
//! load, another serves. The test compares what `loadstone` reports with the formula, and with what the server recorded, which leaves out the
//! chance in a queue's own draws. With `--generators`, the servers and settings of two publications ([`published`]) are shown to all generators
//! on this machine, and one table has the size of each one's error. Read [`accuracy`] first, then `case` or `published`. Deliberately absent:
//! cost (`bench`), coverage of the intervals in thousands of runs (the tests of crates/analysis do that on simulated time).

mod case;
mod closed_form;
mod errors;
mod ours;
mod peers;
mod published;
mod readers;
mod result;
pub(crate) mod server;
mod table;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use checkout::Workspace;
use checkout::machine;
use clap::Args;

use crate::dated_result;
use crate::stillness;
use case::AccuracyCase;
use result::CaseResult;
use server::Truthful;

#[derive(Args)]
pub(crate) struct AccuracyOptions {
    /// Longer runs, and several of each, so that intervals can be counted (some 50 minutes).
    #[arg(long)]
    full: bool,
    /// Only cases whose name contains this. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    /// Measure the errors of all installed generators before the servers of two publications instead (some 15 minutes).
    #[arg(long, conflicts_with = "full")]
    generators: bool,
    /// Measure this binary instead of building the release one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Take this truth server (an example of crates/stub) instead of building it.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Print the table without writing it to bench/results.
    #[arg(long)]
    dry: bool,
}

pub(crate) fn accuracy(workspace: &Workspace, options: &AccuracyOptions) -> Result<()> {
    if std::thread::available_parallelism()?.get() < 2 {
        bail!("two cores are needed: one for the generator, one for the server");
    }
    let binary = machine::release_binary(workspace, options.binary.as_deref())?;
    let server = match &options.server {
        Some(server) => server.clone(),
        None => server::build(workspace)?,
    };
    let (report, kind) = match options.generators {
        true => (errors::measure(workspace, &binary, &server, &|name| options.wants(name))?, "generator-errors"),
        false => (own(&binary, &server, options)?, "accuracy"),
    };
    println!("\n{report}");
    if !options.dry {
        dated_result::write(workspace, Some(kind), &report)?;
    }
    Ok(())
}

impl AccuracyOptions {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }
}

/// The table of Loadstone's own percentiles.
fn own(binary: &Path, server: &Path, options: &AccuracyOptions) -> Result<String> {
    let cases: Vec<AccuracyCase> = case::all(options.full).into_iter().filter(|case| options.wants(case.name)).collect();
    let repeats = if options.full { 10 } else { 1 };
    let mut outcomes = Vec::new();
    for repeat in 0..repeats {
        for case in &cases {
            let ((reported, account), stillness) = stillness::stillest(0.99, || {
                // Another seed than the generator's: equal ones would draw service times as they draw the gaps between arrivals.
                let truthful = Truthful::awake(server, &case.truth, 1_000 + repeat)?;
                let reported = ours::run(binary, case, &truthful.url, repeat + 1)?;
                Ok((reported, truthful.account()?))
            })?;
            println!("{}: {} requests, {}, cores away {}", case.name, reported.count, reported.grade, stillness.shown());
            outcomes.push(CaseResult { case: case.clone(), reported, account, stillness });
        }
    }
    table::ours(&outcomes)
}
