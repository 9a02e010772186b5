//! A fleet on this machine: a `nats-server` and agents as child processes. All of them end with this process, however it ends.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;

use crate::command_run::scratch_folder;
use crate::exit::UsageError;

/// Runs the program that follows, and kills it when the pipe on standard input closes.
const RUN_UNTIL_PIPE_CLOSES: &str = "\"$@\" & child=$!; read -r end; kill $child; wait $child";
/// Time limit for the server to report its address.
const START_ATTEMPTS_MAX: u32 = 100;
const START_POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) struct LocalFleet {
    pub(super) address: String,
    agents: Vec<Child>,
    server: Child,
    _folder: TempDir,
}

impl LocalFleet {
    /// # Errors
    /// nats-server is not installed, or a process does not start.
    pub(super) fn start(agents: u32, workers: u32) -> anyhow::Result<Self> {
        let folder = scratch_folder()?;
        let mut server = tied_to_this_process("sh");
        server.args(["-c", RUN_UNTIL_PIPE_CLOSES, "sh", "nats-server", "--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir"]);
        server.arg(folder.path()).stderr(Stdio::null());
        if !is_on_path("nats-server") {
            let remedy = "install it (Debian: apt-get install nats-server), or use an existing server with --fleet nats://HOST:4222 and start \
                          agents with `loadstone agent --join`";
            return Err(
                UsageError(format!("--fleet local needs the program nats-server, which is not on the search path: {remedy}")).into()
            );
        }
        let server = server.spawn().context("cannot start sh")?;
        let mut fleet = Self { address: String::new(), agents: Vec::new(), server, _folder: folder };
        fleet.address = fleet.listens_at()?;
        let binary = std::env::current_exe().context("cannot find this binary")?;
        for number in 1..=agents {
            let mut agent = tied_to_this_process(&binary);
            agent.args(["agent", "--quiet", "--stop-with-stdin", "--join", &fleet.address, "--name", &format!("local-{number}")]);
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
