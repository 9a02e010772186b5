//! What would be the limit after the one that is: by the utilisation law (Denning & Buzen 1978) a resource of k places of which each request needs D
//! lets k / D requests per second pass.

use metrics::Role;

use super::readings::SignalReadings;
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::{Spans, Strain};

/// Readings in a stretch.
const READINGS_MIN: usize = 3;
/// Part of the places below which a resource is too far from its limit to say where that is.
const USED_MIN: f64 = 0.05;
/// How many times the throughput of low load that of high load must be for their difference to tell what a request needs.
const VARIED: f64 = 1.5;

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

/// Of all resources that were observed in a stretch, the one that is full first comes first.
pub(crate) fn find<'a>(signals: &ObservedSignals<'a>, strain: &Strain, machine_cores: f64, span: (f64, f64)) -> Vec<NextLimit<'a>> {
    let look = Demands { signals, strain, span, low: strain.low_and_high().0 };
    let told = |roles: &'static [Role]| {
        move |part: ObservedPart<'a>| roles.iter().find_map(|role| signals.mean(part, *role, span.0, span.1)).filter(|places| *places > 0.0)
    };
    let work = that_work(signals, machine_cores, span).into_iter();
    let work = work.filter_map(|(role, part, places)| look.one(part, role, &signals.read(part, role)?, places, true));
    let machines = signals.parts_with(Role::MachineIdle).filter_map(|part| {
        let used = signals.read(part, Role::MachineIdle)?.used_of(machine_cores);
        look.one(part, Role::MachineIdle, &used, machine_cores, true)
    });
    let mut found: Vec<NextLimit<'a>> = work.chain(machines).collect();
    // Who waits for the limit holds on to these meanwhile: what a request needs of them shows only under low load.
    found.extend(look.held(Role::PoolInUse, &told(&[Role::PoolSizeMax, Role::PoolSize])));
    found.extend(look.held(Role::SessionsActive, &told(&[Role::SessionsMax])));
    found.sort_by(|a, b| a.throughput_max.total_cmp(&b.throughput_max));
    found
}

/// Resources that work for requests and are not held while something else is waited for, each with its places.
pub(crate) fn that_work<'a>(signals: &ObservedSignals<'a>, machine_cores: f64, span: (f64, f64)) -> Vec<(Role, ObservedPart<'a>, f64)> {
    let mean = |part: ObservedPart<'a>, role: Role| signals.mean(part, role, span.0, span.1);
    let places = |role: Role, part: ObservedPart<'a>| match role {
        Role::ProcessCpu => Some(mean(part, Role::ProcessCpuMax).map_or(machine_cores, |most| most.min(machine_cores))),
        Role::GroupCpu => mean(part, Role::GroupCpuMax),
        Role::NetworkReceived | Role::NetworkSent => mean(part, Role::NetworkSpeed),
        _ => Some(1.0),
    };
    let roles = [Role::ProcessCpu, Role::ProcessThreadCpuMax, Role::GroupCpu, Role::DiskBusy, Role::NetworkReceived, Role::NetworkSent];
    let of = |role: Role| signals.parts_with(role).map(move |part| (role, part)).collect::<Vec<_>>();
    let parts = roles.into_iter().flat_map(of);
    parts.filter_map(|(role, part)| Some((role, part, places(role, part).filter(|places| *places > 0.0)?))).collect()
}

struct Demands<'f, 'a> {
    signals: &'f ObservedSignals<'a>,
    strain: &'f Strain,
    span: (f64, f64),
    low: Spans,
}

impl<'a> Demands<'_, 'a> {
    /// Those that are held while something else is waited for.
    fn held(&self, role: Role, places: &dyn Fn(ObservedPart<'a>) -> Option<f64>) -> Vec<NextLimit<'a>> {
        let one = |part| self.one(part, role, &self.signals.read(part, role)?, places(part)?, false);
        self.signals.parts_with(role).filter_map(one).collect()
    }

    fn one(
        &self,
        part: ObservedPart<'a>,
        role: Role,
        readings: &SignalReadings<'_>,
        places: f64,
        at_high_load: bool,
    ) -> Option<NextLimit<'a>> {
        let (from, to) = self.span;
        let (used, now) = (readings.mean(from, to).filter(|_| readings.count(from, to) >= READINGS_MIN)?, self.strain.throughput(from, to));
        let low = self.at_low_load(readings);
        let (each_s, always) = match (low, at_high_load) {
            (Some((used_low, before)), false) => (used_low / before, 0.0),
            (None, false) => return None,
            // What it is busy with whatever the load is not taken for the load's.
            (Some((used_low, before)), true) if now >= VARIED * before && used > used_low => {
                let each = (used - used_low) / (now - before);
                (each, (used - each * now).max(0.0))
            }
            (_, true) => (used / now.max(1e-9), 0.0),
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
