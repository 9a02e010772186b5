//! Parameters of a test.

use clap::Args;
use loadstone_script::{Inputs, ScriptError};

use super::permissions::PermissionArgs;

/// Parameters of a script, for every command that takes one.
#[derive(Debug, Args)]
pub(crate) struct ParameterArgs {
    /// Set a parameter of the test. The environment variable LOADSTONE_NAME works too.
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE")]
    pub(crate) params: Vec<String>,
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
}

impl ParameterArgs {
    /// The test's inputs: these parameters, and the environment's.
    ///
    /// # Errors
    /// A parameter without a name or a value.
    pub(crate) fn inputs(&self) -> Result<Inputs, ScriptError> {
        Ok(Inputs { permissions: self.permissions.permissions(), ..inputs(&self.params)? })
    }
}

/// The inputs that this process passes to a test. Observers are validated where the test names them.
///
/// # Errors
/// A parameter without a name or a value.
fn inputs(parameters: &[String]) -> Result<Inputs, ScriptError> {
    Ok(Inputs { check_observer: Some(loadstone_session::check_observer), ..Inputs::from_process(parameters)? })
}
