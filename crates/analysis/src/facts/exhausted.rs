//! Which resource of the machine or of a process was exhausted while work waited: CPU, disk, descriptors.

use metrics::Role;
use run_directory::Run;

use super::calls_at_once::CallCeiling;
use super::signals::ObservedSignals;
use super::waiting::WaitingStretch;
use crate::RunTally;

/// Share of the machine's cores from which they are exhausted.
const FULL: f64 = 0.93;
/// A thread that has a core to itself: what it uses; the least of that and its waiting for a core together; in what share of the readings.
const ONE_CORE_USED: (f64, f64) = (0.80, 1.06);
const ONE_CORE_WANTED: f64 = 0.90;
const ONE_CORE_SHARE: f64 = 0.80;
/// Highest median of both together: many threads on a crowded machine may use as much, but wait longer. A median, as garbage collectors wait, too.
const ONE_THREAD_WANTED: f64 = 1.25;
/// Share of the time that a control group was throttled.
const THROTTLED: f64 = 0.05;
/// Share of the time that a disk was busy, and the mean number of requests at it: a fast disk is busy long before it is saturated.
const DISK_BUSY: f64 = 0.90;
const DISK_QUEUE: f64 = 3.0;
/// Share of the descriptors that a process may have, and of the readings in which that many were open.
const DESCRIPTORS: f64 = 0.97;
const DESCRIPTORS_SHARE: f64 = 0.5;

/// A resource that was exhausted, and the stretch in which work waited meanwhile.
pub(crate) struct Exhausted<'a> {
    pub(crate) waiting: WaitingStretch,
    pub(crate) resource: ExhaustedResource<'a>,
    /// Names of the signals that show it.
    pub(crate) series: Vec<String>,
}

/// Means over the stretch. Shares are from 0 to 1.
pub(crate) enum ExhaustedResource<'a> {
    /// `at_limit`: share of the readings.
    Descriptors {
        process: &'a str,
        limit: f64,
        at_limit: f64,
    },
    /// `throttled`: share of the time.
    GroupCpu {
        group: &'a str,
        cores_max: f64,
        throttled: f64,
    },
    MachineCpu(MachineCpu),
    ProcessCpu(ProcessCpu<'a>),
    Disk {
        device: &'a str,
        busy: f64,
        queue: f64,
    },
}

/// Shares of the machine's cores.
pub(crate) struct MachineCpu {
    pub(crate) cores: f64,
    pub(crate) used: f64,
    pub(crate) by_generator: f64,
    /// By the observed processes; `None`: none was observed.
    pub(crate) by_observed: Option<f64>,
}

pub(crate) struct ProcessCpu<'a> {
    pub(crate) process: &'a str,
    /// Cores of the machine, if the process used all of them; `None`: it used just one.
    pub(crate) all_cores: Option<f64>,
    pub(crate) cores_used: f64,
    pub(crate) threads: f64,
    /// Seconds per second that its threads waited for a core.
    pub(crate) run_delay: f64,
}

/// One of them, and the names of the signals that show it.
type FoundResource<'a> = (ExhaustedResource<'a>, Vec<String>);

/// Where to look.
struct Search<'f, 'a> {
    run: &'f Run,
    tally: &'f RunTally,
    signals: &'f ObservedSignals<'a>,
    from: f64,
    to: f64,
}

/// The first that was exhausted, the most telling ones first. Not looked for where the calls to an endpoint take nearly all of the callers' time.
pub(super) fn find<'a>(
    run: &Run,
    tally: &RunTally,
    signals: &ObservedSignals<'a>,
    waiting: &[WaitingStretch],
    call_ceiling: Option<&CallCeiling<'_>>,
) -> Option<Exhausted<'a>> {
    if call_ceiling.is_some_and(CallCeiling::explains_all) {
        return None;
    }
    let waiting = waiting.first()?;
    let search = Search { run, tally, signals, from: waiting.from, to: waiting.to };
    let found = search.descriptors().or_else(|| search.group()).or_else(|| search.machine());
    let (resource, series) = found.or_else(|| search.process()).or_else(|| search.disk())?;
    Some(Exhausted { waiting: waiting.clone(), resource, series })
}

