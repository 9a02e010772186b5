//! Which resources of the machine or of a process were used up while work was held up: CPU, heap, disk, link, descriptors.
//!
//! A resource has k places, and each request needs one for D seconds. By the utilisation law (Denning and Buzen 1978), X requests per second use U = X·D
//! places, and at most k/D pass per second. Each resource is therefore examined while it was at its limit, for any shape of the load. It counts if work was
//! held up meanwhile.

use loadstone_metrics::Role;

use super::calls_at_once::CallCeiling;
use super::changes::{CHANGE_FACTOR_MIN, Change, Changes};
use super::demand::CpuDemand;
use super::growing_memory::RELEASED_PART_MAX;
use super::load_response::LoadResponse;
use super::path::PathResource;
use super::plateau::Plateaus;
use super::process_cpu::{self, CpuLimit, ProcessCpu};
use super::readings::{SignalReadings, longest_run};
use super::search::{AtLimit, FULL_PART_MIN, LENGTH_MIN_S, READINGS_MIN, Search};
use super::signals::ObservedPart;
use super::strain::BUSY_BEFORE_MIN_S;
use super::waiting::WaitingStretch;
use crate::ResourceKind;

/// Share of the time that a control group must be throttled.
const THROTTLED_SHARE_MIN: f64 = 0.05;
/// Share of the time that a disk must be busy.
const DISK_BUSY_SHARE_MIN: f64 = 0.90;
/// Requests at a busy disk: a fast disk is busy long before it is saturated.
const DISK_QUEUE_MIN: f64 = 3.0;
/// Part of a link's speed that must be in use. Headers and acknowledgements use some of the rest, and counters differ in which of them they count.
const LINK_USED_PART_MIN: f64 = 0.90;
/// Part of the local ports for an endpoint that must be in use. The kernel tries only some of the last free ones at once.
const PORTS_PART_MIN: f64 = 0.97;
/// Part of a process's descriptors that must be open.
const DESCRIPTORS_PART_MIN: f64 = 0.97;
/// Readings at that limit. The kernel refuses the next descriptor at once, whereas a busy resource may be busy by chance.
const REFUSING_READINGS_MIN: usize = 2;
/// And seconds.
const REFUSING_MIN_S: f64 = 1.0;
/// Threads of the observed system that run or wait for a core, on average. While cores hold up work, there is nearly always one.
const THREADS_AT_CORES_MIN: f64 = 0.8;
/// Such threads for each request in the system, below which (Little's law) nearly all of the time is spent elsewhere.
const THREADS_PER_REQUEST_MIN: f64 = 0.1;
/// Threads that wait for a core for each request in the system, below which a machine that other programs fill is not why requests take long.
const WAITING_PER_REQUEST_MIN: f64 = 0.2;
/// And for each core in use, up to which the work at cores takes at most twice as long.
const WAITING_PER_CORE_USED_MAX: f64 = 1.0;
/// Requests that must be added to those in the system. The threads of fewer vary as much by chance.
const ADDED_REQUESTS_MIN: f64 = 2.0;
/// Part of the loaded time that counts as all of it.
const WHOLE_LOAD_PART_MIN: f64 = 0.9;
/// Share of the time spent collecting garbage from which a heap counts as used up.
const COLLECTING_SHARE_MIN: f64 = 0.30;
/// And from which it is named as part of the cause.
pub(crate) const COLLECTING_NAMED_SHARE_MIN: f64 = 0.1;
/// Part of a heap that is in use after each collection where no collection frees much.
const HEAP_USED_PART_MIN: f64 = 0.95;
/// Seconds without a reading before the load ends, from which the metrics of a process have stopped.
const SILENT_MIN_S: f64 = 5.0;
/// Cores in use by the busiest thread since then, as by a collector that finds nothing to free.
const BUSY_COLLECTOR_CORES_MIN: f64 = 0.85;
/// Readings in which it filled up.
const FILLING_READINGS_MIN: usize = 4;

/// A resource that was used up, and when.
pub(crate) struct Exhausted<'a> {
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// The stretch of waiting work that overlaps most, if any.
    pub(crate) waiting: Option<WaitingStretch>,
    /// Share of the requests that failed meanwhile, where nothing waited and failures are the effect.
    pub(crate) failed: Option<f64>,
    pub(crate) resource: ExhaustedResource<'a>,
    /// The demand of each request, where the resource is a CPU.
    pub(crate) demand: Option<CpuDemand>,
    /// Names of the signals that show it.
    pub(crate) series: Vec<String>,
}

