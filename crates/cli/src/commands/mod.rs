//! The commands, one file each with its flags. To add one, create a file and add its lines here.

mod agent;
pub(crate) mod capacity;
mod compare;
mod completions;
mod demo;
mod doctor;
pub(crate) mod experiment;
mod explain;
mod export;
mod fleet;
mod import;
pub(crate) mod init;
mod inspect;
mod man;
mod mcp;
mod report;
pub(crate) mod run;
mod runs;
mod show;
mod stub;
mod trend;
mod try_;
mod types;
mod ui;
mod watch;

use clap::Subcommand;

use crate::context::CommandContext;
use crate::exit::ProcessExit;

/// Declares the subcommands and dispatches them: `NAME(ARGUMENTS)`, where the arguments have a method `perform`.
macro_rules! commands {
    ($($(#[$help:meta])* $name:ident($arguments:ty),)*) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum Commands {
            $($(#[$help])* $name(Box<$arguments>),)*
        }

        impl Commands {
            pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<ProcessExit> {
                match self {
                    $(Self::$name(arguments) => arguments.perform(context).map(ProcessExit::from),)*
                }
            }
        }
    };
}

commands! {
    /// Run a test: a script, or a URL with a rate or a number of users.
    Run(run::RunArgs),
    /// Find out why a system is slow with your load test: k6, JMeter, Locust, Gatling, hey, an access log.
    Watch(watch::WatchArgs),
    /// Run each scenario once and show every request and response. Nothing is recorded.
    Try(try_::TryArgs),
    /// Write a first test with types for your editor.
    Init(init::InitArgs),
    /// Write the types of gRPC services for your editor, from `.proto` files.
    Types(types::TypesArgs),
    /// Make a test from HAR, OpenAPI, Postman, JMeter, Gatling or curl.
    Import(import::ImportArgs),
    /// Show the resolved plan and parameters of a test as JSON. Generates no load.
    Inspect(inspect::InspectArgs),
    /// Watch a load test find the planted bottleneck of a built-in shop.
    Demo(demo::DemoArgs),
    /// Show how much load this machine can generate: limits, cores, clock, name resolution, and how to raise each limit.
    Doctor(doctor::DoctorArgs),
    /// Start tests from forms, watch them, and browse runs, in a web page.
    Ui(ui::UiArgs),
    /// Offer the tests and runs of a folder to an agent, as tools of the Model Context Protocol, within limits.
    Mcp(mcp::McpArgs),
    /// Generate part of the load of runs that start elsewhere with `loadstone run --fleet`.
    Agent(agent::AgentArgs),
    /// Start, inspect and stop agents in a Kubernetes cluster.
    Fleet(fleet::FleetCommandArgs),
    /// Serve a simulated HTTP endpoint with delays, faults and limits.
    Stub(stub::StubArgs),
    /// List the runs in a folder, or delete old ones.
    Runs(runs::RunsArgs),
    /// Show the summary of a run again.
    Show(show::ShowArgs),
    /// Explain the rules of findings: what each reports, when, and how it decides.
    Explain(explain::ExplainArgs),
    /// Compare a run with another, and fail if it is worse than allowed.
    Compare(compare::CompareArgs),
    /// Switch a setting of the system back and forth under load, and show which numbers depend on it.
    Experiment(experiment::ExperimentArgs),
    /// Show a test over all its runs: which numbers changed, by how much, and with which run.
    Trend(trend::TrendArgs),
    /// Search for the highest load at which a system meets its objectives.
    Capacity(capacity::CapacityArgs),
    /// Write the report of a run again, even if the run was cut short.
    Report(report::ReportArgs),
    /// Write a run's measurements as CSV, JSON lines or Parquet.
    Export(export::ExportArgs),
    /// Print a completion script for your shell.
    Completions(completions::CompletionsArgs),
    /// Write the manual pages of all commands into a folder.
    Man(man::ManArgs),
}
