//! What would be the limit after the one that is: by the utilisation law (Denning & Buzen 1978) a resource of k places of which each request needs D
//! lets k / D requests per second pass.

use metrics::Role;
use run_directory::Run;

use super::readings::SignalReadings;
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::{Spans, Strain};

/// Readings in a stretch.
const READINGS_MIN: usize = 3;
/// Part of the places below which a resource is too far from its limit to say where that is.
const USED_MIN: f64 = 0.05;
/// How many times the throughput of low load that of high load must be for their difference to tell what a request needs.
const VARIED: f64 = 1.5;

/// What works for requests, and what is held while something else is waited for.
const WORKING: [Role; 7] = [
    Role::ProcessCpu,
    Role::ProcessThreadCpuMax,
    Role::GroupCpu,
    Role::DiskBusy,
    Role::NetworkReceived,
    Role::NetworkSent,
    Role::MachineIdle,
];
const HELD: [Role; 2] = [Role::PoolInUse, Role::SessionsActive];

/// A resource and the throughput that it lets pass.
#[derive(Debug, Clone)]
pub(crate) struct NextLimit<'a> {
    pub(crate) role: Role,
    pub(crate) part: ObservedPart<'a>,
    /// Places: cores, members, sessions; 1 where only a share of the time is known.
    pub(crate) places: f64,
    /// Mean in use, and of how much of it each request has need. Seconds.
    pub(crate) used: f64,
    pub(crate) each_s: f64,
    /// Requests per second.
    pub(crate) throughput_max: f64,
    pub(crate) series: String,
}

/// Something that requests use up, with its places.
pub(crate) struct LimitedResource<'a> {
    pub(crate) role: Role,
    pub(crate) part: ObservedPart<'a>,
    pub(crate) places: f64,
    /// How many of them are in use.
    pub(crate) used: SignalReadings<'a>,
    /// Whoever waits for something else holds on to it meanwhile: what a request needs of it shows only under low load.
    pub(crate) is_held: bool,
}

impl LimitedResource<'_> {
    /// What sentences call it.
    pub(crate) fn words(&self) -> String {
        words(self.role, self.part, self.places)
    }
}

/// Of all resources that were observed in a stretch, the one that is full first comes first.
pub(crate) fn find<'a>(signals: &ObservedSignals<'a>, strain: &Strain, machine_cores: f64, span: (f64, f64)) -> Vec<NextLimit<'a>> {
    let look = Demands { strain, span, low: strain.low_and_high().0 };
    let resources = resources(signals, machine_cores, span);
    let mut found: Vec<NextLimit<'a>> = resources.iter().filter_map(|resource| look.one(resource)).collect();
    found.sort_by(|a, b| a.throughput_max.total_cmp(&b.throughput_max));
    found
}

/// The cores of the machine that was observed; failing that, of the generator's own.
pub(crate) fn machine_cores(signals: &ObservedSignals<'_>, run: &Run) -> f64 {
    let machine = signals.parts_with(Role::MachineCores).next();
    let cores = machine.and_then(|machine| signals.mean(machine, Role::MachineCores, 0.0, f64::INFINITY));
    cores.unwrap_or(f64::from(run.info.host.cores)).max(1.0)
}

