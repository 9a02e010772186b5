//! `cargo xtask hotel`: SREGym's performance problems in DeathStarBench's hotel reservation, as an external measure of the first finding.
//!
//! Each run starts hotelReservation's Go services as processes on loopback, with memcached, and with FerretDB and PostgreSQL for MongoDB. Start with
//! `faults`, whose table has the faults and their answers. `labs/hotel/README.md` describes how the services are built. Nothing of hotelReservation or
//! SREGym is part of this repository. Deliberately absent: any knowledge of the faults in the load tests or the binary.

mod change;
mod delayed_path;
mod faults;
mod hotel_system;
mod injection;
mod services;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use clap::Args;
use serde_json::Value;

use self::change::SystemChange;
use self::delayed_path::DelayedPath;
use self::faults::{HOTEL_FAULTS, HotelFault};
use self::hotel_system::HotelSystem;
use self::services::{FERRETDB_PORT, STORE_PATH_PORT};
use crate::external_measure::fault_run::{self, FaultRun};
use crate::external_measure::{self, MeasureFolders, MeasureOptions, results};
use crate::lab::conclusion;

#[derive(Args)]
pub(crate) struct HotelOptions {
    /// The folder hotelReservation in a checkout of github.com/delimitrou/DeathStarBench.
    #[arg(long, value_name = "DIR")]
    checkout: PathBuf,
    /// The built services, as labs/hotel/README.md describes; `target/hotel/built` by default.
    #[arg(long, value_name = "DIR")]
    built: Option<PathBuf>,
    /// Only faults whose name contains this. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    #[command(flatten)]
    measure: MeasureOptions,
}

pub(crate) fn hotel(workspace: &Workspace, options: &HotelOptions) -> Result<()> {
    let answer = |name: &str, _load: &str| HOTEL_FAULTS.iter().find(|fault| fault.name == name).map(|fault| &fault.answer);
    external_measure::measure(
        workspace,
        "hotel",
        &options.measure,
        (&options.checkout, options.built.as_deref()),
        |folders| run_all(workspace, options, folders),
        |results| results::table(results, answer),
    )
}

/// Each fault with each of its onsets. Returns how many runs failed.
fn run_all(workspace: &Workspace, options: &HotelOptions, folders: &MeasureFolders) -> Result<usize> {
    let is_chosen = |fault: &&HotelFault| options.only.is_empty() || options.only.iter().any(|text| fault.name.contains(text.as_str()));
    let chosen = HOTEL_FAULTS.iter().filter(is_chosen);
    let chosen = chosen.flat_map(|fault| fault.change.onsets(options.measure.seconds).into_iter().map(move |onset| (fault, onset)));
    let runs = fault_run::planned(&chosen.collect::<Vec<_>>(), (options.measure.part, options.measure.onset), options.measure.repeat);
    if runs.is_empty() {
        let faults: Vec<String> = HOTEL_FAULTS.iter().map(|fault| format!("{} ({})", fault.name, fault.origin)).collect();
        bail!("no fault has such a name; there are:\n{}", faults.join("\n"));
    }
    let path = DelayedPath::open(STORE_PATH_PORT, FERRETDB_PORT)?;
    let seconds = options.measure.seconds;
    Ok(external_measure::run_each(&runs, &folders.results, |fault| fault.name, |run| carry_out(workspace, folders, &path, run, seconds)))
}

fn carry_out(
    workspace: &Workspace,
    folders: &MeasureFolders,
    path: &DelayedPath,
    run: &FaultRun<'_, HotelFault>,
    seconds: u64,
) -> Result<Value> {
    let fault = run.fault;
    let script = folders.runs.join(format!("{}.load.ts", fault.load));
    fs::copy(workspace.root.join(format!("labs/hotel/{}.load.ts", fault.load)), &script).context("copying the load test")?;
    let change = (!run.is_twin).then_some(&fault.change);
    let changes: Vec<&SystemChange> = fault.setting.iter().chain(change).collect();
    let hotel = HotelSystem::start(workspace, folders, path, &changes)?;
    // Dropped before the system, so that a disturbance ends first.
    let mut disturbances = Vec::new();
    let delay = run.onset.delay();
    let from_the_start = fault.setting.iter().chain(change.filter(|_| delay.is_none()));
    for change in from_the_start {
        disturbances.extend(injection::apply(change, &hotel)?);
    }
    let switch = || {
        disturbances.extend(change.map(|change| injection::apply(change, &hotel)).transpose()?.flatten());
        Ok(())
    };
    let mut parameters = vec![("rate", fault.rate.to_string()), ("seconds", seconds.to_string())];
    if let Some(SystemChange::LoadSpike { rate }) = change {
        parameters.push(("spike", rate.to_string()));
    }
    let concluded =
        fault_run::switched_after(delay, switch, || conclusion::run(&folders.binary, &script, &folders.runs, &parameters, None))?;
    Ok(results::of(run, (fault.name, fault.load), &concluded))
}
