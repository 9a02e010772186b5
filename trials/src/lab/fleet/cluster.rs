//! A whole cluster on this machine, and how nothing of it stays.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use checkout::process;
use serde_json::Value;

use super::control_plane::{ADMIN, ControlPlane};
use super::daemon::STEP;
use super::node::{self, GROUP, Node};
use super::programs::Programs;
use super::{images, network};

/// Each has the machine's cores, and takes pods that ask for as many: without one of them, four agents and NATS still have room on two cores each.
pub(super) const NODES: usize = 4;
/// The namespace of the fleet, which enforces the strictest of Kubernetes' pod security standards.
pub(super) const NAMESPACE: &str = "load";

pub(super) struct Cluster {
    programs: Programs,
    plane: ControlPlane,
    nodes: Vec<Node>,
    /// First on the search path of Loadstone: with `kubectl` and nothing else.
    path: PathBuf,
    _lock: File,
}

impl Cluster {
    /// Starts it. What an earlier one left behind is removed first.
    ///
    /// # Errors
    /// A program is missing or does not start; its output is in `logs`.
    pub(super) fn start(programs: Programs, binary: &Path, logs: &Path) -> Result<Self> {
        if process::output(Command::new("id").arg("-u"))?.trim() != "0" {
            bail!("this lab needs root: kubelets create control groups, and each node has a network namespace");
        }
        let folder = folder();
        let lock = File::create(std::env::temp_dir().join(format!("{GROUP}.lock")))?;
        if lock.try_lock().is_err() {
            bail!("another `cargo xtask lab fleet` runs on this machine");
        }
        clean(&folder);
        let _ = fs::remove_dir_all(logs);
        fs::create_dir_all(&folder)?;
        network::up(NODES)?;
        let cluster = Self::build(programs, binary, &folder, logs, lock);
        if cluster.is_err() {
            clean(&folder);
        }
        cluster
    }

    fn build(programs: Programs, binary: &Path, folder: &Path, logs: &Path, lock: File) -> Result<Self> {
        let mut nodes = (1..=NODES).map(|number| Node::start(number, folder, logs)).collect::<Result<Vec<_>>>()?;
        images::bring(&programs, binary, folder, &nodes)?;
        let names: Vec<String> = (1..=NODES).map(node::name).collect();
        let plane = ControlPlane::start(&programs, folder, logs, &names)?;
        nodes.iter_mut().try_for_each(|node| node.join(&programs, &plane, logs))?;
        let path = search_path(folder);
        fs::create_dir_all(&path)?;
        symlink(programs.path("kubectl"), path.join("kubectl"))?;
        let mut cluster = Self { programs, plane, nodes, path, _lock: lock };
        cluster.wait("all nodes to be ready", 180, |cluster| Ok(cluster.ready_nodes()? == NODES))?;
        cluster.kubectl(&["create", "namespace", NAMESPACE])?;
        cluster.kubectl(&["label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted"])?;
        Ok(cluster)
    }

    fn ready_nodes(&self) -> Result<usize> {
        let nodes = self.get(&["nodes"])?;
        let is_ready = |node: &&Value| {
            let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
            conditions.clone().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
        };
        Ok(nodes["items"].as_array().into_iter().flatten().filter(is_ready).count())
    }

    /// Waits for something, no longer than so many seconds and as long as every part of the cluster runs. How long it took, seconds.
    pub(super) fn wait(&mut self, what: &str, seconds: u32, mut is_true: impl FnMut(&Self) -> Result<bool>) -> Result<f64> {
        let began = std::time::SystemTime::now();
        loop {
            self.plane.check()?;
            self.nodes.iter_mut().try_for_each(Node::check)?;
            if is_true(self)? {
                return Ok(began.elapsed()?.as_secs_f64());
            }
            if began.elapsed()? > Duration::from_secs(seconds.into()) {
                bail!("waited {seconds} s for {what}, in vain");
            }
            thread::sleep(STEP);
        }
    }

    /// What a call of kubectl prints.
    pub(super) fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        process::output(&mut self.plane.kubectl(&self.programs, arguments)?)
    }

    /// `kubectl get … -o json`
    pub(super) fn get(&self, what: &[&str]) -> Result<Value> {
        let arguments: Vec<&str> = ["get"].iter().chain(what).chain(&["-o", "json"]).copied().collect();
        serde_json::from_str(&self.kubectl(&arguments)?).context("what kubectl printed")
    }

    /// The same, within the fleet's namespace.
    pub(super) fn get_here(&self, what: &[&str]) -> Result<Value> {
        self.get(&[&["--namespace", NAMESPACE], what].concat())
    }

    /// A command of Loadstone, or of a user's shell, for whom this is the cluster.
    pub(super) fn with_access(&self, mut command: Command) -> Result<Command> {
        let others = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{others}", self.path.display())).env("KUBECONFIG", self.plane.kubeconfig(ADMIN)?);
        Ok(command)
    }

    /// How the administrator reaches it.
    pub(super) fn kubeconfig(&self) -> Result<PathBuf> {
        self.plane.kubeconfig(ADMIN)
    }

    /// Sends a signal to the first container of a pod.
    pub(super) fn signal_container(&self, pod: &Value, signal: &str) -> Result<()> {
        let id = pod["status"]["containerStatuses"][0]["containerID"].as_str().unwrap_or_default();
        let id = id.strip_prefix("containerd://").context("the pod has no container")?;
        let node = self.node(pod["spec"]["nodeName"].as_str().unwrap_or_default())?;
        process::run_aside(node.ctr().args(["tasks", "kill", "--signal", signal, id]))
    }

    fn node(&self, name: &str) -> Result<&Node> {
        self.nodes.iter().find(|node| node.name() == name).with_context(|| format!("there is no node {name}"))
    }

    /// Lets a share of the packets between a node's pods and NATS be lost, in both directions.
    pub(super) fn lose_packets(&self, node: &str, share: f64) -> Result<()> {
        self.packet_rules(node, "--insert", share)
    }

    /// Takes away what [`Self::lose_packets`] did with the same share.
    pub(super) fn lose_none(&self, node: &str, share: f64) -> Result<()> {
        self.packet_rules(node, "--delete", share)
    }

    fn packet_rules(&self, node: &str, change: &str, share: f64) -> Result<()> {
        for direction in ["--dport", "--sport"] {
            let mut iptables = self.node(node)?.inside("iptables");
            iptables.args(["--wait", change, "FORWARD", "--protocol", "tcp", direction, "4222"]);
            iptables.args(["--match", "statistic", "--mode", "random", "--probability", &share.to_string(), "--jump", "DROP"]);
            process::run_aside(&mut iptables)?;
        }
        Ok(())
    }

    /// Containers on all nodes, with those that have ended and are not removed yet.
    pub(super) fn containers(&self) -> Result<usize> {
        let mut count = 0;
        for node in &self.nodes {
            count += process::output(node.ctr().args(["containers", "list", "--quiet"]))?.lines().count();
        }
        Ok(count)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Kubelets and containerds first, so that no container is started again.
        self.nodes.clear();
        clean(&folder());
    }
}

