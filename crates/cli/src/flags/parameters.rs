//! Parameters of a test.

use clap::Args;

/// Parameters of a script, for every command that takes one.
#[derive(Debug, Args)]
pub(crate) struct ParameterArgs {
    /// Set a parameter of the test. Also: LOADSTONE_NAME in the environment.
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE")]
    pub(crate) params: Vec<String>,
}
