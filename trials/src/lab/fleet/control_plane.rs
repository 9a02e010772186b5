//! The control plane: etcd, the API server, the controllers, the scheduler, and the cluster's name server, as processes of this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use checkout::process;
use serde_json::json;

use super::daemon::Daemon;
use super::network::{GATEWAY, SERVICES};
use super::programs::Programs;
use crate::lab::system::free_port;

/// Who may what in the lab's cluster, by the groups that Kubernetes itself knows. Tokens are no secrets here: nothing outside of the machine reaches it.
pub(super) const ADMIN: &str = "admin";
const MASTERS: &str = "system:masters";
const USERS: [(&str, &str); 4] =
    [(ADMIN, MASTERS), ("system:kube-controller-manager", MASTERS), ("system:kube-scheduler", ""), ("system:kube-proxy", MASTERS)];

pub(super) struct ControlPlane {
    folder: PathBuf,
    server: String,
    /// Ended from the last to the first.
    daemons: Vec<Daemon>,
}

pub(super) fn node_user(node: &str) -> String {
    format!("system:node:{node}")
}

impl ControlPlane {
    /// Starts it; `nodes`: names of the nodes that will join.
    pub(super) fn start(programs: &Programs, folder: &Path, logs: &Path, nodes: &[String]) -> Result<Self> {
        let keys = folder.join("keys");
        fs::create_dir_all(&keys)?;
        let key = keys.join("accounts.key");
        process::run_aside(Command::new("openssl").args(["genrsa", "-out"]).arg(&key).arg("2048"))?;
        let tokens = keys.join("tokens.csv");
        fs::write(&tokens, token_lines(nodes))?;
        let (etcd, peer, port) = (free_port()?, free_port()?, free_port()?);
        let mut plane = Self { folder: keys.clone(), server: format!("https://{GATEWAY}:{port}"), daemons: Vec::new() };
        plane.start_etcd(folder, logs, etcd, peer)?;
        let mut server = Command::new(programs.path("kube-apiserver"));
        server.arg(format!("--etcd-servers=http://127.0.0.1:{etcd}")).arg(format!("--bind-address={GATEWAY}"));
        server
            .arg(format!("--advertise-address={GATEWAY}"))
            .arg(format!("--secure-port={port}"))
            .arg(format!("--cert-dir={}", keys.display()));
        server.arg(format!("--service-cluster-ip-range={SERVICES}")).arg(format!("--token-auth-file={}", tokens.display()));
        server.args([
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--service-account-issuer=https://lab",
        ]);
        server.arg(format!("--service-account-key-file={}", key.display()));
        server.arg(format!("--service-account-signing-key-file={}", key.display()));
        server.arg("--kubelet-preferred-address-types=InternalIP");
        // So that pods know the region of their node, as from Kubernetes 1.35 on.
        server.arg("--feature-gates=PodTopologyLabelsAdmission=true");
        let mut server = Daemon::start("kube-apiserver", &mut server, logs)?;
        let ready = plane.kubectl(programs, &["get", "--raw", "/readyz"])?;
        server.wait("ready", 120, || process::attempt(&mut ready_again(&ready)).is_some())?;
        plane.daemons.push(server);
        let mut controllers = Command::new(programs.path("kube-controller-manager"));
        controllers.arg(format!("--kubeconfig={}", plane.kubeconfig("system:kube-controller-manager")?.display()));
        controllers.arg(format!("--service-account-private-key-file={}", key.display()));
        controllers.arg(format!("--root-ca-file={}", keys.join("apiserver.crt").display()));
        controllers.args(["--leader-elect=false", "--secure-port=0"]);
        plane.daemons.push(Daemon::start("kube-controller-manager", &mut controllers, logs)?);
        let mut scheduler = Command::new(programs.path("kube-scheduler"));
        scheduler.arg(format!("--kubeconfig={}", plane.kubeconfig("system:kube-scheduler")?.display()));
        scheduler.args(["--leader-elect=false", "--secure-port=0"]);
        plane.daemons.push(Daemon::start("kube-scheduler", &mut scheduler, logs)?);
        plane.start_name_server(programs, folder, logs)?;
        Ok(plane)
    }