impl<'a> Search<'_, 'a> {
    fn descriptors(&self) -> Option<FoundResource<'a>> {
        self.signals.parts_with(Role::ProcessDescriptorsMax).find_map(|process| {
            let open = self.signals.read(process, Role::ProcessDescriptors)?;
            let limit = self.signals.mean(process, Role::ProcessDescriptorsMax, self.from, self.to)?;
            let at_limit = open.share(self.from, self.to, |open| open >= DESCRIPTORS * limit)?;
            let resource = ExhaustedResource::Descriptors { process: process.observer, limit, at_limit };
            (at_limit >= DESCRIPTORS_SHARE).then(|| (resource, vec![open.name()]))
        })
    }

    fn group(&self) -> Option<FoundResource<'a>> {
        self.signals.parts_with(Role::GroupThrottled).find_map(|group| {
            let held_back = self.signals.read(group, Role::GroupThrottled)?;
            let throttled = held_back.mean(self.from, self.to).filter(|share| *share >= THROTTLED)?;
            let cores_max = self.signals.mean(group, Role::GroupCpuMax, self.from, self.to)?;
            let used = self.signals.read(group, Role::GroupCpu);
            let series = std::iter::once(held_back.name()).chain(used.map(|used| used.name())).collect();
            Some((ExhaustedResource::GroupCpu { group: group.observer, cores_max, throttled }, series))
        })
    }

    fn machine(&self) -> Option<FoundResource<'a>> {
        let machine = self.signals.parts_with(Role::MachineIdle).next()?;
        let mean = |role| self.signals.mean(machine, role, self.from, self.to);
        let cores = mean(Role::MachineCores)?;
        let free = mean(Role::MachineIdle)? + mean(Role::MachineIoWait).unwrap_or(0.0);
        let used = 1.0 - free / cores.max(1.0);
        if used < FULL {
            return None;
        }
        let generator: u64 = self.tally.workers().iter().map(|worker| worker.busy_ns).sum();
        let by_generator = generator as f64 / 1e9 / self.tally.duration_seconds().max(1e-9) / cores.max(1.0);
        let processes = self.signals.parts_with(Role::ProcessCpu);
        let observed: Vec<f64> = processes.filter_map(|process| self.signals.mean(process, Role::ProcessCpu, self.from, self.to)).collect();
        let by_observed = (!observed.is_empty()).then(|| observed.iter().sum::<f64>() / cores.max(1.0));
        let series = [Role::MachineIdle, Role::MachineRunQueue].into_iter().filter_map(|role| self.signals.read(machine, role));
        let series = series.map(|readings| readings.name()).collect();
        Some((ExhaustedResource::MachineCpu(MachineCpu { cores, used, by_generator, by_observed }), series))
    }

    fn process(&self) -> Option<FoundResource<'a>> {
        let cores = f64::from(self.run.info.host.cores.max(1));
        self.signals.parts_with(Role::ProcessRunDelay).find_map(|process| {
            let cpu = self.signals.read(process, Role::ProcessCpu)?;
            let delay = self.signals.read(process, Role::ProcessRunDelay)?;
            let cores_used = cpu.mean(self.from, self.to)?;
            let threads = self.signals.mean(process, Role::ProcessThreads, self.from, self.to)?;
            let has_all = cores_used >= FULL * cores;
            let at_one_core = one_core_share(&cpu.beside(&delay, self.from, self.to))?;
            if !has_all && at_one_core < ONE_CORE_SHARE {
                return None;
            }
            let resource = ExhaustedResource::ProcessCpu(ProcessCpu {
                process: process.observer,
                all_cores: has_all.then_some(cores),
                cores_used,
                threads,
                run_delay: delay.mean(self.from, self.to).unwrap_or(0.0),
            });
            Some((resource, vec![cpu.name(), delay.name()]))
        })
    }

    fn disk(&self) -> Option<FoundResource<'a>> {
        self.signals.parts_with(Role::DiskBusy).find_map(|disk| {
            let (at_work, waiting) = (self.signals.read(disk, Role::DiskBusy)?, self.signals.read(disk, Role::DiskQueue)?);
            let busy = at_work.mean(self.from, self.to).filter(|share| *share >= DISK_BUSY)?;
            let queue = waiting.mean(self.from, self.to).filter(|length| *length >= DISK_QUEUE)?;
            Some((ExhaustedResource::Disk { device: disk.part, busy, queue }, vec![at_work.name(), waiting.name()]))
        })
    }
}

/// Share of the readings `(cores used, cores waited for)` in which one thread had a core to itself; `None` without readings.
fn one_core_share(readings: &[(f64, f64)]) -> Option<f64> {
    let mut wanted: Vec<f64> = readings.iter().map(|(used, waited)| used + waited).collect();
    wanted.sort_by(f64::total_cmp);
    let is_one_thread = *wanted.get(wanted.len() / 2)? <= ONE_THREAD_WANTED;
    let full = |(used, waited): &&(f64, f64)| *used >= ONE_CORE_USED.0 && *used <= ONE_CORE_USED.1 && used + waited >= ONE_CORE_WANTED;
    Some(if is_one_thread { readings.iter().filter(full).count() as f64 / readings.len() as f64 } else { 0.0 })
}
