//! `cargo xtask otel-demo`: the OpenTelemetry Demo's own fault flags as an external measure of the first finding.
//!
//! Each run starts two to four of the demo's services as processes, with flagd and without containers. Loadstone sends load and receives the services' own
//! traces. Start with `faults`, whose table has the flags and their answers. `labs/otel-demo/README.md` describes how the services are built. Nothing of the
//! demo is part of this repository. Deliberately absent: any knowledge of the faults in the load tests or the binary.

mod demo_run;
mod faults;
mod flags;
mod rating;
mod results;
mod services;
mod system;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::machine;
use clap::{Args, ValueEnum};
use serde_json::Value;

use self::demo_run::{DemoRun, FlagOnset};
use self::faults::{DEMO_FAULTS, DemoFault};
use self::flags::FlagFile;
use self::system::DemoSystem;
use crate::lab::conclusion;

#[derive(Args)]
pub(crate) struct OtelDemoOptions {
    /// A checkout of github.com/open-telemetry/opentelemetry-demo.
    #[arg(long, value_name = "PATH")]
    checkout: PathBuf,
    /// The built services, as labs/otel-demo/README.md describes; `target/otel-demo/built` by default.
    #[arg(long, value_name = "PATH")]
    built: Option<PathBuf>,
    /// Only flags whose name contains this, or this load: `ad`, `catalog`, `checkout`, `charge`, `recommend`. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    /// How often each flag is run.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Only runs with a fault, or only their twins without one.
    #[arg(long, value_name = "PART")]
    part: Option<DemoPart>,
    /// Do not start flagd: the services read its flag file themselves, in flagd's in-process mode.
    #[arg(long)]
    without_flagd: bool,
    /// Length of each run's load.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(20..))]
    seconds: u64,
    /// Run nothing; rate the results of earlier runs.
    #[arg(long)]
    judge: bool,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Where runs and results are written; `target/otel-demo` by default.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// A part of the runs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DemoPart {
    Faulty,
    Healthy,
}

/// Folders of the runs.
struct DemoFolders {
    checkout: PathBuf,
    built: PathBuf,
    runs: PathBuf,
    logs: PathBuf,
}

pub(crate) fn otel_demo(workspace: &Workspace, options: &OtelDemoOptions) -> Result<()> {
    let folder = options.folder.clone().unwrap_or_else(|| workspace.target.join("otel-demo"));
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let folder = fs::canonicalize(&folder)?;
    let results = folder.join("results.jsonl");
    let failures = if options.judge { 0 } else { run_all(workspace, options, &folder, &results)? };
    println!("{}\n\n{}\nResults: {}", machine::facts()?, results::table(&results::read(&results)?), results.display());
    if failures > 0 {
        bail!("{failures} runs did not end");
    }
    Ok(())
}

/// Returns how many runs failed.
fn run_all(workspace: &Workspace, options: &OtelDemoOptions, folder: &Path, results: &Path) -> Result<usize> {
    let is_chosen = |fault: &&DemoFault| {
        options.only.is_empty() || options.only.iter().any(|text| fault.load == text || fault.flag.contains(text.as_str()))
    };
    let chosen: Vec<&DemoFault> = DEMO_FAULTS.iter().filter(is_chosen).collect();
    if chosen.is_empty() {
        let flags: Vec<&str> = DEMO_FAULTS.iter().map(|fault| fault.flag).collect();
        bail!("no flag has such a name; there are: {}", flags.join(", "));
    }
    let binary = match &options.binary {
        Some(binary) => fs::canonicalize(binary).with_context(|| format!("there is no {}", binary.display()))?,
        None => machine::development_binary(workspace)?,
    };
    let existing =
        |path: &Path| fs::canonicalize(path).with_context(|| format!("there is no {}: see labs/otel-demo/README.md", path.display()));
    let built = options.built.clone().unwrap_or_else(|| folder.join("built"));
    let folders = DemoFolders {
        checkout: existing(&options.checkout)?,
        built: existing(&built)?,
        runs: folder.join("runs"),
        logs: folder.join("logs"),
    };
    fs::create_dir_all(&folders.logs).with_context(|| format!("creating {}", folders.logs.display()))?;
    let mut failures = 0;
    for run in planned(&chosen, options) {
        eprintln!("{}", run.name());
        let carried_out = carry_out(workspace, &binary, &folders, &run, options);
        // One failed run does not lose the results of the others.
        if let Err(error) = carried_out.and_then(|result| {
            eprintln!("  {}", result["claim"].as_str().unwrap_or("no finding"));
            results::append(results, &result)
        }) {
            eprintln!("  did not run: {error:#}");
            failures += 1;
        }
    }
    Ok(failures)
}

/// Each flag from the start and in mid-run, each after its twin, as often as asked.
fn planned<'a>(chosen: &[&'a DemoFault], options: &OtelDemoOptions) -> Vec<DemoRun<'a>> {
    let onsets = [FlagOnset::Start, FlagOnset::AfterSeconds(options.seconds / 2)];
    let twins: &[bool] = match options.part {
        None => &[true, false],
        Some(DemoPart::Faulty) => &[false],
        Some(DemoPart::Healthy) => &[true],
    };
    let once = chosen.iter().flat_map(|&fault| onsets.map(|onset| (fault, onset)));
    let once: Vec<DemoRun<'a>> =
        once.flat_map(|(fault, onset)| twins.iter().map(move |&is_twin| DemoRun { fault, onset, is_twin })).collect();
    (0..options.repeat).flat_map(|_| once.clone()).collect()
}

fn carry_out(workspace: &Workspace, binary: &Path, folders: &DemoFolders, run: &DemoRun<'_>, options: &OtelDemoOptions) -> Result<Value> {
    let fault = run.fault;
    fs::create_dir_all(&folders.runs).with_context(|| format!("creating {}", folders.runs.display()))?;
    let script = folders.runs.join(format!("{}.load.ts", fault.load));
    fs::copy(workspace.root.join(format!("labs/otel-demo/{}.load.ts", fault.load)), &script).context("copying the load test")?;
    fs::copy(folders.checkout.join("pb/demo.proto"), folders.runs.join("demo.proto")).context("copying demo.proto of the checkout")?;
    let flags = FlagFile::create(&folders.checkout, &folders.logs)?;
    let (delay, rate) = match run.onset {
        FlagOnset::Start => (None, fault.rates[0]),
        FlagOnset::AfterSeconds(seconds) => (Some(Duration::from_secs(seconds)), fault.rates[1]),
    };
    let switch = || if run.is_twin { Ok(()) } else { flags.switch(fault.flag, fault.variant) };
    if delay.is_none() {
        switch()?;
    }
    let _system =
        DemoSystem::start(&folders.built, services::services_of(fault.load), flags.path(), &folders.logs, !options.without_flagd)?;
    let parameters = [("rate", rate.to_string()), ("seconds", options.seconds.to_string())];
    let concluded = thread::scope(|scope| {
        let switched = delay.map(|delay| {
            scope.spawn(move || {
                thread::sleep(delay);
                switch()
            })
        });
        let concluded = conclusion::run(binary, &script, &folders.runs, &parameters, None);
        if let Some(switched) = switched {
            switched.join().map_err(|_panic| anyhow::anyhow!("the thread that switches the flag panicked"))??;
        }
        concluded
    })?;
    Ok(results::of(run, &concluded))
}
