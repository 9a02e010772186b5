//! Services of an external system as processes on loopback, from their start until a run ends.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Time between attempts to connect to a service that starts.
const START_INTERVAL: Duration = Duration::from_millis(100);
/// A service that is not ready after a minute has failed.
const START_ATTEMPTS_MAX: u32 = 600;
/// Time from SIGTERM to SIGKILL.
const STOP_TIME: Duration = Duration::from_millis(500);
/// Where control groups, version 1, are.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
/// Starts the service in its control groups, and again whenever it ends: `restart: unless-stopped`.
const SUPERVISE: &str = r#"for group in $CONTROL_GROUPS; do echo $$ > "$group/cgroup.procs"; done; while :; do "$@"; sleep 1; done"#;

/// A service, or a program that services depend on.
pub(crate) struct ServiceProcess {
    pub(crate) name: &'static str,
    /// It is ready when it accepts connections here.
    pub(crate) port: u16,
    /// Where it starts, below the folder of the built services.
    pub(crate) folder: &'static str,
    pub(crate) command: &'static [&'static str],
    pub(crate) environment: &'static [(&'static str, &'static str)],
    /// In megabytes.
    pub(crate) memory_limit_mb: Option<u32>,
}

/// What a system's services have in common.
pub(crate) struct SystemOfServices<'a> {
    /// The name of the system, with which its control groups begin.
    pub(crate) name: &'static str,
    /// The built services.
    pub(crate) built: &'a Path,
    pub(crate) logs: &'a Path,
    /// Whether each service has a control group for CPU time, at first without a limit.
    pub(crate) has_cpu_groups: bool,
    /// Time for the services to connect to each other after all of them listen.
    pub(crate) settle: Duration,
}

/// Services that run until this value is dropped.
pub(crate) struct RunningServices {
    /// By the names of the services.
    children: Vec<(&'static str, ProcessGroup)>,
}

impl SystemOfServices<'_> {
    /// Starts the services in their order, each when the one before it accepts connections. `surround` completes each command.
    pub(crate) fn start(&self, services: &[&ServiceProcess], surround: impl Fn(&ServiceProcess, &mut Command)) -> Result<RunningServices> {
        let mut running = RunningServices { children: Vec::new() };
        for service in services {
            let address = SocketAddr::from(([127, 0, 0, 1], service.port));
            if TcpStream::connect(address).is_ok() {
                bail!("port {} is in use: {} cannot start", service.port, service.name);
            }
            let mut command = self.command(service)?;
            surround(service, &mut command);
            let started = ProcessGroup::spawn(&mut command).with_context(|| format!("cannot start {}", service.name))?;
            running.children.push((service.name, started));
            self.wait_for(service, address)?;
        }
        thread::sleep(self.settle);
        Ok(running)
    }

    /// The control group of a service that limits its CPU time.
    pub(crate) fn cpu_group(&self, service: &str) -> PathBuf {
        self.control_group("cpu", service)
    }

    fn control_group(&self, controller: &str, service: &str) -> PathBuf {
        Path::new(CONTROL_GROUPS).join(controller).join(format!("{}-{service}", self.name))
    }

    fn command(&self, service: &ServiceProcess) -> Result<Command> {
        let log = self.log(service);
        let log = File::options().create(true).append(true).open(&log).with_context(|| format!("opening {}", log.display()))?;
        let mut command = Command::new("sh");
        command.args(["-c", SUPERVISE, service.name]).args(service.command).current_dir(self.built.join(service.folder));
        command.envs(service.environment.iter().copied()).env("CONTROL_GROUPS", self.control_groups(service)?.join(" "));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }

    /// The control groups that a service starts in. A memory limit is omitted if this machine has no such groups; a CPU group is an error then.
    fn control_groups(&self, service: &ServiceProcess) -> Result<Vec<String>> {
        let memory = service.memory_limit_mb.map(|limit_mb| ("memory", "memory.limit_in_bytes", format!("{limit_mb}M")));
        let cpu = self.has_cpu_groups.then(|| ("cpu", "cpu.cfs_quota_us", "-1".to_owned()));
        let mut groups = Vec::new();
        for (controller, file, value) in memory.into_iter().chain(cpu) {
            if controller == "memory" && !Path::new(CONTROL_GROUPS).join(controller).join(file).exists() {
                continue;
            }
            let group = self.control_group(controller, service.name);
            // A group of an earlier run has counters that would continue.
            let _absent = fs::remove_dir(&group);
            fs::create_dir_all(&group).with_context(|| format!("creating {}: needs root", group.display()))?;
            fs::write(group.join(file), value).with_context(|| format!("limiting {}", group.display()))?;
            groups.push(group.display().to_string());
        }
        Ok(groups)
    }

    fn wait_for(&self, service: &ServiceProcess, address: SocketAddr) -> Result<()> {
        for _ in 0..START_ATTEMPTS_MAX {
            if TcpStream::connect(address).is_ok() {
                return Ok(());
            }
            thread::sleep(START_INTERVAL);
        }
        bail!("{} does not listen on port {}: see {}", service.name, service.port, self.log(service).display())
    }

    fn log(&self, service: &ServiceProcess) -> PathBuf {
        self.logs.join(format!("{}.log", service.name))
    }
}

impl RunningServices {
    /// The process that starts a service, and starts it again whenever it ends. Its only child is the service.
    pub(crate) fn process_id(&self, service: &str) -> Option<u32> {
        self.children.iter().find(|(name, _)| *name == service).map(|(_, group)| group.0.id())
    }
}

impl Drop for RunningServices {
    fn drop(&mut self) {
        // In the reverse order of their start.
        while self.children.pop().is_some() {}
    }
}

/// A process and all its children, which end when this value is dropped.
pub(crate) struct ProcessGroup(Child);

impl ProcessGroup {
    pub(crate) fn spawn(command: &mut Command) -> std::io::Result<Self> {
        command.process_group(0).spawn().map(Self)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let Ok(group) = i32::try_from(self.0.id()) else { return };
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            // SAFETY: a plain system call on a process group whose leader has not been waited for, so its number is still its own.
            unsafe { libc::kill(-group, signal) };
            if signal == libc::SIGTERM {
                thread::sleep(STOP_TIME);
            }
        }
        let _ended = self.0.wait();
    }
}
