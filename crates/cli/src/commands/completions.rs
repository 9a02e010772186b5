//! `loadstone completions`: completion scripts for shells.

use std::io::Write;

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
        // The generator panics if writing fails, so it writes to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut (context.command_line)(), "loadstone", &mut script);
        std::io::stdout().write_all(&script)?;
        Ok(Exit::Passed)
    }
}
