//! The demo's services while they run.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::services::{DemoService, FLAGD, TRACES, WITHOUT_FLAGD};

/// Time between attempts to connect to a service that starts.
const START_INTERVAL: Duration = Duration::from_millis(100);
/// A service that is not ready after a minute has failed.
const START_ATTEMPTS_MAX: u32 = 600;
/// Time for the services to connect to flagd and to the database after all of them listen.
const SETTLE: Duration = Duration::from_secs(3);
/// Where memory limits of control groups, version 1, are set.
const MEMORY_GROUPS: &str = "/sys/fs/cgroup/memory";
/// Starts the service in its control group, and again whenever it ends: `restart: unless-stopped`.
const SUPERVISE: &str = r#"if [ -n "$MEMORY_GROUP" ]; then echo $$ > "$MEMORY_GROUP/cgroup.procs"; fi; while :; do "$@"; sleep 1; done"#;

/// Services that run until this value is dropped.
pub(super) struct DemoSystem {
    children: Vec<Child>,
}

impl DemoSystem {
    /// Starts the services in their order, each when the one before it accepts connections.
    pub(super) fn start(built: &Path, services: &[&DemoService], flag_file: &Path, logs: &Path, with_flagd: bool) -> Result<Self> {
        let mut system = Self { children: Vec::new() };
        for service in services.iter().filter(|service| with_flagd || service.name != FLAGD.name) {
            let address = SocketAddr::from(([127, 0, 0, 1], service.port));
            if TcpStream::connect(address).is_ok() {
                bail!("port {} is in use: {} cannot start", service.port, service.name);
            }
            let mut command = command_of(built, service, flag_file, logs)?;
            if !with_flagd {
                command.envs(WITHOUT_FLAGD.iter().copied()).env("FLAGD_OFFLINE_FLAG_SOURCE_PATH", flag_file);
            }
            system.children.push(command.spawn().with_context(|| format!("cannot start {}", service.name))?);
            wait_for(service, address, logs)?;
        }
        thread::sleep(SETTLE);
        Ok(system)
    }
}

impl Drop for DemoSystem {
    fn drop(&mut self) {
        while let Some(mut child) = self.children.pop() {
            let Ok(group) = i32::try_from(child.id()) else { continue };
            for signal in [libc::SIGTERM, libc::SIGKILL] {
                // SAFETY: a plain system call on a process group whose leader has not been waited for, so its number is still its own.
                unsafe { libc::kill(-group, signal) };
                if signal == libc::SIGTERM {
                    thread::sleep(Duration::from_millis(500));
                }
            }
            let _ended = child.wait();
        }
    }
}

fn command_of(built: &Path, service: &DemoService, flag_file: &Path, logs: &Path) -> Result<Command> {
    let log = logs.join(format!("{}.log", service.name));
    let log = File::options().create(true).append(true).open(&log).with_context(|| format!("opening {}", log.display()))?;
    let mut command = Command::new("sh");
    command.args(["-c", SUPERVISE, service.name]).args(service.command).current_dir(built.join(service.folder));
    command.env("FLAGD_HOST", "127.0.0.1").env("FLAGD_PORT", "8013").env("FLAG_FILE", flag_file);
    command.env("OTEL_SERVICE_NAME", service.name).env("OTEL_EXPORTER_OTLP_ENDPOINT", TRACES).env("OTEL_TRACES_EXPORTER", "otlp");
    // Shortens the wait for the last spans, as docs/traces.md advises.
    command.env("OTEL_BSP_SCHEDULE_DELAY", "1000").envs(service.environment.iter().copied());
    command.env("MEMORY_GROUP", memory_group(service)?.unwrap_or_default());
    command.process_group(0).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(command)
}

/// A control group with the service's memory limit; none if this machine has no such groups.
fn memory_group(service: &DemoService) -> Result<Option<PathBuf>> {
    let groups = Path::new(MEMORY_GROUPS);
    let Some(limit_mb) = service.memory_limit_mb.filter(|_| groups.join("memory.limit_in_bytes").exists()) else { return Ok(None) };
    let group = groups.join(format!("otel-demo-{}", service.name));
    fs::create_dir_all(&group).with_context(|| format!("creating {}: needs root", group.display()))?;
    fs::write(group.join("memory.limit_in_bytes"), format!("{limit_mb}M")).with_context(|| format!("limiting {}", group.display()))?;
    Ok(Some(group))
}

fn wait_for(service: &DemoService, address: SocketAddr, logs: &Path) -> Result<()> {
    for _ in 0..START_ATTEMPTS_MAX {
        if TcpStream::connect(address).is_ok() {
            return Ok(());
        }
        thread::sleep(START_INTERVAL);
    }
    bail!("{} does not listen on port {}: see {}", service.name, service.port, logs.join(format!("{}.log", service.name)).display())
}
