//! This machine: CPU, memory, and on Linux also steal, pressure, disks and network.

use crate::kind::{MacSupport, ObserverKind};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as system;
mod metrics;

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "host",
    watches: "this machine",
    example: "observe.host()",
    alternatives: "",
    reports: "`cpu{mode=idle}`, `runnable`, `pressure{…}`, `disk_busy{…}`, `disk_waiting{…}`, network, retransmits",
    options: &[],
    on_macos: MacSupport::Partial("CPU and memory only"),
    make: |_| Ok(Box::<system::Host>::default()),
};
