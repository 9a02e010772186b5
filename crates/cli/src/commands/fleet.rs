//! `loadstone fleet`: agents in a Kubernetes cluster, and recovery of the seconds that agents stored.

mod collect;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use loadstone_fleet::PublicFleetKey;

use self::collect::CollectArgs;
use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::fleet::kubernetes::{FleetInCluster, FleetState, KINDS, Kubectl, NatsElsewhere, yaml};
use crate::fleet::{authorities, key_file, parse_address, parse_label};

#[derive(Debug, Args)]
pub(crate) struct FleetCommandArgs {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    /// Start agents in a cluster, with a dedicated NATS server.
    Up(UpArgs),
    /// Show whether all agents are ready.
    Status(ClusterArgs),
    /// Delete the objects that `fleet up` created.
    Down(ClusterArgs),
    /// Create a key for controllers, and print its public key for `loadstone agent --controller-key`.
    Key(KeyArgs),
    /// Complete a run whose controller was killed, from the data that its agents stored.
    Collect(CollectArgs),
}

/// Where a new key is written.
#[derive(Debug, Args)]
struct KeyArgs {
    /// File for the private key, which must not exist.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Selects a fleet in a cluster.
#[derive(Debug, Args)]
struct ClusterArgs {
    /// Use the cluster that kubectl is configured for.
    #[arg(long, required = true)]
    kubernetes: bool,
    /// Namespace, which must exist.  [default: the namespace of kubectl's context]
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    namespace: Option<String>,
    /// Context of kubectl.  [default: the current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Name of the fleet. Each fleet in a namespace needs a different name.
    #[arg(long, value_name = "NAME", default_value = "loadstone", value_parser = parse_name)]
    name: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  loadstone fleet up --kubernetes --image registry.example.com/loadstone:0.1.0 --agents 8
  loadstone fleet status --kubernetes
  loadstone fleet up --kubernetes --agents 8 --dry-run | kubectl apply --dry-run=server -f -")]
struct UpArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Number of agents, one per pod.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    agents: u32,
    /// Image of Loadstone in this version, from a registry that the cluster can pull from.
    #[arg(long, value_name = "IMAGE", default_value = concat!("loadstone:", env!("CARGO_PKG_VERSION")))]
    image: String,
    /// Cores per agent (request and limit). Each agent has as many workers.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    cores: u32,
    /// Memory per agent (request and limit).
    #[arg(long, value_name = "QUANTITY", default_value = "1Gi", value_parser = parse_memory)]
    memory: String,
    /// Node selector for the agents. Can be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    node_selector: Vec<(String, String)>,
    /// Label of the agents, such as region=eu. Can be repeated.  [default: node, and region and zone where known]
    #[arg(long = "label", visible_alias = "labels", value_name = "KEY=VALUE", value_parser = parse_label)]
    labels: Vec<(String, String)>,
    /// Network that agents may reach in addition to NATS and name servers, such as 10.0.0.0/8. Can be repeated.  [default: all]
    #[arg(long, value_name = "CIDR", value_parser = parse_network)]
    egress: Vec<String>,
    /// Existing NATS server for the agents, instead of a dedicated one: tls://USER:PASSWORD@HOST:4222.
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    nats: Option<String>,
    /// Certificates (PEM) of the authorities that the NATS server is verified with.  [default: those of the image]
    #[arg(long, value_name = "FILE", requires = "nats")]
    nats_ca: Option<PathBuf>,
    /// Public key of a controller that may lead the agents, as `loadstone fleet key FILE` prints it. Can be repeated.  [default: every controller with the
    /// fleet's password]
    #[arg(long = "controller-key", value_name = "KEY", value_delimiter = ',')]
    controllers: Vec<PublicFleetKey>,
    /// Print the objects as YAML and change nothing. The output contains new passwords.
    #[arg(long)]
    dry_run: bool,
}

impl FleetCommandArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        match &self.command {
            FleetCommand::Up(up) => up.perform(),
            FleetCommand::Status(cluster) => cluster.status(),
            FleetCommand::Down(cluster) => cluster.down(),
            FleetCommand::Key(key) => {
                writeln!(std::io::stdout(), "{}", key_file::create(&key.file)?)?;
                Ok(Exit::Passed)
            }
            FleetCommand::Collect(collect) => collect.perform(),
        }
    }
}

