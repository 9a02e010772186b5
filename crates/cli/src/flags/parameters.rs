//! Parameters of a test.

use clap::Args;
use loadstone_script::{Inputs, ScriptError};

/// Parameters of a script, for every command that takes one.
#[derive(Debug, Args)]
pub(crate) struct ParameterArgs {
    /// Set a parameter of the test. Also: LOADSTONE_NAME in the environment.
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE")]
    pub(crate) params: Vec<String>,
}

impl ParameterArgs {
    /// What the test is given: these parameters, and the environment's.
    ///
    /// # Errors
    /// A parameter without a name or a value.
    pub(crate) fn inputs(&self) -> Result<Inputs, ScriptError> {
        inputs(&self.params)
    }
}

/// What a test is given by this process; observers are checked where the test names them.
///
/// # Errors
/// A parameter without a name or a value.
pub(crate) fn inputs(parameters: &[String]) -> Result<Inputs, ScriptError> {
    Ok(Inputs { check_observer: Some(loadstone_session::check_observer), ..Inputs::from_process(parameters)? })
}
