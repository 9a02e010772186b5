//! The cluster's network: a bridge, and a network namespace for each node. Pods have addresses of their nodes' networks, which every namespace has
//! routes to. Nothing of the machine's own network is changed, and all of it is named so that what a killed lab left behind is found again.

use std::process::Command;

use anyhow::Result;
use checkout::process;

const BRIDGE: &str = "lsfleet";
/// The machine's own address on the bridge, where the control plane listens, the name server and the target.
pub(super) const GATEWAY: &str = "10.231.0.1";
/// Addresses of services, and the one of the name server among pods' settings.
pub(super) const SERVICES: &str = "10.232.0.0/16";
/// Addresses of all pods.
pub(super) const PODS: &str = "10.233.0.0/16";

pub(super) fn namespace(node: usize) -> String {
    format!("{BRIDGE}-{node}")
}

pub(super) fn address(node: usize) -> String {
    format!("10.231.0.{}", 10 + node)
}

/// The pods of a node.
pub(super) fn pods(node: usize) -> String {
    format!("10.233.{node}.0/24")
}

/// A command inside a node's namespace. Not `ip netns exec`, which hides the control groups.
pub(super) fn inside(node: usize, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{}", namespace(node))).arg("--").arg(program);
    command
}

/// Makes it for nodes 1 to `nodes`.
pub(super) fn up(nodes: usize) -> Result<()> {
    ip(&format!("link add {BRIDGE} type bridge"))?;
    ip(&format!("address add {GATEWAY}/24 dev {BRIDGE}"))?;
    ip(&format!("link set {BRIDGE} up"))?;
    for node in 1..=nodes {
        let (name, outside) = (namespace(node), format!("{BRIDGE}v{node}"));
        ip(&format!("netns add {name}"))?;
        ip(&format!("link add {outside} type veth peer name eth0 netns {name}"))?;
        ip(&format!("link set {outside} master {BRIDGE} up"))?;
        ip(&format!("-n {name} address add {}/24 dev eth0", address(node)))?;
        ip(&format!("-n {name} link set eth0 up"))?;
        ip(&format!("-n {name} link set lo up"))?;
        ip(&format!("-n {name} route add default via {GATEWAY}"))?;
        for other in (1..=nodes).filter(|other| *other != node) {
            ip(&format!("-n {name} route add {} via {}", pods(other), address(other)))?;
        }
        ip(&format!("route add {} via {}", pods(node), address(node)))?;
        process::run_aside(inside(node, "sh").args(["-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]))?;
    }
    Ok(())
}

/// Takes away whatever there is of it.
pub(super) fn down() {
    let listed = process::attempt(Command::new("ip").args(["netns", "list"])).unwrap_or_default();
    let ours = listed.lines().filter_map(|line| line.split_whitespace().next()).filter(|name| name.starts_with(&format!("{BRIDGE}-")));
    for name in ours {
        // With it go its end of the pair, and so the other.
        process::attempt(Command::new("ip").args(["netns", "delete", name]));
    }
    process::attempt(Command::new("ip").args(["link", "delete", BRIDGE]));
}

fn ip(arguments: &str) -> Result<()> {
    process::run_aside(Command::new("ip").args(arguments.split(' ')))
}
