//! How changes are applied to a system that runs.

use std::fs;
use std::io;
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};

use super::change::{GO_SERVICES, SystemChange};
use super::hotel_system::HotelSystem;
use super::services::POSTGRES_PORT;
use crate::external_measure::service_processes::ProcessGroup;

/// Where the frontend listens, to which a flood opens connections.
const FLOODED_PORT: u16 = 5300;
/// The flood's times, as in SREGym's FileDescriptorExhaustion.
const FLOOD_INTERVAL: Duration = Duration::from_millis(2);
const FLOOD_HELD: Duration = Duration::from_secs(5);
const FLOOD_PAUSE: Duration = Duration::from_secs(2);
/// The period of the scheduler's CPU limits, in microseconds: the kernel's default.
const CPU_PERIOD_US: u32 = 100_000;

/// Changes a system that runs. What is returned ends the change when it is dropped, if the system does not.
pub(super) fn apply(change: &SystemChange, hotel: &HotelSystem<'_>) -> Result<Option<Disturbance>> {
    match change {
        SystemChange::Descriptors { service, limit, connections } => {
            limit_descriptors(hotel.process_id(service)?, *limit).with_context(|| format!("limiting descriptors of {service}"))?;
            return Ok(Some(Disturbance::Flood { _ends_when_dropped: Flood::start(*connections)? }));
        }
        SystemChange::TableLock { schema, collection, held_s, released_s } => {
            return lock_table(schema, collection, *held_s, *released_s)
                .map(|locks| Some(Disturbance::Locks { _ends_when_dropped: locks }));
        }
        SystemChange::CpuLimit { service, percent } => limit_cpu(hotel, service, *percent)?,
        SystemChange::CpuLimits { percent } => GO_SERVICES.iter().try_for_each(|service| limit_cpu(hotel, service, *percent))?,
        SystemChange::StoreDelay { milliseconds } => hotel.path.set_delay(*milliseconds),
        // In the configuration or the load.
        SystemChange::Environment { .. }
        | SystemChange::CacheItemMax { .. }
        | SystemChange::StoreConnections { .. }
        | SystemChange::LoadSpike { .. } => {}
    }
    Ok(None)
}

/// What disturbs the system from outside, until it is dropped.
pub(super) enum Disturbance {
    Flood { _ends_when_dropped: Flood },
    Locks { _ends_when_dropped: ProcessGroup },
}

fn limit_cpu(hotel: &HotelSystem<'_>, service: &str, percent: u32) -> Result<()> {
    let file = hotel.system.cpu_group(service).join("cpu.cfs_quota_us");
    fs::write(&file, (CPU_PERIOD_US / 100 * percent).to_string()).with_context(|| format!("writing {}", file.display()))
}

/// Both the soft and the hard limit, also for the time that has passed since the process started.
fn limit_descriptors(process: libc::pid_t, limit: u64) -> io::Result<()> {
    let limits = libc::rlimit { rlim_cur: limit, rlim_max: limit };
    // SAFETY: the first pointer is valid for reads for the time of the call, and the second may be null.
    match unsafe { libc::prlimit(process, libc::RLIMIT_NOFILE, &raw const limits, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn lock_table(schema: &str, collection: &str, held_s: u32, released_s: u32) -> Result<ProcessGroup> {
    let psql = format!("psql -h 127.0.0.1 -p {POSTGRES_PORT} -U postgres -d hotel -qAt");
    // FerretDB names a collection's table by the collection and a hash.
    let script = format!(
        "table=$({psql} -c \"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}' AND tablename ~ '^{collection}_[0-9a-f]{{8}}$'\")\n\
         [ -n \"$table\" ] || exit 1\n\
         while :; do\n\
         {psql} -c \"BEGIN; LOCK TABLE \\\"{schema}\\\".\\\"$table\\\" IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep({held_s}); COMMIT\" >/dev/null\n\
         sleep {released_s}\n\
         done"
    );
    ProcessGroup::spawn(Command::new("sh").args(["-c", &script])).context("cannot start sh")
}

/// Connections that a thread opens, holds and closes.
pub(super) struct Flood {
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Flood {
    fn start(connections: usize) -> Result<Self> {
        raise_own_descriptors().context("raising this process's limit of descriptors")?;
        let is_stopped = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&is_stopped);
        let thread = thread::spawn(move || {
            let is_stopped = || shared.load(Ordering::Relaxed);
            while !is_stopped() {
                let mut held = Vec::new();
                for _ in (0..connections).take_while(|_| !is_stopped()) {
                    held.extend(TcpStream::connect(("127.0.0.1", FLOODED_PORT)));
                    thread::sleep(FLOOD_INTERVAL);
                }
                thread::sleep(FLOOD_HELD);
                drop(held);
                thread::sleep(FLOOD_PAUSE);
            }
        });
        Ok(Self { is_stopped, thread: Some(thread) })
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        let _panicked = self.thread.take().map(JoinHandle::join);
    }
}

fn raise_own_descriptors() -> io::Result<()> {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointers are valid for the time of each call.
    let result = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limits);
        limits.rlim_cur = limits.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limits)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