/// Means over the stretch. Shares are from 0 to 1.
pub(crate) enum ExhaustedResource<'a> {
    Descriptors {
        process: &'a str,
        limit: f64,
    },
    /// Local ports for connections to an endpoint.
    Ports {
        process: &'a str,
        peer: &'a str,
        limit: f64,
    },
    /// `throttled`: seconds per second in which the group was throttled, summed over the cores.
    GroupCpu {
        group: &'a str,
        cores_max: f64,
        throttled: f64,
    },
    /// `collecting`: share of the time spent collecting garbage. `heap`: part of the heap in use, if it was read. `filled`: bytes in use at first and at the
    /// end, if the heap filled up without ever releasing much.
    Heap {
        process: &'a str,
        collecting: f64,
        heap: Option<f64>,
        filled: Option<(f64, f64)>,
        /// The index of the series of the used heap, and its maximum in bytes.
        heap_max: Option<(usize, f64)>,
    },
    /// A heap that was full when its metrics stopped, while a thread of the process was busy. `heap`: part in use at last. `at`: the last reading, in seconds
    /// since the run began. `thread`: cores in use by the busiest thread since then.
    SilentHeap {
        observer: &'a str,
        process: &'a str,
        heap: f64,
        at: f64,
        thread: f64,
        /// As in `Heap`.
        heap_max: (usize, f64),
    },
    ProcessCpu(ProcessCpu<'a>),
    MachineCpu(MachineCpu),
    Disk {
        device: &'a str,
        busy: f64,
        queue: f64,
    },
    /// Bytes per second.
    Network {
        device: &'a str,
        is_sending: bool,
        used: f64,
        speed: f64,
    },
}

/// Parts of the machine's cores.
pub(crate) struct MachineCpu {
    pub(crate) cores: f64,
    pub(crate) used: f64,
    pub(crate) by_generator: f64,
    /// Used by the observed processes; `None`: none was observed.
    pub(crate) by_observed: Option<f64>,
    /// Threads of the observed processes, and database sessions, that ran or waited for a core while work was held up; `None`: not read.
    pub(crate) at_cores: Option<f64>,
}

impl MachineCpu {
    /// Whether processes that are not observed used most of it: unrelated programs, or parts of the system.
    pub(crate) fn is_filled_by_others(&self) -> bool {
        self.by_generator + self.by_observed.unwrap_or(0.0) < 0.5 * self.used
    }

    /// Whether hardly any work of the observed system is at a core, so that processes which fill the machine are not why it waits.
    fn is_unrelated(&self, in_system: Option<f64>) -> bool {
        let hardly =
            |threads: f64| threads < THREADS_AT_CORES_MIN && in_system.is_some_and(|open| threads < THREADS_PER_REQUEST_MIN * open);
        self.at_cores.is_some_and(hardly)
    }
}

impl ExhaustedResource<'_> {
    /// Whether it is about one core of this process.
    pub(crate) fn is_one_core_of(&self, process: &str) -> bool {
        let is_one = |cpu: &ProcessCpu<'_>| match cpu.limit {
            CpuLimit::OneThread(_) | CpuLimit::OneAtATime { .. } => true,
            CpuLimit::Cores(cores) => cores == 1.0,
            _ => false,
        };
        matches!(self, ExhaustedResource::ProcessCpu(cpu) if cpu.process == process && is_one(cpu))
    }

    /// Whether the resource may have held up the observed system. A resource that does always has some of its work. Other processes may fill a machine whose
    /// cores the observed system hardly needs.
    pub(crate) fn is_wanted(&self) -> bool {
        match self {
            ExhaustedResource::MachineCpu(machine) => machine.at_cores.is_none_or(|threads| threads >= THREADS_AT_CORES_MIN),
            _ => true,
        }
    }
}

