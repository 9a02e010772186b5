//! What is done to processes of this machine: fewer CPUs, or none for a while.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use loadstone_script::KnobTarget;
use rustix::process::{Pid, Signal, kill_process};

const CGROUPS: &str = "/sys/fs/cgroup";
/// The kernel's own period. µs.
const PERIOD_US: f64 = 100_000.0;

/// Stops the processes, or lets them go on.
pub(super) fn pause(paused: bool, of: &KnobTarget) -> anyhow::Result<()> {
    let signal = if paused { Signal::STOP } else { Signal::CONT };
    for pid in pids(of)? {
        let sent = i32::try_from(pid).ok().and_then(Pid::from_raw).map(|pid| kill_process(pid, signal));
        match sent {
            Some(Ok(())) => {}
            // One that has ended meanwhile is at rest.
            Some(Err(rustix::io::Errno::SRCH)) => {}
            _ => bail!("cannot signal process {pid}: it belongs to somebody else"),
        }
    }
    Ok(())
}

/// Lets a control group use so many CPUs; `None`: all that there are.
pub(super) fn allow_cpus(cpus: Option<f64>, of: &KnobTarget) -> anyhow::Result<()> {
    let group = match of {
        KnobTarget::Cgroup(path) if Path::new(path).starts_with(CGROUPS) => PathBuf::from(path),
        KnobTarget::Cgroup(path) => existing(path)?,
        _ => {
            let pid = *pids(of)?.first().context("no process is meant")?;
            let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup"))
                .with_context(|| format!("cannot read the control group of {pid}"))?;
            let none = || {
                format!(
                    "process {pid} has no control group of its own for CPU time: start it in one (a container, or `systemd-run --scope`)"
                )
            };
            existing(&cpu_path(&text).with_context(none)?)?
        }
    };
    set_quota(&group, cpus).with_context(|| format!("cannot set the CPU quota of {}", group.display()))
}

/// Version 2 (`cpu.max`) or 1 (`cpu.cfs_quota_us`).
fn set_quota(group: &Path, cpus: Option<f64>) -> anyhow::Result<()> {
    if group.join("cpu.max").exists() {
        let quota = cpus.map_or("max".to_owned(), |cpus| format!("{:.0}", cpus * PERIOD_US));
        return Ok(std::fs::write(group.join("cpu.max"), format!("{quota} {PERIOD_US:.0}"))?);
    }
    let quota = group.join("cpu.cfs_quota_us");
    if !quota.exists() {
        bail!("it has neither cpu.max nor cpu.cfs_quota_us: the root group has no quota, and cannot be held back");
    }
    std::fs::write(group.join("cpu.cfs_period_us"), format!("{PERIOD_US:.0}"))?;
    Ok(std::fs::write(quota, cpus.map_or("-1".to_owned(), |cpus| format!("{:.0}", cpus * PERIOD_US)))?)
}

/// Below the mount of version 2, or of version 1's controller.
fn existing(path: &str) -> anyhow::Result<PathBuf> {
    let below = path.trim_start_matches('/');
    let places = [Path::new(CGROUPS).join(below), Path::new(CGROUPS).join("cpu").join(below)];
    let found = places.into_iter().find(|place| place.join("cpu.max").exists() || place.join("cpu.cfs_quota_us").exists());
    found.with_context(|| format!("there is no control group {path} with a CPU quota below {CGROUPS}"))
}

/// Of `/proc/PID/cgroup`: the path of version 1's cpu controller, else of version 2. The root group is nobody's: a quota on it would hold back the machine.
fn cpu_path(text: &str) -> Option<String> {
    let fields = || {
        text.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((parts.next()?, parts.next()?))
        })
    };
    let first = fields().find(|(controllers, path)| controllers.split(',').any(|name| name == "cpu") && *path != "/");
    let found = first.or_else(|| fields().find(|(controllers, path)| controllers.is_empty() && *path != "/"));
    found.map(|(_, path)| path.to_owned())
}

