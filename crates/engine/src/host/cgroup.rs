//! How long CPU limits throttled this process: those of its control group and of the groups around it.

use std::path::{Path, PathBuf};

const CGROUP_MOUNT: &str = "/sys/fs/cgroup";

/// The `cpu.stat` files of the groups that this process is in.
#[derive(Debug, Default)]
pub(super) struct CpuLimits {
    files: Vec<PathBuf>,
}

impl CpuLimits {
    pub(super) fn find() -> Self {
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut files = candidates(&own);
        files.retain(|file| file.is_file());
        Self { files }
    }

    /// The sum over the groups, in nanoseconds. Each group counts its own throttling. `None` if one of them cannot be read.
    pub(super) fn throttled_ns(&self) -> Option<u64> {
        self.files.iter().map(|file| std::fs::read_to_string(file).ok().map(|stat| throttled_ns(&stat))).sum()
    }
}

/// Where the files may be, according to the lines of /proc/self/cgroup (cgroups(7)): `0::/a/b` in the unified hierarchy, `4:cpu,cpuacct:/a/b` in a
/// separate one. In a container the path may not be visible; the mount itself is then its group.
fn candidates(own: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let roots: &[&str] = match controllers {
            "" => &["", "unified"],
            _ if controllers.split(',').any(|name| name == "cpu") => &["cpu", "cpu,cpuacct"],
            _ => continue,
        };
        for root in roots {
            let mount = Path::new(CGROUP_MOUNT).join(root);
            let groups = Path::new(path).ancestors().map(|group| mount.join(group.strip_prefix("/").unwrap_or(group)).join("cpu.stat"));
            files.extend(groups);
            // `cpu` is usually a link to `cpu,cpuacct`. The first one that exists counts.
            if mount.join("cpu.stat").is_file() {
                break;
            }
        }
    }
    files.dedup();
    files
}

/// `throttled_usec 12` (version 2) or `throttled_time 12000` (version 1, nanoseconds).
fn throttled_ns(stat: &str) -> u64 {
    let value = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    value("throttled_usec ").map(|usec| usec * 1_000).or_else(|| value("throttled_time ")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_and_its_ancestors_are_found() {
        let shown = |own: &str| candidates(own).iter().map(|file| file.to_string_lossy().into_owned()).collect::<Vec<_>>();
        let own = shown("0::/user.slice/app.service\n");
        assert!(own.starts_with(&[
            "/sys/fs/cgroup/user.slice/app.service/cpu.stat".to_owned(),
            "/sys/fs/cgroup/user.slice/cpu.stat".to_owned(),
            "/sys/fs/cgroup/cpu.stat".to_owned()
        ]));
        assert!(shown("4:cpu,cpuacct:/a\n3:memory:/b\n").contains(&"/sys/fs/cgroup/cpu/a/cpu.stat".to_owned()));
        assert!(shown("3:memory:/b\n").is_empty());
    }

    #[test]
    fn both_versions_are_read() {
        assert_eq!(throttled_ns("usage_usec 5\nnr_throttled 2\nthrottled_usec 12\n"), 12_000);
        assert_eq!(throttled_ns("nr_periods 5\nnr_throttled 2\nthrottled_time 12000\n"), 12_000);
        assert_eq!(throttled_ns("usage_usec 5\n"), 0);
    }
}
