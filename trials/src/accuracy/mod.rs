//! `cargo xtask accuracy`: reported percentiles against truths in closed form.
//!
//! Each [`case::AccuracyCase`] is a server whose response times follow a formula (crates/stub, `truth`), and a load. One core makes the load, another
//! serves. The test compares what `loadstone` reports with the formula, and with what the server recorded, which leaves out
//! the chance in a queue's own draws. The same stall is then shown to the other generators on this machine. Read
//! [`accuracy`] first, then `case`. Deliberately absent: cost (`bench`), coverage of the intervals in thousands of runs (the
//! tests of crates/analysis do that on simulated time).

mod case;
mod ours;
mod peers;
mod result;
pub(crate) mod server;
mod table;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::machine;
use clap::Args;

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
    /// Leave the other generators out.
    #[arg(long)]
    no_peers: bool,
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
    let wanted = |case: &AccuracyCase| options.only.is_empty() || options.only.iter().any(|part| case.name.contains(part.as_str()));
    let cases: Vec<AccuracyCase> = case::all(options.full).into_iter().filter(wanted).collect();
    let repeats = if options.full { 10 } else { 1 };
    let mut outcomes = Vec::new();
    for repeat in 0..repeats {
        for case in &cases {
            let ((reported, account), stillness) = stillness::stillest(0.99, || {
                // Another seed than the generator's: equal ones would draw service times as they draw the gaps between arrivals.
                let truthful = Truthful::awake(&server, &case.truth, 1_000 + repeat)?;
                let reported = ours::run(&binary, case, &truthful.url, repeat + 1)?;
                Ok((reported, truthful.account()?))
            })?;
            println!("{}: {} requests, {}, cores away {}", case.name, reported.count, reported.grade, stillness.shown());
            outcomes.push(CaseResult { case: case.clone(), reported, account, stillness });
        }
    }
    let mut report = table::ours(&outcomes)?;
    if !options.no_peers && cases.iter().any(|case| case.name == case::STALL) {
        report += &table::peers(&peers::stalled(workspace, &server, &outcomes)?);
    }
    println!("\n{report}");
    if !options.dry {
        let path = workspace.root.join(format!("bench/results/{}-accuracy.md", machine::today()?));
        fs::create_dir_all(path.with_file_name(""))?;
        fs::write(&path, report).with_context(|| format!("writing {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
