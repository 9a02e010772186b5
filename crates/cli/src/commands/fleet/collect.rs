//! `loadstone fleet collect`: fetches the seconds of a run whose controller was killed from its agents.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use loadstone_fleet::{AgentFacts, CollectedSeconds, Collector, NatsServer};
use loadstone_run_directory::{Reader, Run, RunEnd, Writer};

use crate::conclusion_files::{ConclusionFiles, short_path};
use crate::exit::{Exit, UsageError};
use crate::flags::StoredRunArgs;
use crate::fleet::{authorities, key_file, parse_address};

/// How long to wait for agents.
const AGENT_WAIT: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  loadstone fleet collect latest --fleet nats://10.0.0.5:4222")]
pub(super) struct CollectArgs {
    #[command(flatten)]
    run: StoredRunArgs,
    /// NATS server of the run's agents: nats://HOST:4222 or tls://…, with USER:PASSWORD@ if the server requires it.
    #[arg(long, value_name = "ADDRESS", env = "LOADSTONE_FLEET", hide_env_values = true, value_parser = parse_address)]
    fleet: String,
    /// Certificates (PEM) of the authorities that the NATS server is verified with.  [default: the system's]
    #[arg(long, value_name = "FILE", env = "LOADSTONE_FLEET_CA", hide_env_values = true)]
    fleet_ca: Option<PathBuf>,
    /// Private key (PEM) of the run's controller, for agents with --controller-key.
    #[arg(long, value_name = "FILE")]
    fleet_key: Option<PathBuf>,
}

impl CollectArgs {
    pub(super) fn perform(&self) -> anyhow::Result<Exit> {
        let directory = self.run.directory()?;
        let run = Reader::open(&directory).and_then(Reader::run_unfolded)?;
        let Some(id) = run.info.fleet.clone() else {
            return Err(UsageError(format!(
                "{}: this run used no agents (or a version of Loadstone that did not record them)",
                run.info.id
            ))
            .into());
        };
        if run.end.is_some() {
            return Err(
                UsageError(format!("{}: this run is complete: its controller received all data from the agents", run.info.id)).into()
            );
        }
        let (stored, next) = has(&run);
        let agents: Vec<AgentFacts> = run.info.agents.iter().map(facts).collect();
        let wanted = agents.len();
        let server = NatsServer::new(&self.fleet, authorities("--fleet-ca", self.fleet_ca.as_deref())?);
        let key = key_file::read_or_generate("--fleet-key", self.fleet_key.as_deref())?;
        let collected = loadstone_fleet::collect(&server, key, Collector::new(id, agents, stored), wanted, AGENT_WAIT, next)?;
        if collected.agents.is_empty() {
            return Err(UsageError(format!(
                "no agent at this server stores data of {}: an agent stores it until it ends or loses another controller, and sends it \
                 while it waits for a run",
                run.info.id
            ))
            .into());
        }
        keep(&directory, &run, &collected, next)
    }
}

/// For each agent, how many of its first seconds the run has. Also the number of the first second that is missing.
fn has(run: &Run) -> (BTreeMap<u32, u32>, u32) {
    let mut stored: BTreeMap<u32, u32> = BTreeMap::new();
    for agent in run.slices.iter().flat_map(|second| &second.agents) {
        let known = stored.entry(agent.agent).or_default();
        *known = agent.seconds_received.max(*known);
    }
    (stored, run.slices.last().map_or(0, |second| second.slice + second.folded + 1))
}

fn facts(info: &loadstone_run_directory::AgentInfo) -> AgentFacts {
    AgentFacts {
        name: info.name.clone(),
        hostname: info.hostname.clone(),
        cores: info.cores,
        workers: info.workers,
        labels: info.labels.clone(),
        ..AgentFacts::default()
    }
}

fn keep(directory: &Path, run: &Run, collected: &CollectedSeconds, next: u32) -> anyhow::Result<Exit> {
    let all = &run.info.agents;
    let silent: Vec<&str> =
        (0..).zip(all).filter(|(number, _)| !collected.agents.contains(number)).map(|(_, agent)| agent.name.as_str()).collect();
    let seconds = collected.seconds.len();
    let missing = if silent.is_empty() { String::new() } else { format!("; no data from {}", silent.join(", ")) };
    let why = format!(
        "the controller was killed after second {}; {seconds} seconds were collected from {} of {} agents{missing}",
        next,
        collected.agents.len(),
        all.len()
    );
    Writer::continue_after(directory, &collected.seconds, &RunEnd::Failed(why.clone()))?;
    let mut run = Reader::open(directory).and_then(Reader::run)?;
    let summary = loadstone_analysis::conclude_in_place(&mut run);
    let path = ConclusionFiles::of(&run, &summary).write(directory)?;
    writeln!(std::io::stdout(), "{}: {why}\n{}", run.info.id, short_path(&path))?;
    Ok(Exit::Passed)
}
