//! Which resource would be the limit after the current one. By the utilisation law (Denning and Buzen 1978), a resource with k places that each request needs
//! for D seconds passes k / D requests per second.

use loadstone_metrics::Role;

use super::path::{Path, PathResource};
use super::readings::SignalReadings;
use super::signals::ObservedPart;
use super::strain::{Spans, Strain};
use crate::ResourceKind;

/// Readings in a stretch.
const READINGS_MIN: usize = 3;
/// Part of the places that must be in use. Further from its limit, the limit is not known.
const USED_PART_MIN: f64 = 0.05;
/// Throughput of high load over that of low load from which their difference shows what a request needs.
const THROUGHPUT_VARIED_FACTOR_MIN: f64 = 1.5;

/// Resources that work for requests.
const WORKING: [ResourceKind; 6] =
    [ResourceKind::Process, ResourceKind::Thread, ResourceKind::Group, ResourceKind::Disk, ResourceKind::Network, ResourceKind::Machine];
/// Resources that requests hold while they wait for another.
const HELD: [ResourceKind; 2] = [ResourceKind::Pool, ResourceKind::Sessions];

/// A resource and the throughput at which it would be full.
#[derive(Debug, Clone)]
pub(crate) struct NextLimit<'a> {
    pub(crate) role: Role,
    pub(crate) part: ObservedPart<'a>,
    /// Places: cores, members, sessions; 1 where only a share of the time is known.
    pub(crate) places: f64,
    /// Places in use, mean.
    pub(crate) used: f64,
    /// How long each request needs a place. Seconds.
    pub(crate) each_s: f64,
    /// Requests per second.
    pub(crate) throughput_max: f64,
    pub(crate) series: String,
}

/// A resource with a known number of places.
pub(crate) struct LimitedResource<'p, 'a> {
    pub(crate) of: &'p PathResource<'a>,
    pub(crate) places: f64,
    /// Places in use.
    pub(crate) used: &'p SignalReadings<'a>,
    /// Requests hold it while they wait for another resource, so that only low load shows how long they need it.
    pub(crate) is_held: bool,
}

impl LimitedResource<'_, '_> {
    /// Its name in sentences.
    pub(crate) fn words(&self) -> String {
        words(self.of.role, self.of.part, self.places)
    }
}

/// All resources that were observed in a stretch, the one that would be full first ranks first.
pub(crate) fn find<'a>(path: &Path<'a>, strain: &Strain, span: (f64, f64)) -> Vec<NextLimit<'a>> {
    let look = Demands { strain, span, low: strain.low_and_high().0 };
    let mut found: Vec<NextLimit<'a>> = resources(path, span).iter().filter_map(|resource| look.one(resource)).collect();
    found.sort_by(|a, b| a.throughput_max.total_cmp(&b.throughput_max));
    found
}

/// All observed resources with a known number of places: first those that work for requests, then those that requests hold while they wait.
pub(crate) fn resources<'p, 'a>(path: &'p Path<'a>, (from, to): (f64, f64)) -> Vec<LimitedResource<'p, 'a>> {
    let limited = |of: &'p PathResource<'a>| {
        let (places, used) = (of.places(from, to)?, of.in_use()?);
        Some(LimitedResource { of, places, used, is_held: HELD.contains(&of.kind) })
    };
    WORKING.into_iter().chain(HELD).flat_map(|kind| path.of_kind(kind).filter_map(limited)).collect()
}

/// The name of a resource in sentences.
pub(crate) fn words(role: Role, part: ObservedPart<'_>, places: f64) -> String {
    let name = part.name();
    let places = loadstone_units::number(places);
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
    fn one<'a>(&self, resource: &LimitedResource<'_, 'a>) -> Option<NextLimit<'a>> {
        let LimitedResource { of, places, used: readings, is_held } = *resource;
        let (from, to) = self.span;
        let (used, now) = (readings.mean(from, to).filter(|_| readings.count(from, to) >= READINGS_MIN)?, self.strain.throughput(from, to));
        let low = self.at_low_load(readings);
        let (each_s, always) = match (low, is_held) {
            (Some((used_low, before)), true) => (used_low / before, 0.0),
            (None, true) => return None,
            // Its use that does not depend on the load is left out.
            (Some((used_low, before)), false) if now >= THROUGHPUT_VARIED_FACTOR_MIN * before && used > used_low => {
                let each = (used - used_low) / (now - before);
                (each, (used - each * now).max(0.0))
            }
            (_, false) => (used / now.max(1e-9), 0.0),
        };
        let throughput_max = (places - always) / each_s;
        let is_known = each_s > 0.0 && now > 0.0 && used >= USED_PART_MIN * places && throughput_max.is_finite();
        is_known.then(|| NextLimit { role: of.role, part: of.part, places, used, each_s, throughput_max, series: readings.name() })
    }

    /// Places in use and throughput under low load, both means.
    fn at_low_load(&self, readings: &SignalReadings<'_>) -> Option<(f64, f64)> {
        let values = readings.inside(&self.low);
        let ended: f64 = self.low.iter().map(|(from, to)| self.strain.throughput(*from + 1e-6, *to - 1e-6) * (to - from)).sum();
        let length: f64 = self.low.iter().map(|(from, to)| to - from).sum();
        let is_enough = values.len() >= READINGS_MIN && ended > 0.0;
        is_enough.then(|| (values.iter().sum::<f64>() / values.len() as f64, ended / length))
    }
}
