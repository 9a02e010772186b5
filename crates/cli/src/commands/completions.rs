//! `loadstone completions`: completion scripts for shells.

use clap::Args;

use crate::context::CommandContext;
use crate::exit::Exit;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

impl CompletionsArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        clap_complete::generate(self.shell, &mut (context.command_line)(), "loadstone", &mut std::io::stdout());
        Ok(Exit::Passed)
    }
}