impl ExhaustedResource<'_> {
    /// Its name at the start of a sentence.
    pub(crate) fn name(&self) -> String {
        match self {
            ExhaustedResource::Descriptors { process, .. } => format!("The number of descriptors of \"{process}\""),
            ExhaustedResource::Ports { peer, .. } => format!("The number of local ports for {peer}"),
            ExhaustedResource::GroupCpu { group, .. } => format!("The CPU of the control group \"{group}\""),
            ExhaustedResource::Heap { process, .. } | ExhaustedResource::SilentHeap { process, .. } => format!("The heap of \"{process}\""),
            ExhaustedResource::ProcessCpu(cpu) => format!("The CPU of \"{}\"", cpu.process),
            ExhaustedResource::MachineCpu(_) => "The machine's CPU".to_owned(),
            ExhaustedResource::Disk { device, .. } => format!("The disk {device}"),
            ExhaustedResource::Network { device, .. } => format!("The link of {device}"),
        }
    }

    /// Whether a request for more of it fails instead of waiting.
    fn refuses(&self) -> bool {
        let is_number = matches!(self, ExhaustedResource::Descriptors { .. } | ExhaustedResource::Ports { .. });
        is_number || matches!(self, ExhaustedResource::Heap { .. } | ExhaustedResource::SilentHeap { .. })
    }
}

type FoundResource<'a> = AtLimit<ExhaustedResource<'a>>;

/// All resources that were used up, the strongest evidence first. None where the calls to an endpoint take nearly all of the callers' time.
pub(super) fn find<'a>(
    search: &Search<'_, 'a>,
    (responses, plateaus): (&[LoadResponse], &Plateaus),
    waiting: &[WaitingStretch],
    call_ceiling: Option<&CallCeiling<'_>>,
    changes: &Changes,
) -> Vec<Exhausted<'a>> {
    if call_ceiling.is_some_and(CallCeiling::explains_all) {
        return Vec::new();
    }
    let look = Resources(search);
    let found = [
        look.descriptors(),
        look.ports(),
        look.group(),
        look.heap().or_else(|| look.silent_heap()),
        look.process(responses, plateaus, changes),
        look.machine(),
        look.disk(),
        look.network(),
    ];
    let found = found.into_iter().flatten();
    let held_up = found.filter_map(|found| {
        let held = search.strain.held_part(look.without_onset(changes, &found), found.places).map(|part| (part, None));
        // A full resource may refuse work.
        let refused =
            || found.resource.refuses().then(|| search.strain.failed_more(found.span).map(|failed| (found.span, Some(failed))))?;
        Some((held.or_else(refused)?, found))
    });
    held_up
        .filter_map(|(((from, to), failed), AtLimit { span, mut resource, series, .. })| {
            if let ExhaustedResource::MachineCpu(machine) = &mut resource {
                machine.at_cores = look.at_cores(from, to);
                // A machine that is full all the time does not correlate with anything. Only the threads at its cores show whether the system needs more.
                let is_always = search.strain.loaded().is_some_and(|(begin, end)| span.1 - span.0 >= WHOLE_LOAD_PART_MIN * (end - begin));
                let before = search.strain.loaded().map(|(begin, _)| (begin, from)).filter(|(begin, from)| from - begin >= LENGTH_MIN_S);
                let is_unrelated = || {
                    machine.is_unrelated(search.strain.in_system(from, to))
                        || look.hardly_waits(from, to)
                        || before.is_some_and(|before| look.adds_elsewhere(before, (from, to)))
                };
                if is_always && machine.is_filled_by_others() && is_unrelated() {
                    return None;
                }
            }
            let overlap = |stretch: &&WaitingStretch| stretch.to.min(to) - stretch.from.max(from);
            let waiting = waiting.iter().filter(|stretch| overlap(stretch) > 0.0).max_by(|a, b| overlap(a).total_cmp(&overlap(b)));
            let demand = match &resource {
                ExhaustedResource::ProcessCpu(cpu) => CpuDemand::of(search.strain, responses, cpu.cores_used, (from, to)),
                _ => None,
            };
            Some(Exhausted { from, to, waiting: waiting.cloned(), failed, resource, demand, series })
        })
        .collect()
}

/// The longest stretch in which a signal was at a limit.
fn longest(readings: &SignalReadings<'_>, holds: impl Fn(f64) -> bool) -> Option<(f64, f64)> {
    longest_run(readings.points(), READINGS_MIN, LENGTH_MIN_S, holds)
}

/// One search for each kind of resource.
struct Resources<'s, 'f, 'a>(&'s Search<'f, 'a>);

