//! The input of every command in addition to its own flags.

use loadstone_report::terminal::ColorChoice;

pub(crate) struct CommandContext {
    /// When to colour the output.
    pub(crate) color: ColorChoice,
    /// The whole command line, described.
    pub(crate) command_line: fn() -> clap::Command,
}
