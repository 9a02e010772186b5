//! Processes on macOS, from libproc (`<libproc.h>`). The kernel shows the processes of other users to root only, except for their names and parents.

use std::mem::zeroed;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

mod sockets;

pub use sockets::{DescriptorList, SocketFacts, SocketStage, descriptors};

/// Names, numbers and users, which every user may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Cut at 15 characters.
    pub name: String,
    pub parent: u32,
    pub group: u32,
}

/// What a process has used since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskUse {
    pub user_ns: u64,
    pub system_ns: u64,
    pub resident_bytes: u64,
    pub threads: u32,
    /// Microseconds since 1970.
    pub started_us: u64,
}

/// Disk and scheduler since a process started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessResources {
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Time in which its threads were ready to run and waited for a core.
    pub core_wait_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadCpu {
    /// Unique in its process.
    pub id: u64,
    pub cpu_ns: u64,
    /// Empty if the program gave it none.
    pub name: String,
}

/// Threads of one process that are read.
const THREADS_MAX: usize = 4_096;

/// All processes.
pub fn ids() -> Vec<u32> {
    // SAFETY: without a buffer, the call only returns how many there are.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    // More may start meanwhile.
    let mut ids = vec![0_i32; usize::try_from(count).unwrap_or(0) + 64];
    let bytes = libc::c_int::try_from(size_of_val(ids.as_slice())).unwrap_or(libc::c_int::MAX);
    // SAFETY: the kernel writes at most `bytes` bytes.
    let count = unsafe { libc::proc_listallpids(ids.as_mut_ptr().cast(), bytes) };
    ids.truncate(usize::try_from(count).unwrap_or(0));
    ids.into_iter().filter_map(|id| u32::try_from(id).ok()).filter(|id| *id > 0).collect()
}

/// `None`: there is no such process.
pub fn facts(pid: u32) -> Option<ProcessFacts> {
    // SAFETY: the type consists of plain numbers, for which zeros are valid.
    let mut info: libc::proc_bsdshortinfo = unsafe { zeroed() };
    fill(pid, libc::PROC_PIDT_SHORTBSDINFO, 0, &mut info)?;
    Some(ProcessFacts { name: text(&info.pbsi_comm), parent: info.pbsi_ppid, group: info.pbsi_pgid })
}

/// `None`: there is no such process, or it belongs to another user.
pub fn task(pid: u32) -> Option<TaskUse> {
    // SAFETY: the type consists of plain numbers, for which zeros are valid.
    let mut info: libc::proc_taskallinfo = unsafe { zeroed() };
    fill(pid, libc::PROC_PIDTASKALLINFO, 0, &mut info)?;
    Some(TaskUse {
        user_ns: of_ticks(info.ptinfo.pti_total_user),
        system_ns: of_ticks(info.ptinfo.pti_total_system),
        resident_bytes: info.ptinfo.pti_resident_size,
        threads: u32::try_from(info.ptinfo.pti_threadnum).unwrap_or(0),
        started_us: info.pbsd.pbi_start_tvsec * 1_000_000 + info.pbsd.pbi_start_tvusec,
    })
}

/// `None`: there is no such process, or it belongs to another user.
///
/// The kernel counts for each thread how long it was able to run, with or without a core (`runnable_timer` in xnu's osfmk/kern/sched_prim.c). The wait is the
/// part of that time without CPU time.
pub fn resources(pid: u32) -> Option<ProcessResources> {
    // SAFETY: the type consists of plain numbers, for which zeros are valid.
    let mut info: libc::rusage_info_v4 = unsafe { zeroed() };
    let pid = libc::c_int::try_from(pid).ok()?;
    // SAFETY: this version of the call writes one value of this type.
    let result = unsafe { libc::proc_pid_rusage(pid, libc::RUSAGE_INFO_V4, (&raw mut info).cast()) };
    (result == 0).then(|| ProcessResources {
        read_bytes: info.ri_diskio_bytesread,
        written_bytes: info.ri_diskio_byteswritten,
        core_wait_ns: of_ticks(info.ri_runnable_time.saturating_sub(info.ri_user_time + info.ri_system_time)),
    })
}

