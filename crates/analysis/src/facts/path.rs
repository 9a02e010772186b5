//! The resources along the request path: one list, each with its places, the places in use, the requests that wait and the errors.
//!
//! Every fact reads from this list how full a resource was, how many requests it serves at a time and how many wait. A verdict and the table in the same report
//! therefore cannot disagree. Deliberately absent: what makes a resource a limit. Each fact decides that.

use std::collections::BTreeSet;

use loadstone_metrics::Role;
use loadstone_run_directory::Run;

use super::readings::SignalReadings;
use super::signals::{ObservedPart, ObservedSignals};
use crate::ResourceKind;

/// All resources that were observed.
pub(crate) struct Path<'a> {
    /// In the order of the request path, as far as it is known. Resources of one kind are sorted by name.
    resources: Vec<PathResource<'a>>,
    /// Cores of the observed machine. If none was observed, those of the generator's machine.
    pub(crate) machine_cores: f64,
}

/// A resource. What was not read of it is `None`.
#[derive(Debug, Clone)]
pub(crate) struct PathResource<'a> {
    pub(crate) kind: ResourceKind,
    /// The role of the signal for the places in use.
    pub(crate) role: Role,
    pub(crate) part: ObservedPart<'a>,
    /// Places in use: cores, members, sessions, descriptors, bytes per second. For an event loop, its delay in seconds.
    pub(crate) used: Option<SignalReadings<'a>>,
    /// Share of the time in which it was in use, if its places are not counted.
    pub(crate) busy: Option<SignalReadings<'a>>,
    /// How many wait for a place, or are held up by the lack of one.
    pub(crate) waiting: Option<SignalReadings<'a>>,
    /// Errors per second.
    pub(crate) errors: Option<SignalReadings<'a>>,
    places: PlaceReadings<'a>,
}

/// How many requests can use a resource at a time.
#[derive(Debug, Clone)]
struct PlaceReadings<'a> {
    /// Of several numbers, the smallest counts.
    read: Vec<SignalReadings<'a>>,
    /// An upper bound on what was read. Infinite without one.
    most: f64,
}

/// The roles of the signals of one kind of resource. Where several are listed, the first that was read counts.
struct KindRoles {
    kind: ResourceKind,
    used: &'static [Role],
    busy: &'static [Role],
    waiting: &'static [Role],
    places: &'static [Role],
    /// All of these that were read, added up.
    errors: &'static [Role],
}

const NONE: KindRoles = KindRoles { kind: ResourceKind::Load, used: &[], busy: &[], waiting: &[], places: &[], errors: &[] };

const KINDS: [KindRoles; 15] = [
    KindRoles {
        kind: ResourceKind::Process,
        used: &[Role::ProcessCpu],
        waiting: &[Role::ProcessRunDelay],
        places: &[Role::ProcessCpuMax],
        ..NONE
    },
    // Any thread of the process may wait for a core.
    KindRoles { kind: ResourceKind::Thread, used: &[Role::ProcessThreadCpuMax], ..NONE },
    KindRoles {
        kind: ResourceKind::Group,
        used: &[Role::GroupCpu],
        waiting: &[Role::GroupThrottled],
        places: &[Role::GroupCpuMax],
        ..NONE
    },
    KindRoles { kind: ResourceKind::Machine, used: &[Role::MachineIdle], waiting: &[Role::MachineRunQueue], ..NONE },
    KindRoles {
        kind: ResourceKind::Pool,
        used: &[Role::PoolInUse],
        // Seconds per second spent waiting are the number of waiting requests (Little's law).
        waiting: &[Role::PoolWaiting, Role::PoolWaitTime],
        places: &[Role::PoolSizeMax, Role::PoolSize],
        ..NONE
    },
    KindRoles {
        kind: ResourceKind::Sessions,
        used: &[Role::SessionsActive],
        waiting: &[Role::SessionsBlocked],
        places: &[Role::SessionsMax],
        ..NONE
    },
    KindRoles { kind: ResourceKind::Endpoint, used: &[Role::CallsInFlight], errors: &[Role::CallsRejected, Role::CallsFaulted], ..NONE },
    KindRoles { kind: ResourceKind::Queue, waiting: &[Role::QueueLength], ..NONE },
    KindRoles { kind: ResourceKind::Heap, busy: &[Role::GarbageCollection], ..NONE },
    KindRoles { kind: ResourceKind::EventLoop, used: &[Role::EventLoopDelay], busy: &[Role::EventLoopBusy], ..NONE },
    KindRoles { kind: ResourceKind::Descriptors, used: &[Role::ProcessDescriptors], places: &[Role::ProcessDescriptorsMax], ..NONE },
    KindRoles { kind: ResourceKind::Disk, busy: &[Role::DiskBusy], waiting: &[Role::DiskQueue], ..NONE },
    KindRoles { kind: ResourceKind::Network, used: &[Role::NetworkReceived], places: &[Role::NetworkSpeed], ..NONE },
    KindRoles { kind: ResourceKind::Network, used: &[Role::NetworkSent], places: &[Role::NetworkSpeed], ..NONE },
    KindRoles { kind: ResourceKind::Network, errors: &[Role::Retransmissions], ..NONE },
];

