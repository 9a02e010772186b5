//! The resources on the way of the load, each with its utilisation, saturation and errors at low and at high load (the USE method; Gregg 2013), and those
//! that were not observed: what a verdict rests on.

use metrics::{Role, SeriesKind};

use crate::facts::Facts;
use crate::facts::signals::ObservedPart;
use crate::{ResourceKind, ResourceRow, ResourceUse};

/// Rows of one kind, and of all.
const OF_KIND_MAX: usize = 8;
const ROWS_MAX: usize = 40;
/// Share of the time below which a disk is left out.
const DISK_IDLE: f64 = 0.01;

/// In the order in which the load meets them, as far as that is known.
pub(crate) fn rows(facts: &Facts<'_>) -> Vec<ResourceRow> {
    if facts.strain.loaded().is_none() {
        return Vec::new();
    }
    let (low, high) = facts.strain.low_and_high();
    let look = Look { facts, low, high };
    let mut rows = vec![look.load()];
    rows.extend(look.parts(Role::ProcessCpu, |part| look.process(part)));
    rows.extend(look.parts(Role::ProcessThreadCpuMax, |part| look.thread(part)));
    rows.extend(look.parts(Role::GroupCpu, |part| look.group(part)));
    rows.extend(look.parts(Role::MachineIdle, |part| look.machine(part)));
    rows.extend(look.parts(Role::PoolInUse, |part| look.pool(part)));
    rows.extend(look.parts(Role::SessionsActive, |part| look.sessions(part)));
    rows.extend(look.parts(Role::CallsInFlight, |part| look.endpoint(part)));
    rows.extend(look.parts(Role::QueueLength, |part| look.queue(part)));
    rows.extend(look.parts(Role::GarbageCollection, |part| look.heap(part)));
    rows.extend(look.parts(Role::EventLoopDelay, |part| look.event_loop(part)));
    rows.extend(look.parts(Role::ProcessDescriptors, |part| look.descriptors(part)));
    rows.extend(look.parts(Role::DiskBusy, |part| look.disk(part)));
    rows.extend(look.parts(Role::Retransmissions, |part| look.network(part)));
    rows.extend(look.not_observed());
    rows.truncate(ROWS_MAX);
    rows
}

struct Look<'f, 'a> {
    facts: &'f Facts<'a>,
    /// `(from, to)` of the seconds of low load and of high load.
    low: Vec<(f64, f64)>,
    high: Vec<(f64, f64)>,
}

/// What is measured over some seconds.
type Measure<'m> = &'m dyn Fn(&[(f64, f64)]) -> ResourceUse;