fn pids(of: &KnobTarget) -> anyhow::Result<Vec<u32>> {
    let own = std::process::id();
    let found = match of {
        KnobTarget::Pid(pid) => vec![*pid],
        KnobTarget::Port(port) => loadstone_session::processes_on(*port),
        KnobTarget::Cgroup(path) => {
            let group = if Path::new(path).starts_with(CGROUPS) { PathBuf::from(path) } else { existing(path)? };
            let text = std::fs::read_to_string(group.join("cgroup.procs")).with_context(|| format!("cannot read {}", group.display()))?;
            text.lines().filter_map(|line| line.parse().ok()).collect()
        }
    };
    match found {
        found if found.is_empty() => bail!("nobody is there: {of:?}"),
        found if found.contains(&own) => bail!("{of:?} is Loadstone itself"),
        found => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_a_process_is_that_of_its_cpu_controller() {
        assert_eq!(cpu_path("4:memory:/a\n1:cpu,cpuacct:/app\n0::/\n").as_deref(), Some("/app"));
        assert_eq!(cpu_path("0::/user.slice/app.service\n").as_deref(), Some("/user.slice/app.service"));
        assert_eq!(cpu_path(""), None);
        assert_eq!(cpu_path("1:cpu:/\n0::/\n"), None, "never the whole machine");
    }

    /// A group below the mount, of either version; `None` where this user may not make one.
    fn group_of_own() -> Option<PathBuf> {
        let name = format!("loadstone-test-{}", std::process::id());
        let places = [PathBuf::from(CGROUPS), Path::new(CGROUPS).join("cpu")].map(|place| place.join(&name));
        places.into_iter().find(|place| {
            let made = std::fs::create_dir(place).is_ok();
            let has_quota = place.join("cpu.max").exists() || place.join("cpu.cfs_quota_us").exists();
            if made && !has_quota {
                let _ = std::fs::remove_dir(place);
            }
            made && has_quota
        })
    }

    /// The kernel holds back a process that never waits, and lets it go again.
    #[test]
    fn a_quota_holds_back_a_process_of_a_real_group() {
        let Some(group) = group_of_own() else {
            println!("skipped: no control group with a CPU quota can be made here");
            return;
        };
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let of = KnobTarget::Pid(child.id());
        let throttled = || {
            let text = std::fs::read_to_string(group.join("cpu.stat")).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("nr_throttled "));
            line.and_then(|count| count.parse::<u64>().ok()).unwrap_or(0)
        };
        let tried = std::fs::write(group.join("cgroup.procs"), child.id().to_string()).map_err(anyhow::Error::from).and_then(|()| {
            allow_cpus(Some(0.05), &of)?;
            let held = (0..1_000).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(10));
                throttled() > 0
            });
            allow_cpus(None, &of)?;
            Ok(held)
        });
        let quota =
            ["cpu.max", "cpu.cfs_quota_us"].iter().find_map(|file| std::fs::read_to_string(group.join(file)).ok()).unwrap_or_default();
        child.kill().unwrap();
        child.wait().unwrap();
        let removed = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            std::fs::remove_dir(&group).is_ok()
        });
        assert!(tried.unwrap(), "it was never held back");
        assert!(quota.starts_with("max") || quota.trim() == "-1", "{quota}");
        assert!(removed, "{} is left", group.display());
    }

    #[test]
    fn both_versions_are_written_as_the_kernel_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(set_quota(folder.path(), Some(1.0)).is_err());
        std::fs::write(folder.path().join("cpu.cfs_quota_us"), "-1").unwrap();
        set_quota(folder.path(), Some(1.5)).unwrap();
        assert_eq!((read("cpu.cfs_period_us").as_str(), read("cpu.cfs_quota_us").as_str()), ("100000", "150000"));
        set_quota(folder.path(), None).unwrap();
        assert_eq!(read("cpu.cfs_quota_us"), "-1");
        std::fs::write(folder.path().join("cpu.max"), "max 100000").unwrap();
        set_quota(folder.path(), Some(0.5)).unwrap();
        assert_eq!(read("cpu.max"), "50000 100000");
        set_quota(folder.path(), None).unwrap();
        assert_eq!(read("cpu.max"), "max 100000");
    }
}
