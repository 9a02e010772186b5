//! The command line as a whole. Flags that several commands share are in `flags`, the others with their command in `commands`.

use clap::{Parser, ValueEnum};
use loadstone_report::terminal::ColorChoice;

use crate::commands::Commands;
use crate::exit::Exit;

/// Includes the commit in release builds (`cargo xtask dist`).
const VERSION: &str = match option_env!("LOADSTONE_BUILD") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// Load tests that tell you why.
#[derive(Debug, Parser)]
#[command(name = "loadstone", version = VERSION, propagate_version = true, after_help = Exit::TABLE, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Commands,
    /// When to colour the output.
    #[arg(long, global = true, value_enum, default_value_t = ColorFlag::Auto)]
    pub(crate) color: ColorFlag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorFlag {
    /// Colours are on for a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

impl From<ColorFlag> for ColorChoice {
    fn from(flag: ColorFlag) -> Self {
        match flag {
            ColorFlag::Auto => ColorChoice::Auto,
            ColorFlag::Always => ColorChoice::Always,
            ColorFlag::Never => ColorChoice::Never,
        }
    }
}
