//! A control group: CPU use and throttling, memory, tasks. Version 2, and version 1 where its files are.

use std::path::{Path, PathBuf};

use loadstone_metrics::{Role, unit};

use crate::collector::{MetricSpec, SignalCollector};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ObserverOption, OptionValue};
use crate::procfs::{pairs, pressure_seconds, read};
use crate::reader::{PendingRead, SignalReader, at_once};

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "cgroup",
    watches: "a container or service with limits",
    example: "observe.cgroup({ path: \"/sys/fs/cgroup/…\" })",
    alternatives: " or `{ pid }`",
    reports: "`throttled` (share of the time), `cpu`, `cpu_limit`, `memory`",
    options: &[
        ObserverOption { name: "path", takes: OptionValue::Text { default: None }, help: "its folder" },
        ObserverOption {
            name: "pid",
            takes: OptionValue::WholeNumber { max: u32::MAX, default: None },
            help: "a process in it, instead of `path`",
        },
    ],
    on_macos: MacSupport::Refused("it has no control groups; observe the service with `observe.process`, or its machine on Linux"),
    make: |description| Ok(Box::new(Cgroup::from_description(description)?)),
};

const CPU: MetricSpec<'_> = MetricSpec::counter("cpu", unit::SECONDS, "CPU time of the group").role(Role::GroupCpu);
const THROTTLED: MetricSpec<'_> =
    MetricSpec::counter("throttled", unit::SECONDS, "Time the group was held back by its CPU limit").role(Role::GroupThrottled);
const THROTTLED_PERIODS: MetricSpec<'_> = MetricSpec::counter("throttled_periods", unit::COUNT, "Periods in which it was held back");
const CPU_LIMIT: MetricSpec<'_> = MetricSpec::gauge("cpu_limit", unit::COUNT, "Cores the group may use").role(Role::GroupCpuMax);
const MEMORY: MetricSpec<'_> = MetricSpec::gauge("memory", unit::BYTES, "Memory of the group").role(Role::GroupMemory);
const MEMORY_LIMIT: MetricSpec<'_> = MetricSpec::gauge("memory_limit", unit::BYTES, "Memory the group may use").role(Role::GroupMemoryMax);
const TASKS: MetricSpec<'_> = MetricSpec::gauge("tasks", unit::COUNT, "Tasks of the group");
const PRESSURE: MetricSpec<'_> = MetricSpec::counter("pressure", unit::SECONDS, "Time in which some tasks waited for the resource");

/// A path that contains none of the expected files.
#[derive(Debug, thiserror::Error)]
#[error("{} contains no control group files; give a folder such as /sys/fs/cgroup/my.slice", .0.display())]
struct NotACgroup(PathBuf);

#[derive(Debug)]
struct Cgroup {
    path: PathBuf,
}

impl SignalReader for Cgroup {
    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        at_once(self.look(out))
    }
}

impl Cgroup {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        match (description.text("path"), description.whole_number("pid")) {
            (Some(path), None) => Ok(Self { path: path.into() }),
            (None, Some(pid)) => {
                let text = read(format!("/proc/{pid}/cgroup")).map_err(|problem| description.problem(problem.to_string()))?;
                let inside = text.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
                Ok(Self { path: Path::new("/sys/fs/cgroup").join(inside) })
            }
            _ => Err(description.problem("give one of path (such as \"/sys/fs/cgroup/my.slice\") and pid")),
        }
    }

    fn file(&self, name: &str) -> Option<String> {
        read(self.path.join(name)).ok()
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.file(name)?.trim().parse().ok()
    }

    /// # Errors
    /// When the path contains no control group files.
    fn look(&self, out: &mut SignalCollector) -> Result<(), NotACgroup> {
        let stat = self.file("cpu.stat").unwrap_or_default();
        let stat = pairs(&stat);
        let of = |name: &str, per_second: f64| stat.get(name).map(|value| *value as f64 / per_second);
        let readings = [
            (CPU, of("usage_usec", 1e6).or_else(|| self.number("cpuacct.usage").map(|ns| ns / 1e9))),
            (THROTTLED, of("throttled_usec", 1e6).or_else(|| of("throttled_time", 1e9))),
            (THROTTLED_PERIODS, of("nr_throttled", 1.0)),
            (CPU_LIMIT, self.cpu_limit()),
            (MEMORY, self.number("memory.current").or_else(|| self.number("memory.usage_in_bytes"))),
            (MEMORY_LIMIT, self.number("memory.max").or_else(|| self.number("memory.limit_in_bytes"))),
            (TASKS, self.number("pids.current")),
        ];
        let mut any = false;
        for (metric, value) in readings {
            any |= value.is_some();
            value.into_iter().for_each(|value| out.put(metric, value));
        }
        for resource in ["cpu", "memory", "io"] {
            let text = self.file(&format!("{resource}.pressure")).unwrap_or_default();
            let Some(seconds) = pressure_seconds(&text, "some") else { continue };
            any = true;
            out.put_labelled(PRESSURE, &[("resource", resource), ("share", "some")], seconds);
        }
        if any { Ok(()) } else { Err(NotACgroup(self.path.clone())) }
    }

    fn cpu_limit(&self) -> Option<f64> {
        cpu_limit(&self.path)
    }
}

/// Cores that a group may use. `cpu.max` is `quota period` in µs, or `max period`; version 1 has a file for each, and −1 for no limit.
fn cpu_limit(group: &Path) -> Option<f64> {
    let quota_us = |quota: &str, period: &str| Some(quota.trim().parse::<f64>().ok()? / period.trim().parse::<f64>().ok()?);
    let file = |name: &str| read(group.join(name)).ok();
    match file("cpu.max") {
        Some(text) => text.split_once(' ').and_then(|(quota, period)| quota_us(quota, period)),
        None => quota_us(&file("cpu.cfs_quota_us")?, &file("cpu.cfs_period_us")?).filter(|cores| *cores > 0.0),
    }
}

