//! `loadstone inspect`: the resolved plan and parameters as JSON.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use loadstone_plan::TestPlan;

use crate::argument;
use crate::context::CommandContext;
use crate::exit::Exit;
use crate::flags::{K6ScriptArgs, ParameterArgs, observers_of};
use crate::k6_source::print_notes;
use crate::system_file::merged;

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A test (*.load.ts) or a k6 script.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    params: ParameterArgs,
    #[command(flatten)]
    k6: K6ScriptArgs,
}

impl InspectArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        argument::check_test(&self.file)?;
        let plan = if loadstone_k6::is_k6_script(&self.file) {
            self.k6_plan()?
        } else {
            self.k6.check_unused(&self.file.display().to_string())?;
            loadstone_script::load(&self.file, &self.params.inputs()?)?.plan
        };
        observers_of(&plan)?;
        // Written in one call: the JSON writer's error would hide that the reader has closed the pipe (`| head`).
        let text = serde_json::to_string_pretty(&plan.hiding(&plan.all_secrets()))?;
        writeln!(std::io::stdout(), "{text}")?;
        Ok(Exit::Passed)
    }

    /// The plan of a k6 script, with what the file of `--with` adds to it.
    fn k6_plan(&self) -> anyhow::Result<TestPlan> {
        let inputs = self.k6.inputs(&self.file, &self.params, None)?;
        let test = loadstone_k6::load(&self.file, &inputs).map_err(|problem| problem.error)?;
        print_notes(&test)?;
        match self.k6.system_of(&self.file) {
            Some(file) => Ok(merged(test.plan, &loadstone_script::load_system(&file, &self.params.inputs()?)?, &file)?),
            None => Ok(test.plan),
        }
    }
}
