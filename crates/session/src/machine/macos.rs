//! From values of the kernel by name (sysctl(3)).

use loadstone_platform::{machine, sysctl};

pub(super) fn hostname() -> String {
    sysctl::text("kern.hostname").unwrap_or_default()
}

/// The system's name, so that a report does not take its number for a version of Linux.
pub(super) fn kernel() -> String {
    format!("{} {}", sysctl::text("kern.ostype").unwrap_or_default(), sysctl::text("kern.osrelease").unwrap_or_default())
}

pub(super) fn cpu_model() -> Option<String> {
    sysctl::text("machdep.cpu.brand_string")
}

pub(super) fn memory_bytes() -> Option<u64> {
    sysctl::number("hw.memsize")
}

pub(super) fn machine_cores() -> Option<u32> {
    machine::cores()
}
