//! Measurements and trials that take minutes to hours: labs, the benchmark of diagnosis, costs per request, accuracy, the self-test, long runs, bytes on the
//! wire, published cases, labelled series.
//!
//! `cargo xtask lab …`, `diagnose …`, `bench …` and so on start this program, so that the check need not compile it. `cargo xtask nightly` lints and tests it.
//! Deliberately absent: any use of the project's own crates, which are measured from outside. [`replay`] and
//! [`trend_series`] alone use them: their data are others'.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool: the terminal is its only output")]

mod accuracy;
mod bench;
mod dated_result;
mod diagnose;
mod external_measure;
mod fleet_sim;
mod hostile;
mod hotel;
mod k6_conformance;
mod lab;
mod long_run;
mod otel_demo;
mod replay;
mod scaling;
mod selftest;
mod starve;
mod stillness;
mod trend_series;
mod usage;
mod wire;

use std::process::ExitCode;

use checkout::Workspace;
use clap::{Parser, Subcommand};

/// Trials and measurements of Loadstone.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct TrialCommandLine {
    #[command(subcommand)]
    trial: TrialCommand,
}

#[derive(Subcommand)]
enum TrialCommand {
    /// Measure CPU time per request next to other generators, start-up time and size.
    Bench(bench::BenchOptions),
    /// Run load tests against a system with known faults, and report whether each fault is named.
    Lab(lab::LabOptions),
    /// Plant faults in real systems, and measure how often the cause is named.
    Diagnose(diagnose::DiagnoseOptions),
    /// Switch on the OpenTelemetry Demo's own fault flags, and report whether the first finding names each.
    OtelDemo(otel_demo::OtelDemoOptions),
    /// Inject SREGym's performance problems into DeathStarBench's hotel reservation, and report whether the first finding names each.
    Hotel(hotel::HotelOptions),
    /// Compare the findings under the load of other tools with those under Loadstone's own.
    WatchFindings(diagnose::WatchFindingsOptions),
    /// Compare reported percentiles with truths in closed form: Loadstone's own, and those of other generators.
    Accuracy(accuracy::AccuracyOptions),
    /// Compare two workers of one process with two processes of one worker, on two cores.
    Scaling(scaling::ScalingOptions),
    /// Starve the generator in known ways, and report whether it notices.
    Selftest(selftest::SelftestOptions),
    /// Simulate a run of a day on virtual time, and compare its memory, size and report with their targets.
    Days(long_run::days::DaysOptions),
    /// Generate load for hours, and report whether memory and descriptors stay flat.
    Soak(long_run::soak::SoakOptions),
    /// Simulate fleets whose agents, bus and controller fail as seeds draw it.
    FleetSim(fleet_sim::FleetSimOptions),
    /// Compare the bytes that Loadstone, curl, Node and Go send and read.
    Wire(wire::WireOptions),
    /// Compare small scripts in k6 and in Loadstone: requests, printed values, exit codes, counts.
    K6Conformance(k6_conformance::K6ConformanceOptions),
    /// Replay published root-cause cases as runs, and report how often the findings name the service at fault.
    ReplayCases(replay::ReplayCasesOptions),
    /// Compare the steps of trends with the change points that people labelled in published series.
    TrendSeries(trend_series::TrendSeriesOptions),
    /// Attack the binary with hostile servers and files, within limits on memory, time and exit codes.
    Hostile(hostile::HostileOptions),
}

fn main() -> ExitCode {
    let trial = TrialCommandLine::parse().trial;
    match Workspace::find().and_then(|workspace| perform(&trial, &workspace)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(trial: &TrialCommand, workspace: &Workspace) -> anyhow::Result<()> {
    match trial {
        TrialCommand::Bench(options) => bench::bench(workspace, options),
        TrialCommand::Lab(options) => lab::lab(workspace, options),
        TrialCommand::Diagnose(options) => diagnose::diagnose(workspace, options),
        TrialCommand::OtelDemo(options) => otel_demo::otel_demo(workspace, options),
        TrialCommand::Hotel(options) => hotel::hotel(workspace, options),
        TrialCommand::WatchFindings(options) => diagnose::watch_findings(workspace, options),
        TrialCommand::Accuracy(options) => accuracy::accuracy(workspace, options),
        TrialCommand::Scaling(options) => scaling::scaling(workspace, options),
        TrialCommand::Selftest(options) => selftest::selftest(workspace, options),
        TrialCommand::Days(options) => long_run::days::days(workspace, options),
        TrialCommand::Soak(options) => long_run::soak::soak(workspace, options),
        TrialCommand::FleetSim(options) => fleet_sim::fleet_sim(workspace, options),
        TrialCommand::Wire(options) => wire::wire(workspace, options),
        TrialCommand::K6Conformance(options) => k6_conformance::k6_conformance(workspace, options),
        TrialCommand::ReplayCases(options) => replay::replay_cases(workspace, options),
        TrialCommand::TrendSeries(options) => trend_series::trend_series(options),
        TrialCommand::Hostile(options) => hostile::hostile(workspace, options),
    }
}
