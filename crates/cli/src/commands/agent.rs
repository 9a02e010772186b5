//! `loadstone agent`: makes a part of the load of runs that are led from elsewhere.

use clap::Args;

use crate::context::CommandContext;
use crate::exit::Exit;
use crate::fleet::{AgentSettings, serve};
use crate::stdin_guard;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  loadstone agent --join nats://10.0.0.5:4222
  loadstone run shop.load.ts --fleet nats://10.0.0.5:4222 --agents 8")]
pub(crate) struct AgentArgs {
    /// NATS server at which runs look for agents: nats://HOST:4222 or tls://…, with USER:PASSWORD@ where it asks for it.
    #[arg(long, value_name = "ADDRESS", env = "LOADSTONE_FLEET", hide_env_values = true)]
    join: String,
    /// Name in reports.  [default: the machine's, and the process's number]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Threads that generate the load.  [default: one per core]
    #[arg(long, value_name = "N")]
    workers: Option<u32>,
    /// Say nothing but errors.
    #[arg(short, long)]
    quiet: bool,
    /// End when standard input does: for programs that start agents, so that none outlives them.
    #[arg(long)]
    stop_with_stdin: bool,
}

impl AgentArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        if self.stop_with_stdin {
            let end = stdin_guard::watch()?;
            std::thread::Builder::new().name("guard".to_owned()).spawn(move || {
                // Nothing is ever sent: it returns when standard input has ended.
                let _ = end.recv();
                std::process::exit(Exit::Interrupted as i32);
            })?;
        }
        serve(&AgentSettings {
            address: &self.join,
            name: self.name.as_deref(),
            workers: self.workers.unwrap_or_else(session::cores).max(1),
            quiet: self.quiet,
        })?;
        Ok(Exit::Passed)
    }
}
