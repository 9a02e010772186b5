//! The machine that generates the load: its properties for the run directory.

use loadstone_run_directory::HostFacts;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as system;

/// Properties of this machine.
pub(crate) fn facts() -> HostFacts {
    HostFacts {
        hostname: system::hostname(),
        cpu: system::cpu_model().unwrap_or_default(),
        cores: system::machine_cores().unwrap_or_else(cores),
        memory_bytes: system::memory_bytes().unwrap_or(0),
        kernel: system::kernel(),
        descriptors_max: loadstone_platform::descriptors::limit(),
    }
}

/// This machine's name.
pub fn hostname() -> String {
    system::hostname()
}

/// Cores that this process may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

/// Online cores of the machine, regardless of how many this process may use. `None`: cannot be read.
pub fn machine_cores() -> Option<u32> {
    system::machine_cores()
}