/// Empty if there is no such process, or it belongs to another user.
pub fn threads(pid: u32) -> Vec<ThreadCpu> {
    let mut handles = vec![0_u64; THREADS_MAX];
    let Some(bytes) = fill_slice(pid, PROC_PIDLISTTHREADS, &mut handles) else { return Vec::new() };
    handles.truncate(bytes / size_of::<u64>());
    let usage = |handle: u64| {
        // SAFETY: the type consists of plain numbers, for which zeros are valid.
        let mut info: libc::proc_threadinfo = unsafe { zeroed() };
        fill(pid, libc::PROC_PIDTHREADINFO, handle, &mut info)?;
        // Nanoseconds, unlike the times of a process (`fill_taskthreadinfo` in xnu's osfmk/kern/bsd_kern.c).
        Some(ThreadCpu { id: handle, cpu_ns: info.pth_user_time + info.pth_system_time, name: text(&info.pth_name) })
    };
    handles.into_iter().filter_map(usage).collect()
}

/// `<sys/proc_info.h>`. The `libc` crate lacks it.
const PROC_PIDLISTTHREADS: libc::c_int = 6;

/// The program that a process runs.
pub fn program(pid: u32) -> Option<PathBuf> {
    let mut path = vec![0_u8; libc::PROC_PIDPATHINFO_MAXSIZE as usize];
    let pid = libc::c_int::try_from(pid).ok()?;
    // SAFETY: the kernel writes at most as many bytes as stated.
    let length = unsafe { libc::proc_pidpath(pid, path.as_mut_ptr().cast(), path.len() as u32) };
    path.truncate(usize::try_from(length).ok().filter(|length| *length > 0)?);
    Some(PathBuf::from(std::ffi::OsString::from_vec(path)))
}

/// The arguments of a process, followed by its environment, each with a zero at its end (sysctl(3), KERN_PROCARGS2). `None` if it belongs to another user.
pub fn arguments(pid: u32) -> Option<Vec<u8>> {
    let bytes = crate::sysctl::by_numbers(&mut [libc::CTL_KERN, libc::KERN_PROCARGS2, libc::c_int::try_from(pid).ok()?])?;
    // The number of arguments, the program's path, zeros, the arguments, the environment.
    let after_path = bytes.get(4..)?.iter().position(|byte| *byte == 0)? + 4;
    let first = bytes[after_path..].iter().position(|byte| *byte != 0)? + after_path;
    Some(bytes[first..].to_vec())
}

/// One value of a process. `None` unless the kernel fills it completely.
fn fill<T>(pid: u32, flavor: libc::c_int, argument: u64, into: &mut T) -> Option<()> {
    let size = libc::c_int::try_from(size_of::<T>()).ok()?;
    let pid = libc::c_int::try_from(pid).ok()?;
    // SAFETY: the kernel writes at most `size` bytes.
    let written = unsafe { libc::proc_pidinfo(pid, flavor, argument, std::ptr::from_mut(into).cast(), size) };
    (written == size).then_some(())
}

/// A list of a process. Returns the bytes written.
fn fill_slice<T>(pid: u32, flavor: libc::c_int, into: &mut [T]) -> Option<usize> {
    let size = libc::c_int::try_from(size_of_val(into)).ok()?;
    let pid = libc::c_int::try_from(pid).ok()?;
    // SAFETY: the kernel writes at most `size` bytes.
    let written = unsafe { libc::proc_pidinfo(pid, flavor, 0, into.as_mut_ptr().cast(), size) };
    usize::try_from(written).ok().filter(|written| *written > 0)
}

fn text(bytes: &[libc::c_char]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Nanoseconds of a time in ticks of the Mach clock: one on Intel, 125 / 3 on Apple silicon.
fn of_ticks(ticks: u64) -> u64 {
    let (numerator, denominator) = crate::clock::timebase();
    u64::try_from(u128::from(ticks) * u128::from(numerator) / u128::from(denominator)).unwrap_or(u64::MAX)
}
