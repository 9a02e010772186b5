//! `cargo xtask lab tickets --peers`: the same validators in other generators, and what each connected one takes.
//!
//! Every generator keeps 500, 2,000 and 4,000 validators connected that tap as usual. What counts is its own peak of memory, and the slope of it: what
//! one more validator takes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::{machine, process};

use super::cases::VALIDATION;
use crate::lab::system::LabSystem;
use crate::lab::{conclusion, figures};
use crate::usage::{self, ResourceUsage};

const VALIDATORS: [u32; 3] = [500, 2_000, 4_000];
const RAMP_UP_SECONDS: u32 = 20;
const RUN_SECONDS: u32 = 30;

/// How a generator is started with so many validators; `None`: it is not installed.
type PeerStart = fn(&PeerTarget<'_>, u32) -> Result<Option<Command>>;

const GENERATORS: [(&str, PeerStart); 3] = [("Loadstone", loadstone), ("k6", k6), ("Gatling", gatling)];

struct PeerTarget<'a> {
    workspace: &'a Workspace,
    binary: &'a Path,
    /// Where runs and other leavings go.
    leavings: &'a Path,
    /// `127.0.0.1:8081`
    validation: &'a str,
}

pub(super) fn compare(workspace: &Workspace, binary: &Path) -> Result<()> {
    let leavings = workspace.target.join("lab/tickets");
    fs::create_dir_all(&leavings)?;
    let mut rows = vec![["generator", "validators", "peak memory", "CPU", "each further validator"].map(str::to_owned).to_vec()];
    for (name, start) in GENERATORS {
        let mut before: Option<(u32, ResourceUsage)> = None;
        for validators in VALIDATORS {
            // A service that has not seen the generator before.
            let system = LabSystem::start(workspace, "tickets", &[])?;
            let barcodes = workspace.root.join("labs/tickets/make-barcodes.load.ts");
            conclusion::run(binary, &barcodes, &leavings, &[("target", system.address("issuing")?.to_owned())], None)?;
            let validation = system.address("validation")?.trim_start_matches("http://");
            let lab = PeerTarget { workspace, binary, leavings: &leavings, validation };
            let Some(mut command) = start(&lab, validators)? else {
                process::pass_over(&format!("{name}, which is not installed"))?;
                break;
            };
            eprintln!("{name}, {validators} validators");
            // Exit codes of Loadstone, k6 and Gatling; a threshold that failed on a busy machine says nothing against the memory figures.
            let used = usage::run(command.stdout(Stdio::null()).stderr(Stdio::null()), &[0, 2, 3, 4, 99])?;
            let slope = before.map(|(fewer, less)| (used.memory_peak_bytes - less.memory_peak_bytes) / f64::from(validators - fewer));
            rows.push(vec![
                name.to_owned(),
                validators.to_string(),
                format!("{:.0} MB", used.memory_peak_bytes / 1e6),
                format!("{:.1} s", used.cpu_seconds()),
                slope.map_or_else(|| "–".to_owned(), |bytes| format!("{:.0} kB", bytes / 1e3)),
            ]);
            before = Some((validators, used));
        }
    }
    println!("{}", figures::table(&rows));
    Ok(())
}

fn loadstone(lab: &PeerTarget<'_>, validators: u32) -> Result<Option<Command>> {
    let mut command = Command::new(lab.binary);
    command
        .arg("run")
        .arg(lab.workspace.root.join(format!("labs/tickets/{VALIDATION}.load.ts")))
        .args(["--quiet", "--runs"])
        .arg(lab.leavings);
    for (name, value) in [
        ("target", format!("http://{}", lab.validation)),
        ("validators", validators.to_string()),
        ("rampUp", format!("{RAMP_UP_SECONDS}s")),
        ("runTime", format!("{RUN_SECONDS}s")),
    ] {
        command.arg("-p").arg(format!("{name}={value}"));
    }
    Ok(Some(command))
}

fn k6(lab: &PeerTarget<'_>, validators: u32) -> Result<Option<Command>> {
    let Some(program) = machine::generator(lab.workspace, "k6") else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(["run", "--quiet", "-e", &format!("TARGET=ws://{}", lab.validation), "-e", &format!("VALIDATORS={validators}")]);
    command.args(["-e", &format!("RAMP_UP_SECONDS={RAMP_UP_SECONDS}"), "-e", &format!("RUN_TIME_SECONDS={RUN_SECONDS}")]);
    command.arg(lab.workspace.root.join("labs/tickets/peers/k6/validation.js"));
    Ok(Some(command))
}

/// Started without Maven, which would be measured with it.
fn gatling(lab: &PeerTarget<'_>, validators: u32) -> Result<Option<Command>> {
    let library = lab.workspace.tools().join("bench/gatling/lib");
    if !library.is_dir() {
        return Ok(None);
    }
    let jars = format!("{}/*", library.display());
    let sources = lab.workspace.root.join("labs/tickets/peers/gatling");
    let classes = lab.leavings.join("gatling-classes");
    fs::create_dir_all(&classes)?;
    let simulation = sources.join("src/test/java/tickets/ValidationSimulation.java");
    process::run(Command::new("javac").args(["-cp", &jars, "-d"]).arg(&classes).arg(simulation)).context("compiling the simulation")?;
    // Without it every step is logged.
    fs::copy(lab.workspace.root.join("bench/gatling/logback.xml"), classes.join("logback.xml"))?;
    let resources = sources.join("src/test/resources");
    let mut command = Command::new("java");
    command.args(["--add-opens", "java.base/java.lang=ALL-UNNAMED", "-cp"]);
    command.arg(format!("{jars}:{}:{}", classes.display(), resources.display()));
    command.args([&format!("-Dtarget=ws://{}", lab.validation), &format!("-Dvalidators={validators}")]);
    command.args([&format!("-DrampUpSeconds={RAMP_UP_SECONDS}"), &format!("-DrunTimeSeconds={RUN_SECONDS}")]);
    command.args(["io.gatling.app.Gatling", "-s", "tickets.ValidationSimulation", "-nr", "-rf"]).arg(lab.leavings.join("gatling"));
    command.current_dir(sources);
    Ok(Some(command))
}