/// Always the same: what a killed lab left behind is found by it. Short, since sockets are in it.
pub(super) fn folder() -> PathBuf {
    std::env::temp_dir().join(GROUP)
}

/// Ends every process of a cluster, and takes its mounts, groups, network and files away.
fn clean(folder: &Path) {
    let groups: Vec<PathBuf> = node::control_groups().unwrap_or_default().iter().map(|of| of.join(GROUP)).collect();
    let inner: Vec<PathBuf> = groups.iter().flat_map(|group| below(group)).collect();
    // A process that restarts others has to end first. A process that forks meanwhile is found in the next round.
    for _ in 0..3 {
        kill(&processes_of(folder));
        inner.iter().for_each(|group| kill(&members(group)));
        thread::sleep(STEP);
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let ours = mounts.lines().filter_map(|line| line.split(' ').nth(1)).filter(|place| Path::new(place).starts_with(folder));
    for place in ours.collect::<Vec<_>>().into_iter().rev() {
        process::attempt(Command::new("umount").args(["--lazy", place]));
    }
    // From the innermost out: a group with children stays.
    inner.iter().rev().for_each(|group| _ = fs::remove_dir(group));
    network::down();
    if let Err(error) = fs::remove_dir_all(folder)
        && error.kind() != io::ErrorKind::NotFound
    {
        eprintln!("{} stays: {error}", folder.display());
    }
    // Links of the kubelet's to logs that were in the folder.
    for link in fs::read_dir("/var/log/containers").into_iter().flatten().flatten() {
        if fs::read_link(link.path()).is_ok_and(|to| to.starts_with(folder)) {
            let _ = fs::remove_file(link.path());
        }
    }
}

/// A folder and all folders in it, parents first.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut all = if folder.is_dir() { vec![folder.to_owned()] } else { Vec::new() };
    let mut next = 0;
    while next < all.len() {
        let entries = fs::read_dir(&all[next]).into_iter().flatten().flatten();
        all.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>());
        next += 1;
    }
    all
}

/// Processes in a control group.
fn members(group: &Path) -> Vec<i32> {
    let listed = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    listed.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Where commands of the lab's user find `kubectl`.
fn search_path(folder: &Path) -> PathBuf {
    folder.join("path")
}

/// Processes that were started with something of this folder as an argument, and those of the lab's user, whose search path begins in it.
fn processes_of(folder: &Path) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let of_process = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
        if is_of(folder, &of_process("cmdline"), &of_process("environ")) && u32::try_from(pid) != Ok(std::process::id()) {
            found.push(pid);
        }
    }
    found
}

/// Of a process: its arguments, and the variables that it was started with, as /proc has them.
fn is_of(folder: &Path, arguments: &[u8], variables: &[u8]) -> bool {
    let words = |bytes: &[u8]| bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>();
    let (inside, path) = (format!("{}/", folder.display()), format!("PATH={}:", search_path(folder).display()));
    words(arguments).iter().any(|word| word.contains(&inside)) || words(variables).iter().any(|word| word.starts_with(&path))
}

fn kill(pids: &[i32]) {
    for pid in pids {
        // SAFETY: a plain system call; the numbers were read just now, of processes that are ours.
        unsafe { libc::kill(*pid, libc::SIGKILL) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_of_a_killed_lab_are_recognised() {
        let folder = Path::new("/tmp/lab");
        let nginx = b"nginx: master process nginx -p /tmp/lab/target -c /tmp/lab/target/nginx.conf\0";
        assert!(is_of(folder, nginx, b"") && is_of(folder, b"etcd\0--data-dir\0/tmp/lab/etcd\0", b""));
        assert!(is_of(folder, b"sh\0-c\0while :; do kubectl port-forward; done\0", b"HOME=/\0PATH=/tmp/lab/path:/bin\0"));
        assert!(!is_of(folder, b"etcd\0--data-dir\0/tmp/lab-2/etcd\0", b"PATH=/bin:/tmp/lab/path:\0KUBECONFIG=/tmp/lab/keys/admin.json\0"));
    }
}