impl<'a> Look<'_, 'a> {
    fn parts(&self, role: Role, row: impl Fn(ObservedPart<'a>) -> Option<ResourceRow>) -> Vec<ResourceRow> {
        self.facts.signals.parts_with(role).filter_map(row).take(OF_KIND_MAX).collect()
    }

    fn row(&self, kind: ResourceKind, name: &str, unit: &str, limit: Option<f64>, measure: Measure<'_>) -> ResourceRow {
        let low = (!self.low.is_empty()).then(|| measure(&self.low));
        ResourceRow { kind, name: name.to_owned(), unit: unit.to_owned(), limit, low, high: Some(measure(&self.high)) }
    }

    /// Mean of all readings of a role, those of one instant added up, in some seconds.
    fn mean(&self, part: ObservedPart<'a>, role: Role, seconds: &[(f64, f64)]) -> Option<f64> {
        let each = self.facts.signals.read_each(part, role);
        let means = each.iter().filter_map(|readings| {
            let inside = |at: f64| seconds.iter().any(|(from, to)| at >= *from && at < *to);
            let values: Vec<f64> = readings.points().iter().filter(|(at, _)| inside(*at)).map(|(_, value)| *value).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        });
        means.reduce(|a, b| a + b)
    }

    /// What stood at one number or nearly: a limit.
    fn limit(&self, part: ObservedPart<'a>, role: Role) -> Option<f64> {
        self.facts.signals.mean(part, role, 0.0, f64::INFINITY).filter(|limit| *limit > 0.0)
    }

    fn load(&self) -> ResourceRow {
        let slices = &self.facts.run.slices;
        self.row(ResourceKind::Load, "requests in flight", "requests", None, &|seconds| {
            let inside = |slice: &&metrics::Snapshot| {
                let from = slice.start as f64 / 1e9;
                seconds.iter().any(|(a, b)| from >= a - 1e-6 && from < *b)
            };
            let requests = |slice: &metrics::Snapshot| -> u64 {
                slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.failed).sum()
            };
            let length: f64 = seconds.iter().map(|(from, to)| to - from).sum();
            let failed: u64 = slices.iter().filter(inside).map(requests).sum();
            let in_system: f64 = seconds.iter().filter_map(|(from, to)| self.facts.strain.in_system(*from, *to)).sum();
            ResourceUse {
                used: Some(in_system / seconds.len().max(1) as f64),
                errors: Some(failed as f64 / length.max(1e-9)),
                ..ResourceUse::default()
            }
        })
    }

    fn process(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        let machine = self.facts.signals.parts_with(Role::MachineCores).next().and_then(|machine| self.limit(machine, Role::MachineCores));
        let cores = machine.unwrap_or(f64::from(self.facts.run.info.host.cores));
        let limit = self.limit(part, Role::ProcessCpuMax).unwrap_or(cores).min(cores.max(1.0));
        Some(self.of_places(ResourceKind::Process, part, "cores", Some(limit), Role::ProcessCpu, Role::ProcessRunDelay))
    }

    fn thread(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        Some(self.of_places(ResourceKind::Thread, part, "cores", Some(1.0), Role::ProcessThreadCpuMax, Role::ProcessRunDelay)).map(|row| {
            // Who waits for a core is any thread of it.
            let alone = |used: ResourceUse| ResourceUse { waiting: None, ..used };
            ResourceRow { low: row.low.map(alone), high: row.high.map(alone), ..row }
        })
    }

    fn group(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        let limit = self.limit(part, Role::GroupCpuMax);
        Some(self.of_places(ResourceKind::Group, part, "cores", limit, Role::GroupCpu, Role::GroupThrottled))
    }

    fn machine(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        let cores = self.limit(part, Role::MachineCores)?;
        Some(self.row(ResourceKind::Machine, part.observer, "cores", Some(cores), &|seconds| {
            let free = self.mean(part, Role::MachineIdle, seconds);
            let used = free.map(|idle| (cores - idle - self.mean(part, Role::MachineIoWait, seconds).unwrap_or(0.0)).max(0.0));
            let runnable = self.mean(part, Role::MachineRunQueue, seconds);
            ResourceUse {
                used,
                utilisation: used.map(|used| used / cores),
                waiting: runnable.map(|runnable| (runnable - cores).max(0.0)),
                errors: None,
            }
        }))
    }

    fn pool(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        let limit = [Role::PoolSizeMax, Role::PoolSize].into_iter().find_map(|role| self.limit(part, role));
        let waiting = [Role::PoolWaiting, Role::PoolWaitTime].into_iter().find(|role| self.facts.signals.read(part, *role).is_some());
        Some(self.of_places(ResourceKind::Pool, part, "", limit, Role::PoolInUse, waiting.unwrap_or(Role::PoolWaiting)))
    }

    fn sessions(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        let limit = self.limit(part, Role::SessionsMax);
        Some(self.of_places(ResourceKind::Sessions, part, "sessions", limit, Role::SessionsActive, Role::SessionsBlocked))
    }

    /// Places that are in use, and those who wait for one.
    fn of_places(
        &self,
        kind: ResourceKind,
        part: ObservedPart<'a>,
        unit: &str,
        limit: Option<f64>,
        in_use: Role,
        waiting: Role,
    ) -> ResourceRow {
        self.row(kind, name(part), unit, limit, &|seconds| {
            let used = self.mean(part, in_use, seconds);
            let utilisation = used.zip(limit).map(|(used, limit)| used / limit);
            ResourceUse { used, utilisation, waiting: self.mean(part, waiting, seconds), errors: None }
        })
    }

    fn endpoint(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        Some(self.row(ResourceKind::Endpoint, part.observer, "calls", None, &|seconds| {
            let lost = [Role::CallsRejected, Role::CallsFaulted].into_iter().filter_map(|role| self.mean(part, role, seconds));
            ResourceUse { used: self.mean(part, Role::CallsInFlight, seconds), errors: lost.reduce(|a, b| a + b), ..ResourceUse::default() }
        }))
    }

    fn queue(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        Some(self.row(ResourceKind::Queue, name(part), "", None, &|seconds| ResourceUse {
            waiting: self.mean(part, Role::QueueLength, seconds),
            ..ResourceUse::default()
        }))
    }

    fn heap(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        Some(self.row(ResourceKind::Heap, part.observer, "", None, &|seconds| ResourceUse {
            utilisation: self.mean(part, Role::GarbageCollection, seconds),
            ..ResourceUse::default()
        }))
    }

    fn event_loop(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        Some(self.row(ResourceKind::EventLoop, name(part), "seconds late", None, &|seconds| ResourceUse {
            used: self.mean(part, Role::EventLoopDelay, seconds),
            utilisation: self.mean(part, Role::EventLoopBusy, seconds),
            ..ResourceUse::default()
        }))
    }

    fn descriptors(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        let limit = self.limit(part, Role::ProcessDescriptorsMax);
        Some(self.row(ResourceKind::Descriptors, name(part), "descriptors", limit, &|seconds| {
            let used = self.mean(part, Role::ProcessDescriptors, seconds);
            ResourceUse { used, utilisation: used.zip(limit).map(|(used, limit)| used / limit), ..ResourceUse::default() }
        }))
    }

    fn disk(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        let row = self.row(ResourceKind::Disk, name(part), "", None, &|seconds| ResourceUse {
            utilisation: self.mean(part, Role::DiskBusy, seconds),
            waiting: self.mean(part, Role::DiskQueue, seconds),
            ..ResourceUse::default()
        });
        let busy = |used: Option<ResourceUse>| used.and_then(|used| used.utilisation).unwrap_or(0.0);
        (busy(row.high).max(busy(row.low)) >= DISK_IDLE).then_some(row)
    }

    fn network(&self, part: ObservedPart<'a>) -> Option<ResourceRow> {
        Some(self.row(ResourceKind::Network, part.observer, "", None, &|seconds| ResourceUse {
            errors: self.mean(part, Role::Retransmissions, seconds),
            ..ResourceUse::default()
        }))
    }

    /// What a system usually has and nobody looked at.
    fn not_observed(&self) -> Vec<ResourceRow> {
        let usual = [
            (ResourceKind::Process, "the system's processes", Role::ProcessCpu),
            (ResourceKind::Machine, "the machine", Role::MachineIdle),
            (ResourceKind::Sessions, "its database", Role::SessionsActive),
            (ResourceKind::Pool, "its pools", Role::PoolInUse),
        ];
        let missing = usual.into_iter().filter(|(_, _, role)| self.facts.signals.parts_with(*role).next().is_none());
        let row = |(kind, name, _): (ResourceKind, &str, Role)| ResourceRow {
            kind,
            name: name.to_owned(),
            unit: String::new(),
            limit: None,
            low: None,
            high: None,
        };
        missing.map(row).collect()
    }
}

/// The part where there is one: a pool, a device, a queue.
fn name(part: ObservedPart<'_>) -> &str {
    if part.part.is_empty() { part.observer } else { part.part }
}
