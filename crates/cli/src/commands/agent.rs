//! `loadstone agent`: generates part of the load of runs that a controller on another machine leads.

use std::path::PathBuf;

use clap::Args;
use loadstone_fleet::{EndRequest, NatsServer, PublicFleetKey};

use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::fleet::{AgentSettings, authorities, is_here, is_open, open_bus, parse_label, serve};
use crate::interrupt;
use crate::stdin_guard;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  loadstone fleet key controller.pem
  loadstone agent --join nats://load:PASSWORD@10.0.0.5:4222 --controller-key PUBLIC_KEY
  loadstone run shop.load.ts --fleet nats://load:PASSWORD@10.0.0.5:4222 --agents 8 --fleet-key controller.pem")]
pub(crate) struct AgentArgs {
    /// NATS server where runs find their agents: nats://HOST:4222 or tls://…, with USER:PASSWORD@ if the server requires it. The agent waits up to 60 s for
    /// it.
    #[arg(long, value_name = "ADDRESS", env = "LOADSTONE_FLEET", hide_env_values = true)]
    join: String,
    /// Name in reports.  [default: host name and process id]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Label of this agent, such as region=eu. Can be repeated. A label with an empty value is ignored.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_own_label)]
    labels: Vec<Option<(String, String)>>,
    /// Certificates (PEM) of the authorities that the NATS server is verified with.  [default: the system's]
    #[arg(long, value_name = "FILE", env = "LOADSTONE_FLEET_CA", hide_env_values = true)]
    ca: Option<PathBuf>,
    /// Public key of a controller that may lead this agent, as `loadstone fleet key FILE` prints it. Can be repeated. Required if the server is on another
    /// machine.
    #[arg(long = "controller-key", value_name = "KEY", env = "LOADSTONE_CONTROLLER_KEY", hide_env_values = true, value_delimiter = ',')]
    controllers: Vec<PublicFleetKey>,
    /// Obey every controller at a server on another machine. Everyone with its password can make this agent send load.
    #[arg(long, env = "LOADSTONE_ANY_CONTROLLER", hide_env_values = true, conflicts_with = "controllers")]
    any_controller: bool,
    /// Threads that generate the load.  [default: one per core]
    #[arg(long, value_name = "N")]
    workers: Option<u32>,
    /// Join a NATS server on another machine that asks for no password. Everyone who reaches it can make this agent read files and send load.
    #[arg(long, env = "LOADSTONE_INSECURE_BUS", hide_env_values = true)]
    insecure_bus: bool,
    /// Print errors only.
    #[arg(short, long)]
    quiet: bool,
    /// Exit when standard input closes. For programs that start agents, so that no agent outlives them.
    #[arg(long)]
    stop_with_stdin: bool,
}

impl AgentArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        if !self.insecure_bus && is_open(&self.join) {
            return Err(open_bus("--join", &self.join).into());
        }
        if self.controllers.is_empty() && !self.any_controller && !self.insecure_bus && !is_here(&self.join) {
            return Err(UsageError(
                "--join: everyone with the password of this server could lead this agent: add --controller-key KEY, as `loadstone fleet key FILE` \
                 prints it, or accept this with --any-controller"
                    .to_owned(),
            )
            .into());
        }
        if self.stop_with_stdin {
            let end = stdin_guard::watch()?;
            std::thread::Builder::new().name("guard".to_owned()).spawn(move || {
                // Nothing is ever sent: this returns when standard input has closed.
                let _ = end.recv();
                std::process::exit(Exit::Interrupted as i32);
            })?;
        }
        let end = EndRequest::default();
        let asked = end.clone();
        // As PID 1 of a container, the process ignores signals that have no handler.
        std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
            if interrupt::wait().is_ok() {
                asked.ask();
            }
            // After a second signal, do not wait for the agent's sign-off.
            if interrupt::wait().is_ok() {
                std::process::exit(Exit::Interrupted as i32);
            }
        })?;
        let settings = AgentSettings {
            server: NatsServer::new(&self.join, authorities("--ca", self.ca.as_deref())?),
            controllers: self.controllers.clone(),
            name: self.name.as_deref(),
            workers: self.workers.unwrap_or_else(loadstone_session::cores).max(1),
            labels: self.labels.iter().flatten().cloned().collect(),
            quiet: self.quiet,
        };
        serve(&settings, &end)?;
        Ok(Exit::Interrupted)
    }
}

/// A cluster that does not know a value leaves the part after the `=` empty.
fn parse_own_label(text: &str) -> Result<Option<(String, String)>, String> {
    match text.strip_suffix('=') {
        Some(key) => parse_label(&format!("{key}=x")).map(|_| None),
        None => parse_label(text).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_without_a_value_is_ignored() {
        assert_eq!(parse_own_label("region=eu"), Ok(Some(("region".to_owned(), "eu".to_owned()))));
        assert_eq!(parse_own_label("region="), Ok(None));
        assert!(parse_own_label("=").is_err() && parse_own_label("region").is_err());
    }
}
