//! The binary `loadstone`: flags, settings, wiring, exit codes.
//!
//! Read `commands` first (one file each), then `command_run` (a run and its display). Deliberately absent: measurement, conclusions, and the run itself
//! (`session`). Those are in the library crates.

mod answers;
mod argument;
mod capacity;
mod command_line;
mod command_run;
mod commands;
mod comparison;
mod conclusion_files;
mod context;
mod doctor;
mod exit;
mod experiment;
mod flags;
mod fleet;
mod gate;
mod interrupt;
mod k6_codes;
mod k6_run;
mod k6_source;
mod live_page;
mod mcp;
mod objective;
mod prose;
mod remote_imports;
mod run_trend;
mod scratch;
mod script_run;
mod series;
mod short_help;
mod stdin_guard;
mod system_file;
mod terminal_progress;
mod ui;
mod url_run;
mod watched;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use command_line::Cli;
use context::CommandContext;
use exit::{Exit, UsageError};

/// QuickJS uses it too, through the C library's allocation functions: see ARCHITECTURE.md, Decisions.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    if let Some(help) = short_help::of_group(Cli::command(), &arguments) {
        // A closed output is no failure of help.
        let _ = write!(std::io::stdout(), "{help}");
        return ExitCode::SUCCESS;
    }
    let matches = short_help::short(Cli::command(), &arguments).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let context = CommandContext { color: cli.color.into(), command_line: Cli::command };
    let started = loadstone_session::check_descriptors().map_err(|error| UsageError(error.to_string()).into());
    match started.and_then(|()| cli.command.perform(&context)) {
        Ok(exit) => exit.into(),
        Err(error) => {
            exit::print(&error);
            Exit::of_error(&error).into()
        }
    }
}