impl ClusterArgs {
    fn kubectl(&self) -> Kubectl {
        Kubectl { context: self.context.clone(), namespace: self.namespace.clone() }
    }

    /// A command line that selects the same fleet, for messages.
    fn hint(&self, command: &str) -> String {
        let mut line = format!("loadstone fleet {command} --kubernetes");
        let name = Some(&self.name).filter(|name| *name != "loadstone");
        for (flag, value) in [("--namespace", self.namespace.as_ref()), ("--context", self.context.as_ref()), ("--name", name)] {
            line += &value.map(|value| format!(" {flag} {value}")).unwrap_or_default();
        }
        line
    }

    fn state(&self) -> anyhow::Result<FleetState> {
        let selector = FleetInCluster::selector(&self.name);
        Ok(FleetState::of(&self.kubectl().json(&["get", "job,deployment,pod", "-l", &selector, "-o", "json"])?))
    }

    fn status(&self) -> anyhow::Result<Exit> {
        let state = self.state()?;
        if !state.exists() {
            return Err(UsageError(format!("there is no fleet {} here: `{}` creates one", self.name, self.hint("up"))).into());
        }
        write!(std::io::stdout(), "{}", state.text(&self.name))?;
        Ok(if state.is_ready() { Exit::Passed } else { Exit::ThresholdsFailed })
    }

    fn down(&self) -> anyhow::Result<Exit> {
        let selector = FleetInCluster::selector(&self.name);
        // Pods are deleted too, so no load is generated after this returns.
        let deletion = ["delete", KINDS, "-l", &selector, "--cascade=foreground", "--wait", "--timeout=120s"];
        let deleted = self.kubectl().call(&deletion, "")?;
        let message = if deleted.trim().is_empty() { format!("There is no fleet {} here.\n", self.name) } else { deleted };
        write!(std::io::stdout(), "{message}")?;
        Ok(Exit::Passed)
    }
}

impl UpArgs {
    fn perform(&self) -> anyhow::Result<Exit> {
        let fleet = self.fleet()?;
        let yaml = yaml(&fleet.objects()?)?;
        if self.dry_run {
            write!(std::io::stdout(), "{yaml}")?;
            return Ok(Exit::Passed);
        }
        if self.cluster.state()?.exists() {
            let name = &self.cluster.name;
            let down = self.cluster.hint("down");
            return Err(
                UsageError(format!("there is already a fleet {name}: delete it with `{down}`, or choose a different --name")).into()
            );
        }
        // Server-side apply: client-side apply would store the passwords in an annotation as well.
        let applied = self.cluster.kubectl().call(&["apply", "--server-side", "--field-manager=loadstone", "-f", "-"], &yaml);
        let applied =
            applied.with_context(|| format!("some objects were not created; `{}` deletes the others", self.cluster.hint("down")))?;
        write!(std::io::stdout(), "{applied}\n{}", self.next_steps(&fleet))?;
        Ok(Exit::Passed)
    }

    fn fleet(&self) -> anyhow::Result<FleetInCluster> {
        let authorities = authorities("--nats-ca", self.nats_ca.as_deref())?.map(std::fs::read_to_string).transpose()?;
        Ok(FleetInCluster {
            name: self.cluster.name.clone(),
            namespace: self.cluster.namespace.clone(),
            image: self.image.clone(),
            agents: self.agents,
            cores: self.cores,
            memory: self.memory.clone(),
            node_selector: self.node_selector.clone(),
            labels: self.labels.clone(),
            egress: self.egress.clone(),
            nats: self.nats.clone().map(|address| NatsElsewhere { address, authorities }),
            controllers: self.controllers.clone(),
        })
    }