/// The CPU limit of a process, from its own control group or an enclosing one.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CpuQuota {
    /// `None`: no limit.
    pub(super) cores: Option<f64>,
    /// Total time for which the group was throttled. Seconds. `None` if it cannot be read.
    pub(super) throttled: Option<f64>,
}

#[cfg(target_os = "linux")]
impl CpuQuota {
    /// `None` where the groups of a process cannot be read.
    pub(super) fn of(pid: u32) -> Option<Self> {
        Self::under(Path::new(ROOT), &read(format!("/proc/{pid}/cgroup")).ok()?)
    }

    /// `groups`: lines of `number:controllers:path`; version 2 has number 0 and no controllers.
    fn under(root: &Path, groups: &str) -> Option<Self> {
        let lines = groups.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((parts.next()?, parts.next()?.trim_start_matches('/')))
        });
        let folder = |(controllers, path): (&str, &str)| match controllers {
            "" => Some((root.to_path_buf(), path.to_owned())),
            some if some.split(',').any(|controller| controller == "cpu") => {
                [some, "cpu"].into_iter().map(|name| root.join(name)).find(|mount| mount.is_dir()).map(|mount| (mount, path.to_owned()))
            }
            _ => None,
        };
        let (mount, path) = lines.filter_map(folder).find(|(mount, path)| mount.join(path).join("cpu.stat").is_file())?;
        let around = mount.join(&path);
        let limited = around.ancestors().take_while(|group| group.starts_with(&mount)).find_map(|group| Some((group, cpu_limit(group)?)));
        let throttled = |group: &Path| {
            let text = read(group.join("cpu.stat")).unwrap_or_default();
            let stat = pairs(&text);
            stat.get("throttled_usec").map(|us| *us as f64 / 1e6).or_else(|| stat.get("throttled_time").map(|ns| *ns as f64 / 1e9))
        };
        Some(match limited {
            Some((group, cores)) => Self { cores: Some(cores), throttled: throttled(group) },
            None => Self { cores: None, throttled: Some(0.0) },
        })
    }
}

/// Where control groups are mounted.
#[cfg(target_os = "linux")]
const ROOT: &str = "/sys/fs/cgroup";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn the_limit_of_a_process_is_that_of_the_nearest_group_that_has_one() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("cpu/shop/cpu.cfs_quota_us", "30000\n");
        write("cpu/shop/cpu.cfs_period_us", "100000\n");
        write("cpu/shop/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 500000000\n");
        write("cpu/shop/worker/cpu.cfs_quota_us", "-1\n");
        write("cpu/shop/worker/cpu.cfs_period_us", "100000\n");
        write("cpu/shop/worker/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
        write("cpu/other/cpu.stat", "nr_periods 0\n");
        let of = |groups: &str| CpuQuota::under(root.path(), groups);
        let limited = CpuQuota { cores: Some(0.3), throttled: Some(0.5) };
        assert_eq!(of("5:memory:/shop\n4:cpu,cpuacct:/shop/worker\n"), Some(limited));
        assert_eq!(of("4:cpu:/other\n"), Some(CpuQuota { cores: None, throttled: Some(0.0) }));
        write("app.slice/cpu.max", "150000 100000\n");
        write("app.slice/cpu.stat", "usage_usec 2500000\nnr_throttled 4\nthrottled_usec 250000\n");
        assert_eq!(of("0::/app.slice\n"), Some(CpuQuota { cores: Some(1.5), throttled: Some(0.25) }));
        // A group whose throttling cannot be read has not been throttled for zero seconds.
        write("odd.slice/cpu.max", "150000 100000\n");
        write("odd.slice/cpu.stat", "usage_usec 2500000\n");
        assert_eq!(of("0::/odd.slice\n"), Some(CpuQuota { cores: Some(1.5), throttled: None }));
        assert_eq!(of("3:memory:/x\n"), None);
    }

    #[test]
    fn reads_both_versions() {
        let v2: &[(&str, &str)] = &[
            ("cpu.stat", "usage_usec 2500000\nnr_periods 10\nnr_throttled 4\nthrottled_usec 500000\n"),
            ("cpu.max", "150000 100000\n"),
            ("memory.current", "1048576\n"),
            ("memory.max", "max\n"),
            ("cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n"),
        ];
        let v1: &[(&str, &str)] = &[
            ("cpuacct.usage", "2500000000\n"),
            ("cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 500000000\n"),
            ("cpu.cfs_quota_us", "150000\n"),
            ("cpu.cfs_period_us", "100000\n"),
            ("memory.usage_in_bytes", "1048576\n"),
        ];
        for files in [v2, v1] {
            let folder = tempfile::tempdir().unwrap();
            files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
            let mut out = SignalCollector::new("cgroup");
            Cgroup { path: folder.path().into() }.look(&mut out).unwrap();
            let seen: HashMap<String, f64> = out.finish(0).into_iter().map(|(signal, point)| (signal.name.clone(), point.value)).collect();
            for (name, value) in [("cpu", 2.5), ("throttled", 0.5), ("throttled_periods", 4.0), ("cpu_limit", 1.5), ("memory", 1048576.0)] {
                assert_eq!(seen[&format!("cgroup/{name}")], value, "{name}");
            }
            assert!(!seen.contains_key("cgroup/memory_limit"));
        }
        let empty = tempfile::tempdir().unwrap();
        let problem = Cgroup { path: empty.path().into() }.look(&mut SignalCollector::new("c")).unwrap_err();
        assert!(problem.to_string().contains("no control group files"));
    }
}
