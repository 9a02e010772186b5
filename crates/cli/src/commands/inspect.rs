//! `loadstone inspect`: the resolved plan and parameters as JSON.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use loadstone_k6::{K6Inputs, options_of_environment};
use loadstone_plan::TestPlan;

use crate::argument;
use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::flags::ParameterArgs;

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A test (*.load.ts) or a k6 script.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    params: ParameterArgs,
}

impl InspectArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        argument::check_test(&self.file)?;
        let plan = match loadstone_k6::is_k6_script(&self.file) {
            true => self.k6_plan()?,
            false => loadstone_script::load(&self.file, &self.params.inputs()?)?.plan,
        };
        let secrets = plan.all_secrets();
        loadstone_session::observers(&plan).map_err(|problem| UsageError(secrets.hide(&problem.to_string()).into_owned()))?;
        // Written in one call: the JSON writer's error would hide that the reader has closed the pipe (`| head`).
        let text = serde_json::to_string_pretty(&plan.hiding(&secrets))?;
        writeln!(std::io::stdout(), "{text}")?;
        Ok(Exit::Passed)
    }

    /// The plan of a k6 script with the options of the environment.
    fn k6_plan(&self) -> anyhow::Result<TestPlan> {
        if let Some(param) = self.params.params.first() {
            return Err(UsageError(format!(
                "-p {param}: parameters belong to Loadstone tests; set variables of a k6 script in the environment"
            ))
            .into());
        }
        let variables: BTreeMap<String, String> = std::env::vars().collect();
        let tiers = vec![options_of_environment(&variables).map_err(UsageError)?];
        let inputs = K6Inputs { variables, tiers, permissions: self.params.permissions.permissions(), ..K6Inputs::default() };
        Ok(loadstone_k6::load(&self.file, &inputs).map_err(|problem| problem.error)?.plan)
    }
}
