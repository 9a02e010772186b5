//! Changes to processes of this machine: limit their CPUs, or pause them.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use loadstone_script::KnobTarget;
use rustix::process::{Pid, Signal, kill_process};

const CGROUPS: &str = "/sys/fs/cgroup";
/// The kernel's default period. µs.
const PERIOD_US: f64 = 100_000.0;

/// Stops or resumes the processes.
pub(super) fn pause(paused: bool, of: &KnobTarget) -> anyhow::Result<()> {
    let signal = if paused { Signal::STOP } else { Signal::CONT };
    for pid in pids(of)? {
        let sent = i32::try_from(pid).ok().and_then(Pid::from_raw).map(|pid| kill_process(pid, signal));
        match sent {
            Some(Ok(())) => {}
            // The process has ended meanwhile, so there is nothing to stop.
            Some(Err(rustix::io::Errno::SRCH)) => {}
            _ => bail!("cannot signal process {pid}: it belongs to another user"),
        }
    }
    Ok(())
}

/// Limits a control group to this many CPUs. `None` removes the limit.
pub(super) fn allow_cpus(cpus: Option<f64>, of: &KnobTarget) -> anyhow::Result<()> {
    if cfg!(target_os = "macos") {
        bail!("CPUs cannot be limited on macOS, which has no control groups: use a knob of the system itself, or run it on Linux");
    }
    let group = match of {
        KnobTarget::Cgroup(path) if Path::new(path).starts_with(CGROUPS) => PathBuf::from(path),
        KnobTarget::Cgroup(path) => existing(path)?,
        _ => {
            let pid = *pids(of)?.first().context("no process is selected")?;
            let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup"))
                .with_context(|| format!("cannot read the control group of {pid}"))?;
            let none = || {
                format!(
                    "process {pid} shares its control group for CPU time: start it in a separate one (a container, or `systemd-run --scope`)"
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
        bail!("it has neither cpu.max nor cpu.cfs_quota_us: the root group has no quota and cannot be throttled");
    }
    std::fs::write(group.join("cpu.cfs_period_us"), format!("{PERIOD_US:.0}"))?;
    Ok(std::fs::write(quota, cpus.map_or("-1".to_owned(), |cpus| format!("{:.0}", cpus * PERIOD_US)))?)
}

/// A path below the mount of version 2, or of a version 1 controller.
fn existing(path: &str) -> anyhow::Result<PathBuf> {
    let below = path.trim_start_matches('/');
    let places = [Path::new(CGROUPS).join(below), Path::new(CGROUPS).join("cpu").join(below)];
    let found = places.into_iter().find(|place| place.join("cpu.max").exists() || place.join("cpu.cfs_quota_us").exists());
    found.with_context(|| format!("there is no control group {path} with a CPU quota below {CGROUPS}"))
}

/// The path of the version 1 cpu controller, or else of version 2, from `/proc/PID/cgroup`. The root group is rejected: a quota on it would throttle the
/// whole machine.
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
        found if found.is_empty() => bail!("no such process: {of:?}"),
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

    /// Creates a group below the mount, of either version. `None` if this user lacks permission.
    fn group_of_own() -> Option<PathBuf> {
        let name = format!("loadstone-test-{}", std::process::id());
        let places = [PathBuf::from(CGROUPS), Path::new(CGROUPS).join("cpu")].map(|place| place.join(&name));
        places.into_iter().find(|place| {
            let created = std::fs::create_dir(place).is_ok();
            let has_quota = place.join("cpu.max").exists() || place.join("cpu.cfs_quota_us").exists();
            if created && !has_quota {
                let _ = std::fs::remove_dir(place);
            }
            created && has_quota
        })
    }

    /// The kernel throttles a busy process, and stops throttling it when the limit is removed.
    #[test]
    fn a_quota_throttles_a_process_of_a_real_group() {
        let Some(group) = group_of_own() else {
            println!("skipped: no control group with a CPU quota can be created here");
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
    fn quotas_of_both_versions_have_the_kernels_format() {
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
