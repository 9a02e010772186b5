//! Ways to starve a generator. What a guard set up, its drop takes away.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use checkout::machine::{GENERATOR_CORE, SERVER_CORE};

/// The run has begun and is far from its end, which is two seconds off at the least.
const BEGUN: Duration = Duration::from_millis(700);
/// Between two stops.
const BETWEEN_STOPS: Duration = Duration::from_millis(120);

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Starvation {
    None,
    /// A CPU limit of the control group, in percent of one core over a period.
    Quota {
        percent: u64,
        period_ms: u64,
    },
    /// Endless loops on the same core; the generator's own niceness.
    Hogs {
        count: u32,
        nice: i32,
    },
    /// Endless loops on the same core, which the generator only gets when they do not want it (SCHED_IDLE).
    OnlyIdleTime {
        hogs: u32,
    },
    /// A loop at high priority on the same core, for a part of each 100 ms.
    Bursts {
        percent: u64,
    },
    /// The same at the usual priority on the server's core: what a busy program on the same machine does.
    Neighbour {
        percent: u64,
    },
    /// SIGSTOP, and SIGCONT after a while.
    Stop {
        milliseconds: u64,
        times: u32,
    },
    /// A network namespace with few local ports.
    Ports {
        ports: u32,
    },
    /// Few open files.
    Descriptors {
        descriptors: u32,
    },
}

/// Undoes what was done to the machine.
pub(crate) enum StarvationGuard {
    Nothing,
    Group(PathBuf),
    Hogs(Vec<Child>),
}

impl Drop for StarvationGuard {
    fn drop(&mut self) {
        match self {
            StarvationGuard::Nothing => {}
            StarvationGuard::Group(folder) => {
                if let Err(error) = fs::remove_dir(&folder) {
                    eprintln!("{} is left behind: {error}", folder.display());
                }
            }
            StarvationGuard::Hogs(hogs) => {
                for hog in hogs {
                    // It loops for ever, so it is there to be ended.
                    let _ended = hog.kill().and_then(|()| hog.wait());
                }
            }
        }
    }
}

impl Starvation {
    /// The command that starts the generator under it.
    pub(crate) fn wrap(self, words: &[String]) -> Command {
        let front: Vec<String> = match self {
            Starvation::Hogs { nice, .. } => vec!["nice".to_owned(), "-n".to_owned(), nice.to_string()],
            Starvation::OnlyIdleTime { .. } => ["chrt", "--idle", "0"].map(str::to_owned).to_vec(),
            Starvation::Descriptors { descriptors } => vec!["prlimit".to_owned(), format!("--nofile={descriptors}:{descriptors}")],
            _ => Vec::new(),
        };
        let mut all = front.iter().chain(words);
        let mut command = Command::new(all.next().map_or("", String::as_str));
        command.args(all);
        command
    }

    /// Starves the process that has just been started.
    pub(crate) fn begin(self, process: u32) -> Result<StarvationGuard> {
        match self {
            Starvation::Quota { percent, period_ms } => limited(process, percent, period_ms * 1_000),
            Starvation::Hogs { count, .. } | Starvation::OnlyIdleTime { hogs: count } => {
                (0..count).map(|_| hog(GENERATOR_CORE, 0, ENDLESS)).collect::<Result<_>>().map(StarvationGuard::Hogs)
            }
            Starvation::Bursts { percent } => Ok(StarvationGuard::Hogs(vec![hog(GENERATOR_CORE, -15, &bursts(percent))?])),
            Starvation::Neighbour { percent } => Ok(StarvationGuard::Hogs(vec![hog(SERVER_CORE, 0, &bursts(percent))?])),
            Starvation::Stop { milliseconds, times } => {
                thread::sleep(BEGUN);
                for _ in 0..times {
                    signal(process, "STOP")?;
                    thread::sleep(Duration::from_millis(milliseconds));
                    signal(process, "CONT")?;
                    thread::sleep(BETWEEN_STOPS);
                }
                Ok(StarvationGuard::Nothing)
            }
            Starvation::None | Starvation::Ports { .. } | Starvation::Descriptors { .. } => Ok(StarvationGuard::Nothing),
        }
    }
}

fn signal(process: u32, name: &str) -> Result<()> {
    let sent = Command::new("kill").args([format!("-{name}"), process.to_string()]).status()?;
    if sent.success() { Ok(()) } else { bail!("the generator ended before it could be sent SIG{name}") }
}

const ENDLESS: &str = "while True: pass";

/// Busy for a part of each 100 ms.
fn bursts(percent: u64) -> String {
    let busy_s = percent as f64 / 1_000.0;
    format!("import time\nwhile True:\n t = time.monotonic() + {busy_s}\n while time.monotonic() < t: pass\n time.sleep({})", 0.1 - busy_s)
}

fn hog(core: usize, nice: i32, program: &str) -> Result<Child> {
    // An early end of the self-test ends the hog, too.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "taskset", "-c", &core.to_string(), "nice", "-n", &nice.to_string(), "python3", "-c", program]);
    command.stdin(Stdio::null()).spawn().context("starting a hog")
}

/// Puts a process under a CPU limit, in whichever version of control groups the machine has.
fn limited(process: u32, percent: u64, period_us: u64) -> Result<StarvationGuard> {
    let quota_us = period_us * percent / 100;
    let (root, unified) = match Path::new("/sys/fs/cgroup/cgroup.controllers").is_file() {
        true => (Path::new("/sys/fs/cgroup"), true),
        false => (Path::new("/sys/fs/cgroup/cpu"), false),
    };
    let folder = root.join(format!("loadstone-selftest-{process}"));
    fs::create_dir(&folder).with_context(|| format!("creating the control group {}", folder.display()))?;
    let hold = StarvationGuard::Group(folder.clone());
    if unified {
        fs::write(folder.join("cpu.max"), format!("{quota_us} {period_us}"))?;
    } else {
        fs::write(folder.join("cpu.cfs_period_us"), period_us.to_string())?;
        fs::write(folder.join("cpu.cfs_quota_us"), quota_us.to_string())?;
    }
    fs::write(folder.join("cgroup.procs"), process.to_string()).context("moving the generator into its control group")?;
    Ok(hold)
}

/// A network namespace with few local ports, which exists as long as this value. Server and generator both enter it.
pub(crate) struct FewPorts {
    keeper: Child,
}

impl FewPorts {
    pub(crate) fn begin(ports: u32) -> Result<Self> {
        let last = 40_000 + ports - 1;
        let script = format!(
            "ip link set lo up && echo '40000 {last}' > /proc/sys/net/ipv4/ip_local_port_range && echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse \
             && echo ready && read _"
        );
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = command.spawn().context("starting unshare")?;
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().context("its standard output was asked for")?).read_line(&mut line)?;
        if line.trim() != "ready" {
            bail!("could not create a network namespace with few local ports");
        }
        Ok(Self { keeper })
    }

    /// The namespace, as setns(2) and nsenter(1) take it.
    pub(crate) fn network(&self) -> PathBuf {
        format!("/proc/{}/ns/net", self.keeper.id()).into()
    }
}

impl Drop for FewPorts {
    fn drop(&mut self) {
        // It waits for the end of its standard input.
        drop(self.keeper.stdin.take());
        let _ended = self.keeper.wait();
    }
}
