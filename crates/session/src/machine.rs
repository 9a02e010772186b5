//! The machine that generates the load: its properties for the run directory, and the limits raised before the start.

use loadstone_run_directory::HostFacts;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open descriptors to its maximum. Returns the new limit.
pub(crate) fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // Raising fails only if even the hard limit cannot be reached. The current limit applies then.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Properties of this machine.
pub(crate) fn facts() -> HostFacts {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo").lines().find_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned()));
    let memory_kib = read("/proc/meminfo")
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    HostFacts {
        hostname: read("/proc/sys/kernel/hostname").trim().to_owned(),
        cpu: cpu.unwrap_or_default(),
        cores: machine_cores().unwrap_or_else(cores),
        memory_bytes: memory_kib.unwrap_or(0) * 1024,
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        descriptors_max: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
    }
}

/// Online cores of the machine, regardless of how many this process may use.
fn machine_cores() -> Option<u32> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let cores = stat.lines().filter(|line| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())));
    u32::try_from(cores.count()).ok().filter(|cores| *cores > 0)
}

/// This machine's name.
pub fn hostname() -> String {
    facts().hostname
}

/// Cores that this process may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}
