//! From values of the kernel by name (sysctl(3)), and from the Mach host. macOS has neither control groups nor connection tracking, and chooses the clock
//! source and the clock rate itself.

use loadstone_platform::{machine, sysctl};

use super::super::readings::MachineReadings;
use super::ticks::Ticks;

/// What both systems have is left to the caller.
pub(super) fn read_machine() -> MachineReadings {
    let port = |name: &str| sysctl::number(name).and_then(|port| u16::try_from(port).ok());
    MachineReadings {
        ports: port("net.inet.ip.portrange.first").zip(port("net.inet.ip.portrange.last")),
        time_wait_seconds: sysctl::number("net.inet.tcp.msl").map(|ms| 2.0 * ms as f64 / 1e3),
        reads_limits: true,
        memory: machine::memory().map(|memory| memory.available),
        reads_others: Some(rustix::process::getuid().is_root()),
        ..MachineReadings::default()
    }
}

/// The hypervisor's part is not counted.
pub(super) fn ticks() -> Option<Ticks> {
    let ticks = machine::cpu()?;
    Some(Ticks { all: ticks.user + ticks.system + ticks.idle + ticks.nice, idle: ticks.idle, stolen: 0 })
}
