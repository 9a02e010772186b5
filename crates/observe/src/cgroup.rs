//! A control group: CPU use and throttling, memory, tasks. Version 2, and version 1 where its files are.

use std::path::{Path, PathBuf};

use crate::ObserveError;
use crate::description::Description;
use crate::procfs::{pairs, pressure_seconds, read};
use crate::readings::Readings;

#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    pub(crate) fn from_description(description: &mut Description<'_>) -> Result<Self, ObserveError> {
        let path = description.text("path")?;
        let pid = description.number("pid", u32::MAX)?;
        match (path, pid) {
            (Some(path), None) => Ok(Self { path: path.into() }),
            (None, Some(pid)) => {
                let text = read(format!("/proc/{pid}/cgroup")).map_err(|problem| description.problem(problem))?;
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
    /// When the path holds none of the files of a control group.
    pub(crate) fn read(&mut self, out: &mut Readings) -> Result<(), String> {
        let mut any = false;
        let mut put = |counter: bool, metric: &str, unit: &str, help: &str, value: Option<f64>| {
            let Some(value) = value else { return };
            any = true;
            match counter {
                true => out.counter(metric, unit, help, value),
                false => out.gauge(metric, unit, help, value),
            }
        };
        let stat = self.file("cpu.stat").unwrap_or_default();
        let stat = pairs(&stat);
        let of = |name: &str, per_second: f64| stat.get(name).map(|value| *value as f64 / per_second);
        let used = of("usage_usec", 1e6).or_else(|| self.number("cpuacct.usage").map(|ns| ns / 1e9));
        put(true, "cpu", "seconds", "CPU time of the group", used);
        let throttled = of("throttled_usec", 1e6).or_else(|| of("throttled_time", 1e9));
        put(true, "throttled", "seconds", "Time the group was held back by its CPU limit", throttled);
        put(true, "throttled_periods", "1", "Periods in which it was held back", of("nr_throttled", 1.0));
        put(false, "cpu_limit", "1", "Cores the group may use", self.cpu_limit());
        let memory = self.number("memory.current").or_else(|| self.number("memory.usage_in_bytes"));
        put(false, "memory", "bytes", "Memory of the group", memory);
        let memory_limit = self.number("memory.max").or_else(|| self.number("memory.limit_in_bytes"));
        put(false, "memory_limit", "bytes", "Memory the group may use", memory_limit);
        put(false, "tasks", "1", "Tasks of the group", self.number("pids.current"));
        for resource in ["cpu", "memory", "io"] {
            let text = self.file(&format!("{resource}.pressure")).unwrap_or_default();
            let metric = format!("pressure{{resource={resource},share=some}}");
            put(true, &metric, "seconds", "Time in which some tasks waited for the resource", pressure_seconds(&text, "some"));
        }
        if any { Ok(()) } else { Err(format!("{} holds none of the files of a control group", self.path.display())) }
    }

    /// `cpu.max` is `quota period` in µs, or `max period`.
    fn cpu_limit(&self) -> Option<f64> {
        let quota_us = |quota: &str, period: &str| Some(quota.trim().parse::<f64>().ok()? / period.trim().parse::<f64>().ok()?);
        match self.file("cpu.max") {
            Some(text) => text.split_once(' ').and_then(|(quota, period)| quota_us(quota, period)),
            None => quota_us(&self.file("cpu.cfs_quota_us")?, &self.file("cpu.cfs_period_us")?).filter(|cores| *cores > 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

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
            let mut out = Readings::new("cgroup");
            Cgroup { path: folder.path().into() }.read(&mut out).unwrap();
            let seen: HashMap<String, f64> = out.finish(0).into_iter().map(|(signal, point)| (signal.name.clone(), point.value)).collect();
            for (name, value) in [("cpu", 2.5), ("throttled", 0.5), ("throttled_periods", 4.0), ("cpu_limit", 1.5), ("memory", 1048576.0)] {
                assert_eq!(seen[&format!("cgroup/{name}")], value, "{name}");
            }
            assert!(!seen.contains_key("cgroup/memory_limit"));
        }
        let empty = tempfile::tempdir().unwrap();
        assert!(Cgroup { path: empty.path().into() }.read(&mut Readings::new("c")).unwrap_err().contains("none of the files"));
    }
}
