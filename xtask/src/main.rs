//! The one command surface of this repository: `cargo xtask check`, `tidy`, `edges`, `gen`, `web`, `setup`, `bench`,
//! `accuracy`, `selftest`, `lab`.
//!
//! Each command is a module of its own; start with [`check`], which is what CI runs and calls most of the others.
//! Deliberately absent: anything that ships to users, and any use of the project's own crates.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool: the terminal is its only output")]

mod accuracy;
mod bench;
mod check;
mod command_reference;
mod edges;
mod lab;
mod machine;
mod process;
mod script_reference;
mod selftest;
mod setup;
mod stillness;
mod tidy;
mod web;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use workspace::Workspace;

/// Chores of the Loadstone repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything CI checks: formatting, lints, tidiness, edges, generated files, the web page, all tests.
    Check {
        /// Run only these parts (see their names in the output of a full run).
        #[arg(long = "only", value_name = "PART")]
        only: Vec<String>,
    },
    /// House rules that no compiler knows: file sizes, names, leftovers.
    Tidy,
    /// Hold the table of allowed edges between crates against `cargo metadata`.
    Edges,
    /// Write the generated documents (docs/cli.md and docs/script.md).
    Gen {
        /// Change nothing; fail if a document is not what would be written.
        #[arg(long)]
        check: bool,
    },
    /// Build the web page and copy it to where the binary embeds it.
    Web {
        /// Change nothing; fail if the embedded page is not what the sources build.
        #[arg(long)]
        check: bool,
    },
    /// Install what the tests need and this machine lacks.
    Setup {
        /// Only say what is missing.
        #[arg(long)]
        list: bool,
    },
    /// Measure CPU time per request beside other generators, start-up time and size.
    Bench(bench::Options),
    /// Run a load test against a system with a known fault, and see whether it is named.
    Lab(lab::Options),
    /// Hold reported percentiles against truths in closed form.
    Accuracy(accuracy::Options),
    /// Starve the generator in every way, and see whether it knows.
    Selftest(selftest::Options),
}

fn main() -> ExitCode {
    let chore = Arguments::parse().chore;
    match perform(&chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(chore: &Chore) -> anyhow::Result<()> {
    let workspace = Workspace::find()?;
    match chore {
        Chore::Check { only } => check::check(&workspace, only),
        Chore::Tidy => tidy::tidy(&workspace),
        Chore::Edges => edges::edges(&workspace),
        Chore::Gen { check } => {
            script_reference::generate(&workspace, *check)?;
            let binary = command_reference::build_binary(&workspace)?;
            command_reference::generate(&workspace, &binary, *check)
        }
        Chore::Web { check: true } => web::check_asset(&workspace),
        Chore::Web { check: false } => web::build(&workspace),
        Chore::Lab(options) => lab::lab(&workspace, options),
        Chore::Bench(options) => bench::bench(&workspace, options),
        Chore::Accuracy(options) => accuracy::accuracy(&workspace, options),
        Chore::Selftest(options) => selftest::selftest(&workspace, options),
        Chore::Setup { list: true } => setup::list(&workspace),
        Chore::Setup { list: false } => setup::setup(&workspace),
    }
}
