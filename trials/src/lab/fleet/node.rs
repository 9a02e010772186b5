//! A node: containerd, kubelet and kube-proxy in a network namespace. All nodes have the machine's cores, so a cluster has more of them
//! than there are: enough for pods that ask for whole cores.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use checkout::process;
use serde_json::{Value, json};

use super::control_plane::{ControlPlane, node_user};
use super::daemon::Daemon;
use super::network::{self, GATEWAY, PODS};
use super::programs::{CNI, Programs};

/// Above the control groups of all pods.
pub(super) const GROUP: &str = "loadstone-fleet-lab";
/// The image that holds a pod's namespaces.
pub(super) const PAUSE: &str = "lab.loadstone.example/pause:1";

pub(super) struct Node {
    number: usize,
    folder: PathBuf,
    /// Ended from the last to the first.
    daemons: Vec<Daemon>,
}

pub(super) fn name(number: usize) -> String {
    format!("node-{number}")
}

impl Node {
    /// Starts containerd, so that images can be brought in.
    pub(super) fn start(number: usize, folder: &Path, logs: &Path) -> Result<Self> {
        let folder = folder.join(name(number));
        fs::create_dir_all(folder.join("cni"))?;
        fs::write(folder.join("cni/pods.conflist"), pod_network(number, &folder).to_string())?;
        fs::write(folder.join("containerd.toml"), containerd(&folder))?;
        let mut command = network::inside(number, "containerd");
        let mut containerd =
            Daemon::start(&format!("{}-containerd", name(number)), command.arg("--config").arg(folder.join("containerd.toml")), logs)?;
        let mut node = Self { number, folder, daemons: Vec::new() };
        containerd.wait("listening", 30, || process::attempt(node.ctr().arg("version")).is_some())?;
        node.daemons.push(containerd);
        Ok(node)
    }

    pub(super) fn name(&self) -> String {
        name(self.number)
    }

    /// A command in its network namespace.
    pub(super) fn inside(&self, program: &str) -> Command {
        network::inside(self.number, program)
    }

    /// A call of containerd, where the kubelet's images and containers are.
    pub(super) fn ctr(&self) -> Command {
        let mut ctr = Command::new("ctr");
        ctr.arg("--address").arg(self.socket()).args(["--namespace", "k8s.io"]);
        ctr
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("containerd.sock")
    }

    /// Lets it join the cluster.
    pub(super) fn join(&mut self, programs: &Programs, plane: &ControlPlane, logs: &Path) -> Result<()> {
        let (number, name) = (self.number, name(self.number));
        for controller in control_groups()? {
            fs::create_dir_all(controller.join(GROUP).join(&name))?;
        }
        let (settings, resolver) = (self.folder.join("kubelet.json"), self.folder.join("resolv.conf"));
        // Names outside of the cluster are none of the lab's.
        fs::write(&resolver, "")?;
        fs::write(&settings, self.kubelet(&resolver).to_string())?;
        let mut kubelet = network::inside(number, programs.path("kubelet"));
        kubelet.arg("--config").arg(&settings).arg("--kubeconfig").arg(plane.kubeconfig(&node_user(&name))?);
        kubelet.arg(format!("--hostname-override={name}")).arg(format!("--node-ip={}", network::address(number)));
        kubelet.arg(format!("--root-dir={}", self.folder.join("kubelet").display()));
        let region = if number == 1 { "eu" } else { "us" };
        kubelet.arg(format!("--node-labels=topology.kubernetes.io/region={region}"));
        self.daemons.push(Daemon::start(&format!("{name}-kubelet"), &mut kubelet, logs)?);
        let settings = self.folder.join("kube-proxy.json");
        fs::write(&settings, kube_proxy(&name, &plane.kubeconfig("system:kube-proxy")?).to_string())?;
        let mut proxy = network::inside(number, programs.path("kube-proxy"));
        self.daemons.push(Daemon::start(&format!("{name}-kube-proxy"), proxy.arg("--config").arg(&settings), logs)?);
        Ok(())
    }

    fn kubelet(&self, resolver: &Path) -> Value {
        json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "authentication": { "anonymous": { "enabled": true }, "webhook": { "enabled": false } },
            "authorization": { "mode": "AlwaysAllow" },
            "cgroupDriver": "cgroupfs", "cgroupRoot": format!("/{GROUP}/{}", name(self.number)), "enforceNodeAllocatable": ["none"],
            // Until 1.35 a warning; from then on an error without this setting.
            "failCgroupV1": false,
            "failSwapOn": false,
            "containerRuntimeEndpoint": format!("unix://{}", self.socket().display()),
            "clusterDNS": [GATEWAY], "clusterDomain": "cluster.local", "resolvConf": resolver,
            "podLogsDir": self.folder.join("logs"), "volumePluginDir": self.folder.join("plugins"),
            "makeIPTablesUtilChains": false,
            // Disk and memory are the machine's, which the lab does not own.
            "evictionHard": { "memory.available": "100Mi" }, "imageGCHighThresholdPercent": 100, "imageMinimumGCAge": "24h",
            "nodeStatusUpdateFrequency": "4s",
        })
    }

    /// # Errors
    /// A part of it has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        self.daemons.iter_mut().try_for_each(Daemon::check)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        while self.daemons.pop().is_some() {}
    }
}

/// The hierarchies of control groups, the first version's or the second's.
pub(super) fn control_groups() -> Result<Vec<PathBuf>> {
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let of_kind = |kind: &str| -> Vec<PathBuf> {
        let lines = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        lines.filter(|words| words.get(2) == Some(&kind)).filter_map(|words| words.get(1).map(PathBuf::from)).collect()
    };
    let first = of_kind("cgroup");
    Ok(if first.is_empty() { of_kind("cgroup2") } else { first })
}

/// Everything of containerd that would be the machine's own otherwise is in its folder.
fn containerd(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        r#"version = 2
root = "{folder}/containerd"
state = "{folder}/run"
[grpc]
  address = "{folder}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  netns_mounts_under_state_dir = true
  # Where the lab may not lower it, containers that ask for less could not start.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = "{folder}/runc"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI}"
    conf_dir = "{folder}/cni"
"#
    )
}

/// A pair of interfaces for each pod, and routes: without a bridge, pods of one node reach services as others do.
fn pod_network(number: usize, folder: &Path) -> Value {
    let addresses = json!({
        "type": "host-local", "subnet": network::pods(number), "dataDir": folder.join("addresses"), "routes": [{ "dst": "0.0.0.0/0" }],
    });
    json!({ "cniVersion": "0.4.0", "name": "pods", "plugins": [{ "type": "ptp", "ipMasq": false, "ipam": addresses }] })
}

fn kube_proxy(node: &str, kubeconfig: &Path) -> Value {
    json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
        "clientConnection": { "kubeconfig": kubeconfig }, "hostnameOverride": node, "mode": "iptables", "clusterCIDR": PODS,
        // Limits of the whole machine, which a network namespace cannot set.
        "conntrack": { "maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s" },
    })
}