/// Everything observed of which a number of places is known: what works for requests, and what is held while something else is waited for.
pub(crate) fn resources<'a>(signals: &ObservedSignals<'a>, machine_cores: f64, span: (f64, f64)) -> Vec<LimitedResource<'a>> {
    let mean = |part: ObservedPart<'a>, role: Role| signals.mean(part, role, span.0, span.1);
    let places = |role: Role, part: ObservedPart<'a>| match role {
        Role::ProcessCpu => Some(mean(part, Role::ProcessCpuMax).map_or(machine_cores, |most| most.min(machine_cores))),
        Role::GroupCpu => mean(part, Role::GroupCpuMax),
        Role::NetworkReceived | Role::NetworkSent => mean(part, Role::NetworkSpeed),
        Role::MachineIdle => Some(machine_cores),
        Role::PoolInUse => mean(part, Role::PoolSizeMax).or_else(|| mean(part, Role::PoolSize)),
        Role::SessionsActive => mean(part, Role::SessionsMax),
        _ => Some(1.0),
    };
    let one = |role: Role, part: ObservedPart<'a>| {
        let (places, readings) = (places(role, part).filter(|places| *places > 0.0)?, signals.read(part, role)?);
        let used = if role == Role::MachineIdle { readings.used_of(places) } else { readings };
        Some(LimitedResource { role, part, places, used, is_held: HELD.contains(&role) })
    };
    let of = |role: Role| signals.parts_with(role).filter_map(move |part| one(role, part)).collect::<Vec<_>>();
    WORKING.into_iter().chain(HELD).flat_map(of).collect()
}

/// What sentences call a resource.
pub(crate) fn words(role: Role, part: ObservedPart<'_>, places: f64) -> String {
    let name = if part.part.is_empty() { part.observer } else { part.part };
    let places = units::number(places);
    match role {
        Role::ProcessCpu | Role::GroupCpu if places == "1" => format!("the one core of \"{name}\""),
        Role::ProcessCpu | Role::GroupCpu => format!("the {places} cores of \"{name}\""),
        Role::MachineIdle => format!("the {places} cores of the machine"),
        Role::ProcessThreadCpuMax => format!("the busiest thread of \"{name}\""),
        Role::DiskBusy => format!("the disk {name}"),
        Role::NetworkReceived | Role::NetworkSent => format!("the link of {name}"),
        Role::SessionsActive => format!("the {places} sessions of \"{name}\""),
        _ => format!("the {places} members of the pool \"{name}\""),
    }
}

struct Demands<'f> {
    strain: &'f Strain,
    span: (f64, f64),
    low: Spans,
}

impl Demands<'_> {
    fn one<'a>(&self, resource: &LimitedResource<'a>) -> Option<NextLimit<'a>> {
        let LimitedResource { role, part, places, used: ref readings, is_held } = *resource;
        let (from, to) = self.span;
        let (used, now) = (readings.mean(from, to).filter(|_| readings.count(from, to) >= READINGS_MIN)?, self.strain.throughput(from, to));
        let low = self.at_low_load(readings);
        let (each_s, always) = match (low, is_held) {
            (Some((used_low, before)), true) => (used_low / before, 0.0),
            (None, true) => return None,
            // What it is busy with whatever the load is not taken for the load's.
            (Some((used_low, before)), false) if now >= VARIED * before && used > used_low => {
                let each = (used - used_low) / (now - before);
                (each, (used - each * now).max(0.0))
            }
            (_, false) => (used / now.max(1e-9), 0.0),
        };
        let throughput_max = (places - always) / each_s;
        let is_known = each_s > 0.0 && now > 0.0 && used >= USED_MIN * places && throughput_max.is_finite();
        is_known.then(|| NextLimit { role, part, places, used, each_s, throughput_max, series: readings.name() })
    }

    /// Mean in use and throughput.
    fn at_low_load(&self, readings: &SignalReadings<'_>) -> Option<(f64, f64)> {
        let inside = |at: f64| self.low.iter().any(|(from, to)| at >= *from && at < *to);
        let values: Vec<f64> = readings.points().iter().filter(|(at, _)| inside(*at)).map(|(_, value)| *value).collect();
        let ended: f64 = self.low.iter().map(|(from, to)| self.strain.throughput(*from + 1e-6, *to - 1e-6) * (to - from)).sum();
        let length: f64 = self.low.iter().map(|(from, to)| to - from).sum();
        let is_enough = values.len() >= READINGS_MIN && ended > 0.0;
        is_enough.then(|| (values.iter().sum::<f64>() / values.len() as f64, ended / length))
    }
}
