//! `loadstone inspect`: the resolved plan and parameters as JSON.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::argument;
use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::flags::ParameterArgs;

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A test (*.load.ts).
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    params: ParameterArgs,
}

impl InspectArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        argument::check_test(&self.file)?;
        let plan = loadstone_script::load(&self.file, &self.params.inputs()?)?.plan;
        let secrets = plan.all_secrets();
        loadstone_session::observers(&plan).map_err(|problem| UsageError(secrets.hide(&problem.to_string()).into_owned()))?;
        // Written in one call: the JSON writer's error would hide that the reader has closed the pipe (`| head`).
        let text = serde_json::to_string_pretty(&plan.hiding(&secrets))?;
        writeln!(std::io::stdout(), "{text}")?;
        Ok(Exit::Passed)
    }
}
