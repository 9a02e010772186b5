//! From the Mach host. Deliberately absent: disks and network interfaces, whose counters need IOKit and routing messages, and what macOS does not count:
//! steal, pressure and waiting tasks.

use loadstone_metrics::Role;
use loadstone_platform::machine::{self, TICKS_PER_SECOND};

use super::metrics::{CORES, CPU, MEMORY_AVAILABLE, MEMORY_TOTAL};
use crate::collector::SignalCollector;
use crate::reader::{PendingRead, SignalReader, at_once};

#[derive(Debug, Default)]
pub(super) struct Host;

/// The Mach host does not respond.
#[derive(Debug, thiserror::Error)]
#[error("the kernel does not show its CPU time (host_statistics64)")]
struct NoStatistics;

impl SignalReader for Host {
    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        at_once(look(out))
    }
}

/// # Errors
/// When the CPU time cannot be read. Memory is skipped if it cannot.
fn look(out: &mut SignalCollector) -> Result<(), NoStatistics> {
    let ticks = machine::cpu().ok_or(NoStatistics)?;
    let modes = [
        ("user", Role::MachineCpu, ticks.user),
        ("nice", Role::MachineCpu, ticks.nice),
        ("system", Role::MachineCpu, ticks.system),
        ("idle", Role::MachineIdle, ticks.idle),
    ];
    for (mode, role, ticks) in modes {
        out.put_labelled(CPU.role(role), &[("mode", mode)], ticks as f64 / TICKS_PER_SECOND);
    }
    if let Some(cores) = machine::cores() {
        out.put(CORES, f64::from(cores));
    }
    if let Some(memory) = machine::memory() {
        out.put(MEMORY_TOTAL, memory.total as f64);
        out.put(MEMORY_AVAILABLE, memory.available as f64);
    }
    Ok(())
}