    /// The `loadstone run` command for these agents. It reads passwords from the cluster when needed, and never shows them.
    fn next_steps(&self, fleet: &FleetInCluster) -> String {
        let (kubectl, agents) = (self.cluster.kubectl().shown(), self.agents);
        let key = if self.controllers.is_empty() { "" } else { " --fleet-key FILE" };
        let status = format!("When `{}` reports that all are ready:\n\n", self.cluster.hint("status"));
        if let Some(nats) = &fleet.nats {
            let address = loadstone_fleet::without_password(&nats.address);
            return format!("{status}  loadstone run TEST.load.ts --fleet {address} --agents {agents}{key}\n");
        }
        let (secret, service) = (fleet.secret_name(), fleet.nats_name());
        format!(
            "{status}  {kubectl} port-forward service/{service} 4222 &\n  \
             {kubectl} get secret {secret} -o go-template='{{{{index .data \"ca.crt\" | base64decode}}}}' > fleet-ca.crt\n  \
             loadstone run TEST.load.ts --agents {agents}{key} --fleet-ca fleet-ca.crt \\\n    \
             --fleet \"$({kubectl} get secret {secret} -o go-template='{{{{.data.controller | base64decode}}}}')\"\n"
        )
    }
}

/// A valid Kubernetes name (RFC 1123), with room for suffixes.
fn parse_name(text: &str) -> Result<String, String> {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_name = text.len() <= 40 && text.bytes().all(is_inner) && text.starts_with(|first: char| first.is_ascii_lowercase());
    if is_name && !text.ends_with('-') {
        return Ok(text.to_owned());
    }
    Err("write up to 40 lower-case letters, digits and hyphens, a letter first".to_owned())
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE, such as pool=load".to_owned()),
    }
}

/// A quantity with a unit: Kubernetes counts bytes if there is none.
fn parse_memory(text: &str) -> Result<String, String> {
    let digits = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    let is_number = digits.parse::<u32>().is_ok_and(|number| number > 0);
    if is_number && ["Mi", "Gi", "M", "G"].contains(&&text[digits.len()..]) {
        return Ok(text.to_owned());
    }
    Err("write a quantity of Kubernetes, such as 512Mi or 2Gi".to_owned())
}

fn parse_network(text: &str) -> Result<String, String> {
    let wrong = || "write a network with its prefix, such as 10.0.0.0/8 or 192.0.2.7/32".to_owned();
    let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
    let address: std::net::IpAddr = address.parse().map_err(|_| wrong())?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    prefix.parse::<u8>().ok().filter(|prefix| *prefix <= bits).ok_or_else(wrong)?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_kubernetes_would_refuse_are_refused() {
        for good in ["loadstone", "a", "eu-west-1"] {
            assert!(parse_name(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "1a", "a.b", "a_b", &"a".repeat(41)] {
            assert!(parse_name(bad).is_err(), "{bad}");
        }
        assert!(["1Gi", "512Mi", "2G"].into_iter().all(|good| parse_memory(good).is_ok()));
        assert!(["", "Gi", "1", "0Gi", "1gi", "-1Gi", "1.5Gi", "1 Gi"].into_iter().all(|bad| parse_memory(bad).is_err()));
        assert!(["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"].into_iter().all(|good| parse_network(good).is_ok()));
        assert!(["10.0.0.0", "10.0.0.0/33", "host/8", "10.0.0/8", "/8"].into_iter().all(|bad| parse_network(bad).is_err()));
        assert!(parse_pair("a=").is_err() && parse_pair("=b").is_err() && parse_pair("a").is_err() && parse_pair("a=b=c").is_ok());
    }
}
