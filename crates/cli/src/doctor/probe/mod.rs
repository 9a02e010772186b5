//! Reads the machine. It changes nothing, and only queries the kernel and the resolver.

use std::collections::BTreeSet;
use std::net::ToSocketAddrs;
use std::path::Path;
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use url::Url;

use super::readings::{Lookup, MachineReadings};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as system;
mod ticks;

/// How long the CPU use of other processes is observed.
const CPU_OBSERVATION: Duration = Duration::from_millis(500);

/// `target`: the name to resolve. `runs`: the folder of run directories.
pub(crate) fn read_machine(target: Option<&Url>, runs: &Path) -> MachineReadings {
    let (stolen, busy) = watched().unzip();
    MachineReadings {
        descriptors: loadstone_platform::descriptors::limit_max(),
        cores: (loadstone_session::machine_cores().unwrap_or_else(loadstone_session::cores), loadstone_session::cores()),
        stolen: stolen.filter(|_| loadstone_platform::COUNTS_WAITS),
        busy,
        name_servers: name_servers(&std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default()),
        lookup: target.and_then(look_up),
        disk: disk(runs),
        ..system::read_machine()
    }
}

/// Shares of the machine's CPU time that the hypervisor took and that other processes used, while this process was idle.
fn watched() -> Option<(f64, f64)> {
    let before = system::ticks()?;
    std::thread::sleep(CPU_OBSERVATION);
    system::ticks()?.since(&before)
}

fn name_servers(resolv: &str) -> Vec<String> {
    resolv.lines().filter_map(|line| line.trim().strip_prefix("nameserver")).map(|rest| rest.trim().to_owned()).collect()
}

fn look_up(target: &Url) -> Option<Lookup> {
    let (host, port) = (target.host_str()?, target.port_or_known_default().unwrap_or(80));
    let clock = Monotonic::start();
    let found = (host.trim_matches(['[', ']']), port).to_socket_addrs();
    let found =
        found.map(|addresses| addresses.map(|address| address.ip()).collect::<BTreeSet<_>>().len()).map_err(|error| error.to_string());
    Some(Lookup { host: host.to_owned(), found, seconds: clock.now() as f64 / 1e9 })
}

/// Free space of the nearest existing folder.
fn disk(runs: &Path) -> Option<(String, u64)> {
    let absolute = std::path::absolute(runs).ok()?;
    let existing = absolute.ancestors().find(|folder| folder.exists())?;
    let room = rustix::fs::statvfs(existing).ok()?;
    Some((runs.display().to_string(), room.f_bavail * room.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_are_lines_of_the_resolvers_file() {
        assert_eq!(name_servers("# mine\nsearch x\nnameserver 10.0.0.1\n nameserver ::1\n"), ["10.0.0.1", "::1"]);
    }
}
