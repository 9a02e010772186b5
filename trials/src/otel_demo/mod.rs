//! `cargo xtask otel-demo`: the OpenTelemetry Demo's own fault flags as an external measure of the first finding.
//!
//! Each run starts two to four of the demo's services as processes, with flagd and without containers. Loadstone sends load and receives the services' own
//! traces. Start with `faults`, whose table has the flags and their answers. `labs/otel-demo/README.md` describes how the services are built. Nothing of the
//! demo is part of this repository. Deliberately absent: any knowledge of the faults in the load tests or the binary.

mod faults;
mod flags;
mod services;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use clap::Args;
use serde_json::Value;

use self::faults::{DEMO_FAULTS, DemoFault};
use self::flags::FlagFile;
use crate::external_measure::fault_run::{self, FaultOnset, FaultRun};
use crate::external_measure::service_processes::{RunningServices, SystemOfServices};
use crate::external_measure::{self, MeasureFolders, MeasureOptions, results};
use crate::lab::conclusion;

/// Time for the services to connect to flagd and to the database after all of them listen.
const SETTLE: Duration = Duration::from_secs(3);

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
    /// Do not start flagd: the services read its flag file themselves, in flagd's in-process mode.
    #[arg(long)]
    without_flagd: bool,
    #[command(flatten)]
    measure: MeasureOptions,
}

pub(crate) fn otel_demo(workspace: &Workspace, options: &OtelDemoOptions) -> Result<()> {
    let answer = |flag: &str, load: &str| {
        let fault = DEMO_FAULTS.iter().find(|fault| fault.flag == flag && fault.load == load);
        fault.map(|fault| &fault.answer)
    };
    external_measure::measure(
        workspace,
        "otel-demo",
        &options.measure,
        (&options.checkout, options.built.as_deref()),
        |folders| run_all(workspace, options, folders),
        |results| results::table(results, answer),
    )
}

/// Each flag from the start and in mid-run. Returns how many runs failed.
fn run_all(workspace: &Workspace, options: &OtelDemoOptions, folders: &MeasureFolders) -> Result<usize> {
    let is_chosen = |fault: &&DemoFault| {
        options.only.is_empty() || options.only.iter().any(|text| fault.load == text || fault.flag.contains(text.as_str()))
    };
    let onsets = [FaultOnset::Start, FaultOnset::AfterSeconds(options.measure.seconds / 2)];
    let chosen = DEMO_FAULTS.iter().filter(is_chosen).flat_map(|fault| onsets.map(|onset| (fault, onset)));
    let runs = fault_run::planned(&chosen.collect::<Vec<_>>(), (options.measure.part, options.measure.onset), options.measure.repeat);
    if runs.is_empty() {
        let flags: Vec<&str> = DEMO_FAULTS.iter().map(|fault| fault.flag).collect();
        bail!("no flag has such a name; there are: {}", flags.join(", "));
    }
    Ok(external_measure::run_each(&runs, &folders.results, |fault| fault.flag, |run| carry_out(workspace, folders, run, options)))
}

fn carry_out(workspace: &Workspace, folders: &MeasureFolders, run: &FaultRun<'_, DemoFault>, options: &OtelDemoOptions) -> Result<Value> {
    let fault = run.fault;
    let script = folders.runs.join(format!("{}.load.ts", fault.load));
    fs::copy(workspace.root.join(format!("labs/otel-demo/{}.load.ts", fault.load)), &script).context("copying the load test")?;
    fs::copy(folders.checkout.join("pb/demo.proto"), folders.runs.join("demo.proto")).context("copying demo.proto of the checkout")?;
    let flags = FlagFile::create(&folders.checkout, &folders.logs)?;
    let delay = run.onset.delay();
    let rate = fault.rates[usize::from(delay.is_some())];
    let switch = || if run.is_twin { Ok(()) } else { flags.switch(fault.flag, fault.variant) };
    if delay.is_none() {
        switch()?;
    }
    let _system = start(folders, fault, &flags, !options.without_flagd)?;
    let parameters = [("rate", rate.to_string()), ("seconds", options.measure.seconds.to_string())];
    let concluded =
        fault_run::switched_after(delay, switch, || conclusion::run(&folders.binary, &script, &folders.runs, &parameters, None))?;
    Ok(results::of(run, (fault.flag, fault.load), &concluded))
}

fn start(folders: &MeasureFolders, fault: &DemoFault, flags: &FlagFile, with_flagd: bool) -> Result<RunningServices> {
    let system = SystemOfServices { name: "otel-demo", built: &folders.built, logs: &folders.logs, has_cpu_groups: false, settle: SETTLE };
    let services = services::services_of(fault.load).iter().copied();
    let services: Vec<_> = services.filter(|service| with_flagd || service.name != services::FLAGD.name).collect();
    system.start(&services, |service, command| {
        command.env("FLAGD_HOST", "127.0.0.1").env("FLAGD_PORT", "8013").env("FLAG_FILE", flags.path());
        command.env("OTEL_SERVICE_NAME", service.name).env("OTEL_TRACES_EXPORTER", "otlp");
        // A service's own settings take precedence; the delay shortens the wait for the last spans, as docs/traces.md advises.
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", services::TRACES).env("OTEL_BSP_SCHEDULE_DELAY", "1000");
        command.envs(service.environment.iter().copied());
        if !with_flagd {
            command.envs(services::WITHOUT_FLAGD.iter().copied()).env("FLAGD_OFFLINE_FLAG_SOURCE_PATH", flags.path());
        }
    })
}
