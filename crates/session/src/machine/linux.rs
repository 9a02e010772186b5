//! From text files of /proc.

pub(super) fn hostname() -> String {
    read("/proc/sys/kernel/hostname").trim().to_owned()
}

pub(super) fn kernel() -> String {
    read("/proc/sys/kernel/osrelease").trim().to_owned()
}

pub(super) fn cpu_model() -> Option<String> {
    read("/proc/cpuinfo").lines().find_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned()))
}

pub(super) fn memory_bytes() -> Option<u64> {
    let text = read("/proc/meminfo");
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

pub(super) fn machine_cores() -> Option<u32> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let cores = stat.lines().filter(|line| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())));
    u32::try_from(cores.count()).ok().filter(|cores| *cores > 0)
}

/// Empty if it cannot be read.
fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
