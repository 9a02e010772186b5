//! A fleet on this machine: a `nats-server` and agents as child processes. All of them end with this process, however it ends.
//!
//! Other users of the machine can connect to the server's port. A client with access could read the test with its secrets, or lead the agents. The
//! server therefore accepts two users with passwords that only this run has, each with the subjects of its role.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use loadstone_fleet::PublicFleetKey;

use crate::exit::UsageError;
use crate::scratch::{ScratchFolder, scratch_folder};

/// Runs the program that follows, and kills it when the pipe on standard input closes.
const RUN_UNTIL_PIPE_CLOSES: &str = "\"$@\" & child=$!; read -r end; kill $child; wait $child";
/// Time limit for the server to report its address.
const START_ATTEMPTS_MAX: u32 = 100;
const START_POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) struct LocalFleet {
    pub(super) address: String,
    agents: Vec<Child>,
    server: Child,
    _folder: ScratchFolder,
}

impl LocalFleet {
    /// # Errors
    /// nats-server is not installed, or a process does not start.
    pub(super) fn start(agents: u32, workers: u32, controller: PublicFleetKey) -> anyhow::Result<Self> {
        let folder = scratch_folder()?;
        let passwords = Passwords::random().context("cannot read /dev/urandom")?;
        // Not on the command line, which other users can read. The folder is readable by this user only.
        let configuration = folder.path().join("server.conf");
        std::fs::write(&configuration, passwords.configuration()).context("cannot write the configuration of nats-server")?;
        let mut server = tied_to_this_process("sh");
        server.args(["-c", RUN_UNTIL_PIPE_CLOSES, "sh", "nats-server", "--addr", "127.0.0.1", "--port", "-1", "--config"]);
        server.arg(&configuration).arg("--ports_file_dir").arg(folder.path()).stderr(Stdio::null());
        if !is_on_path("nats-server") {
            let remedy = "install it (Debian: apt-get install nats-server), or use an existing server with --fleet nats://HOST:4222 and start \
                          agents with `loadstone agent --join`";
            return Err(
                UsageError(format!("--fleet local needs the program nats-server, which is not on the search path: {remedy}")).into()
            );
        }
        let server = server.spawn().context("cannot start sh")?;
        let mut fleet = Self { address: String::new(), agents: Vec::new(), server, _folder: folder };
        let listening = fleet.listens_at()?;
        fleet.address = with_user(&listening, CONTROLLER, &passwords.controller);
        let for_agents = with_user(&listening, AGENT, &passwords.agent);
        let binary = std::env::current_exe().context("cannot find this binary")?;
        for number in 1..=agents {
            let mut agent = tied_to_this_process(&binary);
            agent.args(["agent", "--quiet", "--stop-with-stdin", "--name", &format!("local-{number}")]);
            agent.env("LOADSTONE_FLEET", &for_agents).env("LOADSTONE_CONTROLLER_KEY", controller.to_string());
            agent.args(["--workers", &workers.to_string()]);
            fleet.agents.push(agent.spawn().context("cannot start an agent")?);
        }
        Ok(fleet)
    }

    /// The address from the file that the server writes once it listens.
    fn listens_at(&mut self) -> anyhow::Result<String> {
        for _ in 0..START_ATTEMPTS_MAX {
            let files = std::fs::read_dir(self._folder.path())?.flatten();
            let known = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
            let known = known.filter_map(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
            if let Some(address) = known.filter_map(|ports| ports["nats"][0].as_str().map(str::to_owned)).next() {
                return Ok(address);
            }
            std::thread::sleep(START_POLL_INTERVAL);
        }
        anyhow::bail!("nats-server does not report its address: try `nats-server --addr 127.0.0.1 --port -1` by hand")
    }
}

/// The users of the server.
const CONTROLLER: &str = "controller";
const AGENT: &str = "agent";

/// Of one run.
struct Passwords {
    controller: String,
    agent: String,
}

impl Passwords {
    fn random() -> io::Result<Self> {
        let mut bytes = [0; 48];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let text = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let (controller, agent) = bytes.split_at(24);
        Ok(Self { controller: text(controller), agent: text(agent) })
    }

    /// Agents announce themselves and answer; only the controller commands them.
    fn configuration(&self) -> String {
        let Self { controller, agent } = self;
        format!(
            r#"authorization {{
  users = [
    {{ user: "{CONTROLLER}", password: "{controller}", permissions: {{ publish: "loadstone.agent.>", subscribe: ["loadstone.announce", "loadstone.run.>"] }} }}
    {{ user: "{AGENT}", password: "{agent}", permissions: {{ publish: ["loadstone.announce", "loadstone.run.>"], subscribe: "loadstone.agent.>" }} }}
  ]
}}
"#
        )
    }
}

/// `nats://USER:PASSWORD@HOST:PORT`.
fn with_user(address: &str, user: &str, password: &str) -> String {
    match address.split_once("://") {
        Some((scheme, host)) => format!("{scheme}://{user}:{password}@{host}"),
        None => address.to_owned(),
    }
}

impl Drop for LocalFleet {
    fn drop(&mut self) {
        for child in self.agents.iter_mut().chain([&mut self.server]) {
            drop(child.stdin.take());
        }
        for child in self.agents.iter_mut().chain([&mut self.server]) {
            let _ = child.wait();
        }
    }
}

/// A program that ends when its pipe closes. A separate process group keeps Ctrl-C from reaching it.
fn tied_to_this_process(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
    command
}

fn is_on_path(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| Path::new(&folder).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use loadstone_fleet::{FleetKey, NatsBus, NatsServer, without_password};

    use super::*;

    #[test]
    fn only_this_runs_own_processes_may_use_its_bus() {
        // The test binary is no agent: it ends at once, which this test does not need to know.
        let key = FleetKey::generate().unwrap().public();
        let fleet = LocalFleet::start(1, 1, key).unwrap();
        let anybody = without_password(&fleet.address);
        for address in [anybody.clone(), anybody.replace("://", "://agent:guess@"), anybody.replace("://", "://agent:@")] {
            assert!(NatsBus::connect(&NatsServer::new(address.clone(), None), Vec::new()).is_err(), "{address}");
        }
        assert!(NatsBus::connect(&NatsServer::new(fleet.address.clone(), None), vec!["loadstone.announce".to_owned()]).is_ok());
        let other = LocalFleet::start(1, 1, key).unwrap();
        assert_ne!(other.address.rsplit_once('@').unwrap().0, fleet.address.rsplit_once('@').unwrap().0);
    }
}