impl<'a> Path<'a> {
    pub(crate) fn of(signals: &ObservedSignals<'a>, run: &Run) -> Self {
        let machine = signals.parts_with(Role::MachineCores).next();
        let cores = machine.and_then(|machine| signals.mean(machine, Role::MachineCores, 0.0, f64::INFINITY));
        let machine_cores = cores.unwrap_or(f64::from(run.info.host.cores)).max(1.0);
        let resources = KINDS.iter().flat_map(|roles| roles.resources(signals, machine_cores)).collect();
        Self { resources, machine_cores }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &PathResource<'a>> {
        self.resources.iter()
    }

    pub(crate) fn of_kind(&self, kind: ResourceKind) -> impl Iterator<Item = &PathResource<'a>> {
        self.resources.iter().filter(move |resource| resource.kind == kind)
    }
}

impl KindRoles {
    fn resources<'a>(&self, signals: &ObservedSignals<'a>, machine_cores: f64) -> Vec<PathResource<'a>> {
        let of_it = || [self.used, self.busy, self.waiting, self.errors].into_iter().flatten();
        let parts: BTreeSet<ObservedPart<'a>> = of_it().flat_map(|role| signals.parts_with(*role)).collect();
        let Some(role) = of_it().next().copied() else { return Vec::new() };
        parts.into_iter().map(|part| self.resource(signals, role, part, machine_cores)).collect()
    }

    fn resource<'a>(&self, signals: &ObservedSignals<'a>, role: Role, part: ObservedPart<'a>, machine_cores: f64) -> PathResource<'a> {
        let together = |role: &Role| SignalReadings::sum(&signals.read_each(part, *role));
        let first = |roles: &[Role]| roles.iter().find_map(together);
        let (used, waiting) = (first(self.used), first(self.waiting));
        let errors: Vec<SignalReadings<'a>> = self.errors.iter().filter_map(together).collect();
        let most = match self.kind {
            ResourceKind::Process | ResourceKind::Machine => machine_cores,
            ResourceKind::Thread | ResourceKind::Disk => 1.0,
            _ => f64::INFINITY,
        };
        let is_machine = self.kind == ResourceKind::Machine;
        let used = if is_machine { used.map(|idle| cores_used(signals, part, &idle, machine_cores)) } else { used };
        let waiting = if is_machine { waiting.map(|runnable| runnable.beyond(machine_cores)) } else { waiting };
        // A process may use no more cores than the quota of its control group, even if its affinity mask has more.
        let quota = if self.kind == ResourceKind::Process { first(&[Role::GroupCpuMax]) } else { None };
        let places = PlaceReadings { read: first(self.places).into_iter().chain(quota).collect(), most };
        PathResource { kind: self.kind, role, part, used, busy: first(self.busy), waiting, errors: SignalReadings::sum(&errors), places }
    }
}

/// The cores in use of a machine whose idle cores were read. A core that waits for a disk is idle. One that runs a program of low priority counts as idle, too:
/// the kernel takes it away as soon as another program wants it. If the observed processes use more than the others have, some of that time is theirs.
fn cores_used<'a>(signals: &ObservedSignals<'a>, part: ObservedPart<'a>, idle: &SignalReadings<'a>, cores: f64) -> SignalReadings<'a> {
    let idle = match signals.read(part, Role::MachineIoWait) {
        Some(waits) => idle.plus(&waits),
        None => idle.clone(),
    };
    let low_priority = signals.read_each(part, Role::MachineCpu).into_iter().find(|readings| readings.label("mode") == Some("nice"));
    let of_others = low_priority.filter(|low| {
        let mean = |readings: &SignalReadings<'_>| readings.mean(0.0, f64::INFINITY).unwrap_or(0.0);
        let observed: f64 =
            signals.parts_with(Role::ProcessCpu).filter_map(|part| Some(mean(&signals.read(part, Role::ProcessCpu)?))).sum();
        observed <= cores - mean(&idle) - mean(low)
    });
    of_others.map_or_else(|| idle.used_of(cores), |low| idle.plus(&low).used_of(cores))
}

impl<'a> PathResource<'a> {
    /// Mean number of places over a stretch, or over the run where they were not read in it; `None` where no number is known.
    pub(crate) fn places(&self, from: f64, to: f64) -> Option<f64> {
        let read = self.places.read.iter().filter_map(|readings| readings.mean(from, to).or_else(|| readings.mean(0.0, f64::INFINITY)));
        Some(read.fold(self.places.most, f64::min)).filter(|places| places.is_finite() && *places > 0.0)
    }

    /// Places in use. Where only a share of the time is known, it is the part in use of one place.
    pub(crate) fn in_use(&self) -> Option<&SignalReadings<'a>> {
        if self.kind == ResourceKind::EventLoop { self.busy.as_ref() } else { self.used.as_ref().or(self.busy.as_ref()) }
    }
}
