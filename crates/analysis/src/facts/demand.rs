//! What one request takes of a CPU, by the utilisation law: D = U / X.

use std::ops::RangeInclusive;

use super::load_response::LoadResponse;
use super::strain::Strain;

/// Share of the whole demand that one request must have to be named, by its times under low load.
const NAMED_DEMAND_SHARE_MIN: f64 = 0.7;
/// Its time under low load, as a multiple of its CPU demand: a request that a CPU limits takes little else.
const SERVICE_PER_DEMAND: RangeInclusive<f64> = 0.6..=1.6;
/// Share of the service times under low load that must be CPU time for a CPU to be the limit.
pub(super) const CPU_BOUND_SHARE_MIN: f64 = 0.6;

pub(crate) struct CpuDemand {
    /// Requests ended per second, and CPU seconds for each.
    pub(crate) throughput: f64,
    pub(crate) each_s: f64,
    /// The request that takes most of it, and how much each time.
    pub(crate) most: Option<(String, f64)>,
}

impl CpuDemand {
    /// `None` where no request ended in the stretch.
    pub(super) fn of(strain: &Strain, responses: &[LoadResponse], cores_used: f64, (from, to): (f64, f64)) -> Option<Self> {
        let throughput = strain.throughput(from, to);
        if throughput <= 0.0 {
            return None;
        }
        Some(Self { throughput, each_s: cores_used / throughput, most: most(responses, cores_used, (from, to)) })
    }
}

/// Name, service time under low load, and rate in a stretch, of each request whose load was ever low.
fn parts(responses: &[LoadResponse], (from, to): (f64, f64)) -> Vec<(&str, f64, f64)> {
    let part = |response: &'_ LoadResponse| Some((response.low?.service, response.rate_between(from, to)?));
    responses.iter().filter_map(|response| part(response).map(|(service, rate)| (response.name.as_str(), service, rate))).collect()
}

/// Which part of the service times under low load the cores in use would make up; `None` where the load never was low. The few users of closed load wait for
/// each other already, so it tells nothing there.
pub(super) fn cpu_share_of_service(responses: &[LoadResponse], cores_used: f64, span: (f64, f64)) -> Option<f64> {
    if responses.iter().any(|response| !response.is_open) {
        return None;
    }
    share_of_service(responses, cores_used, span)
}

/// The same of any load: of closed load no less than that.
pub(super) fn share_of_service(responses: &[LoadResponse], cores_used: f64, span: (f64, f64)) -> Option<f64> {
    let all: f64 = parts(responses, span).iter().map(|(_, service, rate)| service * rate).sum();
    (all > 0.0).then(|| cores_used / all)
}

/// Under low load a request takes its demand and little else, if a CPU is what it needs. Where that makes one request take most of what the CPU gave, it
/// is named.
fn most(responses: &[LoadResponse], cores_used: f64, span: (f64, f64)) -> Option<(String, f64)> {
    let parts = parts(responses, span);
    let all: f64 = parts.iter().map(|(_, service, rate)| service * rate).sum();
    let (name, service, rate) = parts.into_iter().max_by(|a, b| (a.1 * a.2).total_cmp(&(b.1 * b.2)))?;
    let each_s = cores_used / rate.max(1e-9);
    let is_most = service * rate >= NAMED_DEMAND_SHARE_MIN * all && SERVICE_PER_DEMAND.contains(&(service / each_s));
    is_most.then(|| (name.to_owned(), each_s))
}
