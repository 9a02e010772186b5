//! The machine on macOS: CPU time and memory, from the Mach host (`<mach/mach_host.h>`).

use std::mem::zeroed;

/// CPU time of all cores since the machine started, in ticks of [`TICKS_PER_SECOND`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTicks {
    pub user: u64,
    pub system: u64,
    pub idle: u64,
    pub nice: u64,
}

/// `CLK_TCK` of `<time.h>`, which the Mach host uses for its ticks.
pub const TICKS_PER_SECOND: f64 = 100.0;

/// Bytes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineMemory {
    pub total: u64,
    /// Free, and used only to cache files or speculatively.
    pub available: u64,
}

pub fn cpu() -> Option<CpuTicks> {
    // SAFETY: the type consists of plain numbers, for which zeros are valid.
    let mut load: libc::host_cpu_load_info = unsafe { zeroed() };
    let mut count = libc::HOST_CPU_LOAD_INFO_COUNT;
    // SAFETY: the kernel writes at most `count` integers to the value, which has that many.
    let result = unsafe { libc::host_statistics64(host(), libc::HOST_CPU_LOAD_INFO, (&raw mut load).cast(), &raw mut count) };
    let [user, system, idle, nice] = load.cpu_ticks.map(u64::from);
    (result == libc::KERN_SUCCESS).then_some(CpuTicks { user, system, idle, nice })
}

pub fn memory() -> Option<MachineMemory> {
    // SAFETY: the type consists of plain numbers, for which zeros are valid.
    let mut pages: libc::vm_statistics64 = unsafe { zeroed() };
    let mut count = libc::HOST_VM_INFO64_COUNT;
    // SAFETY: the kernel writes at most `count` integers to the value, which has that many.
    let result = unsafe { libc::host_statistics64(host(), libc::HOST_VM_INFO64, (&raw mut pages).cast(), &raw mut count) };
    let available = u64::from(pages.free_count) + u64::from(pages.external_page_count);
    let total = crate::sysctl::number("hw.memsize")?;
    (result == libc::KERN_SUCCESS).then_some(MachineMemory { total, available: available * rustix::param::page_size() as u64 })
}

/// Cores of the machine.
pub fn cores() -> Option<u32> {
    crate::sysctl::number("hw.logicalcpu").and_then(|cores| u32::try_from(cores).ok())
}

/// The host's port. The kernel counts its uses, and each call adds one, so it is asked for once.
fn host() -> libc::mach_port_t {
    static HOST: std::sync::OnceLock<libc::mach_port_t> = std::sync::OnceLock::new();
    // SAFETY: the call takes no argument.
    *HOST.get_or_init(|| unsafe { mach_host_self() })
}

// Of `<mach/mach_init.h>`. The declaration of the `libc` crate is deprecated.
unsafe extern "C" {
    fn mach_host_self() -> libc::mach_port_t;
}