    fn start_etcd(&mut self, folder: &Path, logs: &Path, port: u16, peer: u16) -> Result<()> {
        let mut etcd = Command::new("etcd");
        etcd.arg("--data-dir").arg(folder.join("etcd"));
        for (flag, port) in [("client", port), ("peer", peer)] {
            etcd.arg(format!("--listen-{flag}-urls=http://127.0.0.1:{port}"));
        }
        etcd.arg(format!("--advertise-client-urls=http://127.0.0.1:{port}"))
            .arg(format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"));
        etcd.arg(format!("--initial-cluster=default=http://127.0.0.1:{peer}"));
        // What a power failure takes does not matter here.
        etcd.arg("--unsafe-no-fsync");
        let mut etcd = Daemon::start("etcd", &mut etcd, logs)?;
        etcd.wait("listening", 30, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        self.daemons.push(etcd);
        Ok(())
    }

    /// CoreDNS, as in most clusters, but not in a pod.
    fn start_name_server(&mut self, programs: &Programs, folder: &Path, logs: &Path) -> Result<()> {
        let file = folder.join("Corefile");
        let kubeconfig = self.kubeconfig(ADMIN)?;
        let settings = format!(
            "cluster.local:53 {{\n  bind {GATEWAY}\n  errors\n  kubernetes cluster.local {{\n    kubeconfig {}\n  }}\n}}\n",
            kubeconfig.display()
        );
        fs::write(&file, settings)?;
        self.daemons.push(Daemon::start("dns", Command::new(programs.path("dns")).arg("-conf").arg(&file), logs)?);
        Ok(())
    }

    /// How a user reaches the server, as a file.
    pub(super) fn kubeconfig(&self, user: &str) -> Result<PathBuf> {
        let file = self.folder.join(format!("{}.json", user.replace(':', "-")));
        // Never rewritten: another process that reads it meanwhile would find it empty.
        if file.exists() {
            return Ok(file);
        }
        let cluster = json!({ "server": self.server, "insecure-skip-tls-verify": true });
        let context = json!({ "cluster": "lab", "user": user, "namespace": "default" });
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{ "name": "lab", "cluster": cluster }],
            "users": [{ "name": user, "user": { "token": token(user) } }],
            "contexts": [{ "name": "lab", "context": context }],
        });
        fs::write(&file, config.to_string())?;
        Ok(file)
    }

    /// A call of kubectl as the administrator.
    pub(super) fn kubectl(&self, programs: &Programs, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(programs.path("kubectl"));
        command.env("KUBECONFIG", self.kubeconfig(ADMIN)?).args(arguments);
        Ok(command)
    }

    /// # Errors
    /// A part of it has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        self.daemons.iter_mut().try_for_each(Daemon::check)
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        while self.daemons.pop().is_some() {}
    }
}

/// A command can be given once only.
fn ready_again(of: &Command) -> Command {
    let mut command = Command::new(of.get_program());
    command.args(of.get_args()).envs(of.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn token(user: &str) -> String {
    format!("lab-{}", user.replace(':', "-"))
}

/// As `--token-auth-file` reads them: token, user, id, groups.
fn token_lines(nodes: &[String]) -> String {
    let users = USERS.iter().map(|(user, group)| ((*user).to_owned(), *group));
    let nodes = nodes.iter().map(|node| (node_user(node), "system:nodes"));
    users.chain(nodes).map(|(user, group)| format!("{},{user},{user},\"{group}\"\n", token(&user))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_a_user_of_its_own() {
        let lines = token_lines(&["node-1".to_owned()]);
        assert!(lines.contains("lab-system-node-node-1,system:node:node-1,system:node:node-1,\"system:nodes\"\n"), "{lines}");
        assert!(lines.starts_with("lab-admin,admin,admin,\"system:masters\"\n"), "{lines}");
    }
}
