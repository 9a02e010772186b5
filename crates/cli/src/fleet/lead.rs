//! A run over a fleet: finds its agents, sends them the test, and leads them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use loadstone_fleet::{AgentFacts, GatheredFleet, LabelShare, LossPolicy, NatsServer, WrittenSeconds, without_password};
use loadstone_plan::{LoadProfile, OpenStage, ScenarioRun, TestPlan};
use loadstone_run_directory::AgentInfo;
use loadstone_script::Loaded;
use loadstone_session::{FinishedRun, FleetOfRun, RunEvent, RunRequests, Session, SessionError, Subscriber, SubscriberError};

use super::led_test::LedTest;
use super::local::LocalFleet;
use super::share_flag::{WrittenShare, parse_share, shares};
use super::{authorities, key_file, unique_id};
use crate::exit::UsageError;

/// How long to wait for agents.
const GATHER_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of label values to show.
const LABEL_VALUES_SHOWN_MAX: usize = 6;

/// Load from several machines.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Fleet")]
pub(crate) struct FleetArgs {
    /// Let agents generate the load: those at a NATS server (nats://HOST:4222, tls://…), or N processes on this machine (local:N). See docs/fleet.md.
    #[arg(long, value_name = "ADDRESS|local:N", value_parser = parse_place)]
    fleet: Option<FleetPlace>,
    /// Number of agents that the run needs.
    #[arg(long, value_name = "N", requires = "fleet", value_parser = clap::value_parser!(u32).range(1..))]
    agents: Option<u32>,
    /// Share of the load by agent label: region=eu:0.7,region=us:0.3, or proportions in whole numbers (7 and 3).
    #[arg(long, value_name = "LABEL=VALUE:SHARE,…", requires = "fleet", value_delimiter = ',', value_parser = parse_share)]
    fleet_share: Vec<WrittenShare>,
    /// Certificates (PEM) of the authorities that the NATS server is verified with.  [default: the system's]
    #[arg(long, value_name = "FILE", requires = "fleet")]
    fleet_ca: Option<PathBuf>,
    /// Private key (PEM) that signs what the controller sends, from `loadstone fleet key FILE`. Agents with --controller-key obey no other.  [default: a
    /// new key for this run]
    #[arg(long, value_name = "FILE", requires = "fleet")]
    fleet_key: Option<PathBuf>,
    /// Use a NATS server on another machine that asks for no password. Everyone who reaches it can read the test and lead its agents.
    #[arg(long, requires = "fleet")]
    insecure_bus: bool,
    /// What happens to the run when an agent is lost.
    #[arg(long, value_enum, value_name = "WHAT", requires = "fleet", default_value_t)]
    on_agent_loss: OnAgentLoss,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum FleetPlace {
    Local(u32),
    Server(String),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum OnAgentLoss {
    /// The others continue. The run reports what is missing, and is SUSPECT.
    #[default]
    Continue,
    /// The run ends as failed.
    Stop,
    /// The others take over its part. The run reports what is missing until then, and is SUSPECT.
    Replace,
}

fn parse_place(text: &str) -> Result<FleetPlace, String> {
    if let Some(number) = text.strip_prefix("local:") {
        return match number.parse() {
            Ok(agents) if agents > 0 => Ok(FleetPlace::Local(agents)),
            _ => Err("add the number of agents, such as local:4".to_owned()),
        };
    }
    match text.split_once("://") {
        Some(("nats" | "tls", host)) if !host.is_empty() => Ok(FleetPlace::Server(text.to_owned())),
        _ => Err("write nats://HOST:4222, tls://HOST:4222, or local:N".to_owned()),
    }
}

impl FleetArgs {
    /// `None`: this machine's workers generate the load. `workers`: threads per agent, for a fleet on this machine.
    ///
    /// # Errors
    /// [`UsageError`]: the flags exclude each other.
    pub(crate) fn resolve(&self, workers: Option<u32>) -> Result<Option<FleetRun>, UsageError> {
        let policy = match self.on_agent_loss {
            OnAgentLoss::Continue => LossPolicy::Continue,
            OnAgentLoss::Stop => LossPolicy::Stop,
            OnAgentLoss::Replace => LossPolicy::Replace,
        };
        let authorities = authorities("--fleet-ca", self.fleet_ca.as_deref())?;
        let shares = shares(&self.fleet_share)?;
        let key = self.fleet_key.clone();
        Ok(match (&self.fleet, self.agents, workers) {
            (None, ..) => None,
            (Some(FleetPlace::Local(_)), Some(_), _) => {
                return Err(UsageError("--agents is for a NATS server; local:N says how many".to_owned()));
            }
            (Some(FleetPlace::Local(_)), ..) if authorities.is_some() => {
                return Err(UsageError("--fleet-ca applies to an existing NATS server; local:N starts one on loopback".to_owned()));
            }
            (Some(FleetPlace::Local(_)), ..) if !shares.is_empty() => {
                return Err(UsageError("--fleet-share selects agents by label, and the agents of local:N have none".to_owned()));
            }
            (Some(FleetPlace::Local(agents)), None, workers) => {
                let workers = workers.unwrap_or(loadstone_session::cores() / agents).max(1);
                Some(FleetRun { place: FleetPlace::Local(*agents), agents: *agents, workers, policy, authorities: None, key, shares })
            }
            (Some(FleetPlace::Server(address)), ..) if !self.insecure_bus && is_open(address) => {
                return Err(open_bus("--fleet", address));
            }
            (Some(FleetPlace::Server(_)), None, _) => {
                return Err(UsageError("--fleet: set --agents to the number that the run needs".to_owned()));
            }
            (Some(FleetPlace::Server(_)), Some(_), Some(_)) => {
                return Err(UsageError("--workers: each agent sets its own number of threads (`loadstone agent --workers`)".to_owned()));
            }
            (Some(place), Some(agents), None) => {
                Some(FleetRun { place: place.clone(), agents, workers: 0, policy, authorities, key, shares })
            }
        })
    }
}

/// How a fleet generates a run's load.
#[derive(Debug, Clone)]
pub(crate) struct FleetRun {
    place: FleetPlace,
    agents: u32,
    /// Threads per agent, for agents that this process starts.
    workers: u32,
    policy: LossPolicy,
    authorities: Option<PathBuf>,
    /// File of the controller's key. `None`: a new key.
    key: Option<PathBuf>,
    shares: Vec<LabelShare>,
}

impl FleetRun {
    /// Checks whether agents could generate the load of this test.
    ///
    /// # Errors
    /// Agents could not reach the test's proxies or name servers, a file could not be sent to them, or its secrets would cross the network unencrypted.
    pub(crate) fn check(&self, loaded: &Loaded) -> anyhow::Result<()> {
        if let (FleetPlace::Server(address), Some(refused)) = (&self.place, loaded.reachable_here_only())
            && !is_here(address)
        {
            return Err(refused.into());
        }
        if let Some(refused) = loaded.unknown_files() {
            return Err(refused.into());
        }
        let is_replay = |stage: &OpenStage| matches!(stage, OpenStage::Replay(_));
        let replays = |run: &&ScenarioRun| matches!(&run.profile, LoadProfile::Open { stages } if stages.iter().any(is_replay));
        if loaded.plan.leaves().iter().any(replays) {
            return Err(UsageError("--fleet does not replay records yet: run the test on one machine".to_owned()).into());
        }
        Ok(self.check_secrets(&loaded.plan)?)
    }

    /// Checks whether a test with this plan may be sent to the agents.
    ///
    /// # Errors
    /// Its secrets would cross the network unencrypted.
    pub(crate) fn check_secrets(&self, plan: &TestPlan) -> Result<(), UsageError> {
        match &self.place {
            FleetPlace::Server(address) if !plan.all_secrets().is_empty() && is_clear(address) => Err(UsageError(format!(
                "the test has secrets, and {} would transmit them unencrypted: use tls://, or a server on this machine",
                without_password(address)
            ))),
            _ => Ok(()),
        }
    }

    /// Runs the session's plan over the fleet.
    pub(crate) fn perform(
        &self,
        test: LedTest,
        mut session: Session,
        subscribers: &mut [&mut dyn Subscriber],
    ) -> anyhow::Result<Result<FinishedRun, SessionError>> {
        let key = key_file::read_or_generate("--fleet-key", self.key.as_deref())?;
        let local = match self.place {
            FleetPlace::Local(agents) => Some(LocalFleet::start(agents, self.workers, key.public())?),
            FleetPlace::Server(_) => None,
        };
        let address = match (&local, &self.place) {
            (Some(local), _) => local.address.clone(),
            (None, FleetPlace::Server(address)) => address.clone(),
            (None, FleetPlace::Local(_)) => String::new(),
        };
        let id = unique_id();
        let mut fleet =
            GatheredFleet::gather(&NatsServer::new(&address, self.authorities.clone()), key, &id, self.agents as usize, GATHER_TIMEOUT)?;
        if !self.shares.is_empty() {
            fleet.divide(&self.shares).map_err(|problem| UsageError(format!("--fleet-share: {problem}")))?;
        }
        let whose = if local.is_some() { " on this machine, over a nats-server started for this run:" } else { " at" };
        let workers = fleet.workers();
        // This output is optional: a closed standard error must not prevent the run.
        let _ = writeln!(std::io::stderr(), "Fleet  {} agents{whose} {} ({workers} workers)", self.agents, without_password(&address));
        let _ = writeln!(std::io::stderr(), "{}", by_label(fleet.agents()));
        session.workers = workers;
        let fleet_of_run = FleetOfRun { id: Some(id), agents: infos(&fleet) };
        let mut on_disk = OnDisk { fleet: fleet.on_disk(), reported: Vec::new() };
        let mut all: Vec<&mut dyn Subscriber> = vec![&mut on_disk];
        all.extend(subscribers.iter_mut().map(|subscriber| &mut **subscriber as &mut dyn Subscriber));
        let lead = |handle| fleet.lead(&test.sent, handle, self.policy, test.host);
        let finished = session.run_fleet(fleet_of_run, lead, &mut all);
        drop(local);
        Ok(finished)
    }
}

/// Reports to agents which seconds they need not store any more: those that are on disk when the next second arrives.
struct OnDisk {
    fleet: WrittenSeconds,
    /// For each agent, its seconds up to the last one written.
    reported: Vec<(u32, u32)>,
}

impl Subscriber for OnDisk {
    fn take(&mut self, event: &RunEvent<'_>, _requests: &mut RunRequests) -> Result<(), SubscriberError> {
        if let RunEvent::Snapshot { snapshot, .. } = event {
            self.reported.drain(..).for_each(|(agent, before)| self.fleet.written(agent, before));
            self.reported.extend(snapshot.agents.iter().filter(|agent| !agent.lost).map(|agent| (agent.agent, agent.seconds_received)));
        }
        Ok(())
    }
}

fn infos(fleet: &GatheredFleet) -> Vec<AgentInfo> {
    let mut next = 0;
    let mut infos = Vec::new();
    for agent in fleet.agents() {
        infos.push(AgentInfo {
            name: agent.name.clone(),
            hostname: agent.hostname.clone(),
            cores: agent.cores,
            first_worker: next,
            workers: agent.workers,
            labels: agent.labels.clone(),
        });
        next += agent.workers;
    }
    infos
}

/// One line per label: how many agents have each value.
fn by_label(agents: &[AgentFacts]) -> String {
    let mut labels: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (label, value) in agents.iter().flat_map(|agent| &agent.labels) {
        *labels.entry(label).or_default().entry(value).or_default() += 1;
    }
    let mut lines = String::new();
    for (label, values) in labels {
        let shown: Vec<String> = values.iter().take(LABEL_VALUES_SHOWN_MAX).map(|(value, agents)| format!("{value} {agents}")).collect();
        let more = if values.len() > LABEL_VALUES_SHOWN_MAX {
            format!(", and {} more", values.len() - LABEL_VALUES_SHOWN_MAX)
        } else {
            String::new()
        };
        lines += &format!("       {label}: {}{more}\n", shown.join(", "));
    }
    lines
}

/// Whether anybody on the network may use the server.
pub(crate) fn is_open(address: &str) -> bool {
    !is_here(address) && !address.contains('@')
}

/// The error for such a server. `flag`: the one that names it.
pub(crate) fn open_bus(flag: &str, address: &str) -> UsageError {
    UsageError(format!(
        "{flag}: {address} has no user and password, so everyone who reaches it could read tests and lead agents: use nats://USER:PASSWORD@HOST:4222 or \
         tls://…, or accept this with --insecure-bus"
    ))
}

/// Whether the server is reached over a network without TLS.
fn is_clear(address: &str) -> bool {
    !address.starts_with("tls://") && !is_here(address)
}

/// Whether the server is on this machine.
pub(crate) fn is_here(address: &str) -> bool {
    let Ok(url) = url::Url::parse(address) else { return false };
    match url.host_str().map(|host| host.trim_matches(['[', ']'])) {
        Some("localhost") => true,
        Some(host) => host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_address_is_a_server_or_a_local_number() {
        assert_eq!(parse_place("local:4"), Ok(FleetPlace::Local(4)));
        assert_eq!(parse_place("nats://h:4222"), Ok(FleetPlace::Server("nats://h:4222".to_owned())));
        for wrong in ["local", "local:", "local:0", "local:x", "http://h", "h:4222", "nats://"] {
            assert!(parse_place(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn agents_are_counted_by_label() {
        let agent = |number: usize| {
            let region = if number < 2 { "eu" } else { "us" };
            let labels = [("node".to_owned(), format!("n{number}")), ("region".to_owned(), region.to_owned())];
            AgentFacts { labels: labels.into(), ..AgentFacts::default() }
        };
        let agents: Vec<AgentFacts> = (0..8).map(agent).collect();
        assert_eq!(by_label(&agents), "       node: n0 1, n1 1, n2 1, n3 1, n4 1, n5 1, and 2 more\n       region: eu 2, us 6\n");
        assert_eq!(by_label(&[AgentFacts::default()]), "");
    }

    #[test]
    fn secrets_are_sent_unencrypted_only_to_this_machine() {
        for (address, clear) in [
            ("nats://127.0.0.1:1", false),
            ("nats://localhost:1", false),
            ("nats://[::1]:1", false),
            ("tls://h:1", false),
            ("nats://h:1", true),
        ] {
            assert_eq!(is_clear(address), clear, "{address}");
        }
    }

    #[test]
    fn a_server_on_the_network_needs_a_user() {
        for (address, open) in [
            ("nats://h:1", true),
            ("tls://h:1", true),
            ("nats://joe:pw@h:1", false),
            ("nats://token@h:1", false),
            ("nats://127.0.0.1:1", false),
        ] {
            assert_eq!(is_open(address), open, "{address}");
        }
        assert!(open_bus("--join", "nats://h:1").to_string().contains("--insecure-bus"));
    }
}