impl<'a> Resources<'_, '_, 'a> {
    /// The first resource of a kind that was at its limit.
    fn first(&self, kind: ResourceKind, found: impl Fn(&PathResource<'a>) -> Option<FoundResource<'a>>) -> Option<FoundResource<'a>> {
        self.0.path.of_kind(kind).find_map(found)
    }

    fn descriptors(&self) -> Option<FoundResource<'a>> {
        self.first(ResourceKind::Descriptors, |of| {
            let open = of.used.as_ref()?;
            // The limit may change during the run.
            let (end, _) = *open.points().last()?;
            let limit = of.places(end - REFUSING_MIN_S, end + REFUSING_MIN_S)?;
            let is_at_limit = |open: f64| open >= DESCRIPTORS_PART_MIN * limit;
            let span = longest_run(open.points(), REFUSING_READINGS_MIN, REFUSING_MIN_S, is_at_limit)?;
            let resource = ExhaustedResource::Descriptors { process: of.part.observer, limit };
            Some(AtLimit { span, resource, places: limit, series: vec![open.name()] })
        })
    }

    fn ports(&self) -> Option<FoundResource<'a>> {
        self.0.signals.parts_with(Role::PortsInUse).find_map(|part| {
            let (used, max) = (self.0.signals.read(part, Role::PortsInUse)?, self.0.signals.read(part, Role::PortsMax)?);
            let limit = max.points().last().map(|(_, limit)| *limit)?;
            let is_at_limit = |ports: f64| ports >= PORTS_PART_MIN * limit;
            let span = longest_run(used.points(), REFUSING_READINGS_MIN, REFUSING_MIN_S, is_at_limit)?;
            let resource = ExhaustedResource::Ports { process: part.observer, peer: part.part, limit };
            Some(AtLimit { span, resource, places: limit, series: vec![used.name()] })
        })
    }

    fn group(&self) -> Option<FoundResource<'a>> {
        self.first(ResourceKind::Group, |of| {
            let held_back = of.waiting.as_ref()?;
            let span = longest(held_back, |share| share >= THROTTLED_SHARE_MIN)?;
            let (throttled, cores_max) = (held_back.mean(span.0, span.1)?, of.places(span.0, span.1)?);
            let series = std::iter::once(held_back).chain(&of.used).map(SignalReadings::name).collect();
            let resource = ExhaustedResource::GroupCpu { group: of.part.observer, cores_max, throttled };
            Some(AtLimit { span, resource, places: cores_max, series })
        })
    }

    /// All collectors of a runtime together.
    fn heap(&self) -> Option<FoundResource<'a>> {
        self.first(ResourceKind::Heap, |of| {
            let all = of.busy.as_ref()?;
            let span = longest(all, |share| share >= COLLECTING_SHARE_MIN)?;
            let collecting = all.mean(span.0, span.1)?;
            let (heap, filled) = (self.heap_share(of.part, span), self.heap_filled(of.part, span));
            let mut series: Vec<String> = self.0.signals.read_each(of.part, of.role).iter().map(SignalReadings::name).collect();
            let used = self.0.signals.read(of.part, Role::HeapUsed);
            let max = self.0.signals.read(of.part, Role::HeapMax).and_then(|max| max.mean(span.0, span.1));
            let heap_max = used.zip(max);
            let heap_max = heap_max.map(|(used, bytes)| {
                series.insert(0, used.name());
                (0, bytes)
            });
            let resource = ExhaustedResource::Heap { process: of.part.observer, collecting, heap, filled, heap_max };
            Some(AtLimit { span, resource, places: 1.0, series })
        })
    }

    /// A process that only collects garbage no longer answers the reader of its metrics, so that no reading shows its collections.
    fn silent_heap(&self) -> Option<FoundResource<'a>> {
        let (_, end) = self.0.strain.loaded()?;
        self.0.signals.parts_with(Role::HeapMax).find_map(|part| {
            let (used, max) = (self.0.signals.read(part, Role::HeapUsed)?, self.0.signals.read(part, Role::HeapMax)?);
            let (at, _) = *used.points().last().filter(|(at, _)| *at <= end - SILENT_MIN_S)?;
            let last = (at - LENGTH_MIN_S, at);
            let heap = used.mean(last.0, last.1)? / max.mean(last.0, last.1).filter(|max| *max > 0.0)?;
            let busy = self.0.signals.parts_with(Role::ProcessThreadCpuMax).filter_map(|process| {
                let thread = self.0.signals.read(process, Role::ProcessThreadCpuMax)?;
                let cores = thread.mean(at + 1.0, end).filter(|cores| *cores >= BUSY_COLLECTOR_CORES_MIN)?;
                Some((process.observer, cores, thread.name()))
            });
            let (process, thread, series) = busy.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| heap >= HEAP_USED_PART_MIN)?;
            let heap_max = (0, max.mean(last.0, last.1)?);
            let resource = ExhaustedResource::SilentHeap { observer: part.observer, process, heap, at, thread, heap_max };
            Some(AtLimit { span: (at, end), resource, places: 1.0, series: vec![used.name(), series] })
        })
    }

    fn heap_share(&self, process: ObservedPart<'a>, (from, to): (f64, f64)) -> Option<f64> {
        let used = self.0.signals.read(process, Role::HeapUsed)?.mean(from, to)?;
        let max = self.0.signals.read(process, Role::HeapMax)?.mean(from, to).filter(|max| *max > 0.0)?;
        Some(used / max)
    }

    /// The growth of a heap that filled up gradually, and whose collections now free hardly anything. Bytes.
    fn heap_filled(&self, process: ObservedPart<'a>, (from, to): (f64, f64)) -> Option<(f64, f64)> {
        let used = self.0.signals.read(process, Role::HeapUsed)?;
        let max = self.0.signals.read(process, Role::HeapMax)?.mean(from, to).filter(|max| *max > 0.0)?;
        let before: Vec<f64> = used.between(0.0, from).map(|(_, bytes)| bytes).collect();
        let (first, last) = (before.iter().copied().find(|bytes| *bytes > 0.0)?, used.mean(from, to)?);
        let fallen = before.windows(2).map(|pair| (pair[0] - pair[1]).max(0.0)).sum::<f64>();
        let stays_full = used.share(from, to, |bytes| bytes >= HEAP_USED_PART_MIN * max) == Some(1.0);
        let grew = last - first;
        (before.len() >= FILLING_READINGS_MIN && stays_full && grew >= 0.5 * max && fallen <= RELEASED_PART_MAX * grew)
            .then_some((first, last))
    }

    fn process(&self, responses: &[LoadResponse], plateaus: &Plateaus, changes: &Changes) -> Option<FoundResource<'a>> {
        let AtLimit { span, resource, places, series } = process_cpu::at_limit(self.0, responses, plateaus, changes)?;
        Some(AtLimit { span, resource: ExhaustedResource::ProcessCpu(resource), places, series })
    }

    fn machine(&self) -> Option<FoundResource<'a>> {
        let machine = self.0.path.of_kind(ResourceKind::Machine).next()?;
        let (in_use, cores) = (machine.used.as_ref()?, self.0.path.machine_cores);
        let span = longest(in_use, |used| used >= FULL_PART_MIN * cores)?;
        let used = in_use.mean(span.0, span.1)? / cores;
        let generator: u64 = self.0.tally.workers().iter().map(|worker| worker.busy_ns).sum();
        let by_generator = generator as f64 / 1e9 / self.0.tally.duration_seconds().max(1e-9) / cores;
        let processes = self.0.path.of_kind(ResourceKind::Process);
        let observed: Vec<f64> = processes.filter_map(|process| process.used.as_ref()?.mean(span.0, span.1)).collect();
        let by_observed = (!observed.is_empty()).then(|| observed.iter().sum::<f64>() / cores);
        let series = [Role::MachineIdle, Role::MachineRunQueue].into_iter().filter_map(|role| self.0.signals.read(machine.part, role));
        let series = series.map(|readings| readings.name()).collect();
        let resource = ExhaustedResource::MachineCpu(MachineCpu { cores, used, by_generator, by_observed, at_cores: None });
        Some(AtLimit { span, resource, places: cores, series })
    }

    /// Seconds per second that the observed system ran or waited for a core: by Little's law, the number of its threads at the cores.
    fn at_cores(&self, from: f64, to: f64) -> Option<f64> {
        self.0.signals.parts_with(Role::ProcessRunDelay).next()?;
        let roles = [Role::ProcessRunDelay, Role::ProcessCpu, Role::SessionsOnCpu];
        Some(roles.into_iter().map(|role| self.sum(role, from, to)).sum())
    }

    /// Whether requests spend a small part of their time waiting for a core (Little's law), so that free cores would hardly shorten it. A database's sessions
    /// on a CPU may all wait for one. Requests may also wait for threads that wait for a core, and do so for longer, the more the wait stretches the work of
    /// these threads.
    fn hardly_waits(&self, from: f64, to: f64) -> bool {
        let is_read = self.0.signals.parts_with(Role::ProcessRunDelay).next().is_some();
        let waiting = self.sum(Role::ProcessRunDelay, from, to) + self.sum(Role::SessionsOnCpu, from, to);
        let is_stretched = waiting > WAITING_PER_CORE_USED_MAX * self.sum(Role::ProcessCpu, from, to);
        is_read && !is_stretched && self.0.strain.in_system(from, to).is_some_and(|open| waiting < WAITING_PER_REQUEST_MIN * open)
    }

    /// The means of all parts together.
    fn sum(&self, role: Role, from: f64, to: f64) -> f64 {
        self.0.signals.parts_with(role).filter_map(|part| self.0.signals.mean(part, role, from, to)).sum()
    }

    /// A stretch up to the instant from which requests took longer, if the resource had been at its limit for long before and does not explain them: some
    /// requests were stable, though a used-up resource slows down all that need it, or those that were added are elsewhere.
    fn without_onset(&self, changes: &Changes, found: &FoundResource<'a>) -> (f64, f64) {
        let (from, to) = found.span;
        let onsets = changes.found.iter().filter(|change| change.is_slower() && change.at - from >= BUSY_BEFORE_MIN_S && change.at < to);
        let others_fill = matches!(&found.resource, ExhaustedResource::MachineCpu(machine) if machine.is_filled_by_others());
        let is_unexplained = |change: &&Change| {
            let (before, after) = ((from, change.at - change.at_error), (change.at + change.at_error, to));
            changes.stable_around(change).next().is_some() || others_fill && self.adds_elsewhere(before, after)
        };
        (from, onsets.filter(is_unexplained).map(|change| change.at).fold(to, f64::min))
    }

    /// Whether hardly any of the requests that were added to the system is at a core (Little's law), and the observed threads wait for one as before.
    fn adds_elsewhere(&self, before: (f64, f64), after: (f64, f64)) -> bool {
        let added = |of: &dyn Fn(f64, f64) -> Option<f64>| Some(of(after.0, after.1)? - of(before.0, before.1)?);
        let (in_system, at_cores) = (|from, to| self.0.strain.in_system(from, to), |from, to| self.at_cores(from, to));
        let Some((requests, threads)) = added(&in_system).zip(added(&at_cores)) else { return false };
        let waits = |(from, to): (f64, f64)| self.sum(Role::ProcessRunDelay, from, to);
        let wait_as_before = waits(after) <= CHANGE_FACTOR_MIN * waits(before);
        requests >= ADDED_REQUESTS_MIN && wait_as_before && threads < THREADS_PER_REQUEST_MIN * requests
    }

    fn network(&self) -> Option<FoundResource<'a>> {
        self.first(ResourceKind::Network, |link| {
            let (bytes, speed) = (link.used.as_ref()?, link.places(0.0, f64::INFINITY)?);
            let span = longest(bytes, |bytes| bytes >= LINK_USED_PART_MIN * speed)?;
            let (used, is_sending) = (bytes.mean(span.0, span.1)?, link.role == Role::NetworkSent);
            let resource = ExhaustedResource::Network { device: link.part.part, is_sending, used, speed };
            Some(AtLimit { span, resource, places: 1.0, series: vec![bytes.name()] })
        })
    }

    fn disk(&self) -> Option<FoundResource<'a>> {
        self.first(ResourceKind::Disk, |disk| {
            let (at_work, waiting) = (disk.busy.as_ref()?, disk.waiting.as_ref()?);
            let span = longest(at_work, |share| share >= DISK_BUSY_SHARE_MIN)?;
            let busy = at_work.mean(span.0, span.1)?;
            let queue = waiting.mean(span.0, span.1).filter(|length| *length >= DISK_QUEUE_MIN)?;
            let resource = ExhaustedResource::Disk { device: disk.part.part, busy, queue };
            Some(AtLimit { span, resource, places: 1.0, series: vec![at_work.name(), waiting.name()] })
        })
    }
}
