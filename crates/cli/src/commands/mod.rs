//! The commands, a file each.

mod demo;
mod history;
mod init;
mod inspect;
mod run;
mod stub;
mod try_;
mod ui;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, ColorFlag, Command};
use crate::exit::{Exit, UsageError};

/// Reads the command line and carries it out.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(cli) {
        Ok(exit) => exit.into(),
        Err(error) => {
            tell(&error);
            if error.chain().any(|cause| cause.is::<UsageError>() || cause.is::<script::ScriptError>()) {
                Exit::Usage.into()
            } else {
                Exit::Broken.into()
            }
        }
    }
}

fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    let color = match cli.color {
        ColorFlag::Auto => report::terminal::ColorChoice::Auto,
        ColorFlag::Always => report::terminal::ColorChoice::Always,
        ColorFlag::Never => report::terminal::ColorChoice::Never,
    };
    let mut out = std::io::stdout();
    match cli.command {
        Command::Run(args) => run::run(&args, color),
        Command::Try(args) => try_::try_out(&args, color),
        Command::Init(args) => init::init(&args, &mut out),
        Command::Inspect(args) => inspect::inspect(&args, &mut out),
        Command::Demo(args) => demo::demo(&args, color),
        Command::Ui(args) => ui::ui(&args),
        Command::Stub(args) => stub::stub(&args),
        Command::Runs(args) => history::runs(&args, color, &mut out),
        Command::Show(args) => history::show(&args, color, &mut out),
        Command::Report(args) => history::report(&args, &mut out),
        Command::Export(args) => history::export(&args, &mut out),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "loadstone", &mut out);
            Ok(Exit::Passed)
        }
    }
}

/// One message for people. A broken pipe (`| head`) is nobody's mistake and says nothing.
fn tell(error: &anyhow::Error) {
    let pipe =
        error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>()).any(|io| io.kind() == std::io::ErrorKind::BrokenPipe);
    let text = match error.downcast_ref::<script::ScriptError>() {
        _ if pipe => return,
        Some(script) => script.render(),
        None => format!("error: {}", sentence(error)),
    };
    // Nothing is left to do for a reader who closed standard error as well.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The error and its causes on one line; a cause whose words stand in the error above it already is not said twice.
fn sentence(error: &anyhow::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !said.last().is_some_and(|above| above.contains(&cause)) {
            said.push(cause);
        }
    }
    said.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let io = || std::io::Error::other("the disk is away");
        let error = anyhow::Error::from(io()).context("cannot create runs: the disk is away").context("no run");
        assert_eq!(sentence(&error), "no run: cannot create runs: the disk is away");
        assert_eq!(sentence(&anyhow::Error::from(io()).context("cannot create runs")), "cannot create runs: the disk is away");
    }
}
