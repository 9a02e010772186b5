//! How the machine affected a worker: read once a second from the kernel, and added to the worker's own counts.

use loadstone_metrics::clock::{raw_ahead_ns, thread_cpu_ns};
use loadstone_metrics::{GeneratorSlice, Nanos};

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as system;
mod reading;

use system::MachineCounters;

/// Reads the growth of the kernel's counters since the last reading.
///
/// A counter that cannot be read (for example, because no descriptor is free) is absent, not zero: its growth is part of the next reading.
#[derive(Debug, Default)]
pub(crate) struct HostMeter {
    /// Set on one worker, which also reads the counters of the whole machine for all workers.
    machine: Option<MachineCounters>,
    at: Nanos,
    cpu_ns: u64,
    run_queue_ns: Option<u64>,
    raw_ahead_ns: Option<i64>,
    steal_ns: Option<u64>,
    throttled_ns: Option<u64>,
    retransmits: Option<u64>,
    syn_retransmits: Option<u64>,
}

impl HostMeter {
    /// Must be called on the worker's thread.
    pub(crate) fn start(machine: bool, now: Nanos) -> Self {
        let mut meter = Self { machine: machine.then(MachineCounters::find), at: now, ..Self::default() };
        meter.read_into(&mut GeneratorSlice::default(), now);
        meter
    }

    pub(crate) fn read_into(&mut self, slice: &mut GeneratorSlice, now: Nanos) {
        let wall_ns = now.saturating_sub(std::mem::replace(&mut self.at, now));
        slice.wall_ns += wall_ns;
        let cpu_ns = thread_cpu_ns();
        slice.busy_ns += cpu_ns.saturating_sub(std::mem::replace(&mut self.cpu_ns, cpu_ns));
        slice.lacks_kernel_counters = !loadstone_platform::COUNTS_WAITS;
        slice.run_queue_ns += growth(&mut self.run_queue_ns, system::run_queue_ns());
        if let Some(machine) = &self.machine {
            let counted = machine.read();
            let ahead_ns = raw_ahead_ns();
            if let Some((before, now)) = std::mem::replace(&mut self.raw_ahead_ns, ahead_ns).zip(ahead_ns) {
                slice.raw_ns += wall_ns.saturating_add_signed(now - before);
            }
            slice.steal_ns += growth(&mut self.steal_ns, counted.steal_ns);
            slice.throttled_ns += growth(&mut self.throttled_ns, counted.throttled_ns);
            slice.retransmits += growth(&mut self.retransmits, counted.retransmits);
            slice.syn_retransmits += growth(&mut self.syn_retransmits, counted.syn_retransmits);
        }
    }
}

/// The growth since the last successful reading. The first one only sets the start.
fn growth(last: &mut Option<u64>, now: Option<u64>) -> u64 {
    let Some(now) = now else { return 0 };
    last.replace(now).map_or(0, |last| now.saturating_sub(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_reading_is_absent_and_not_zero() {
        // A counter since boot, which cannot be read at the start, and once later.
        let mut last = None;
        let readings = [None, Some(1_000), Some(1_010), None, Some(1_030)];
        assert_eq!(readings.map(|now| growth(&mut last, now)), [0, 0, 10, 0, 20]);
    }

    #[test]
    fn a_late_reading_is_not_clock_drift() {
        let mut meter = HostMeter::start(true, 0);
        let mut slice = GeneratorSlice::default();
        meter.read_into(&mut slice, 5_000_000_000);
        // The test passes the five seconds as an argument instead of waiting. The difference contains only how far the clocks diverged since the
        // start.
        assert!(slice.wall_ns.abs_diff(slice.raw_ns) < 1_000_000, "{} and {}", slice.wall_ns, slice.raw_ns);
    }
}
