//! The CPU demand of one request, by the utilisation law: D = U / X (Denning and Buzen, "The operational analysis of queueing network models", 1978).

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
    /// Requests that ended per second.
    pub(crate) throughput: f64,
    /// CPU seconds for each of them.
    pub(crate) each_s: f64,
    /// The request that causes most of the demand, and its CPU seconds.
    pub(crate) most: Option<(String, f64)>,
}

impl CpuDemand {
    /// `None` where no request ended in the stretch.
    pub(crate) fn of(strain: &Strain, responses: &[LoadResponse], cores_used: f64, (from, to): (f64, f64)) -> Option<Self> {
        let throughput = strain.throughput(from, to);
        if throughput <= 0.0 {
            return None;
        }
        Some(Self { throughput, each_s: cores_used / throughput, most: most(responses, cores_used, (from, to)) })
    }
}

/// For each request whose load was ever low: its name, its service time under low load, and its rate in a stretch.
fn parts(responses: &[LoadResponse], (from, to): (f64, f64)) -> Vec<(&str, f64, f64)> {
    let part = |response: &'_ LoadResponse| Some((response.low?.service, response.rate_between(from, to)?));
    responses.iter().filter_map(|response| part(response).map(|(service, rate)| (response.name.as_str(), service, rate))).collect()
}

/// The cores in use as a part of the service times under low load. `None` where the load was never low, and under closed load, whose few users wait for each
/// other already.
pub(super) fn cpu_share_of_service(responses: &[LoadResponse], cores_used: f64, span: (f64, f64)) -> Option<f64> {
    if responses.iter().any(|response| !response.is_open) {
        return None;
    }
    share_of_service(responses, cores_used, span)
}

/// The same for any load. Under closed load it is a lower bound.
pub(super) fn share_of_service(responses: &[LoadResponse], cores_used: f64, span: (f64, f64)) -> Option<f64> {
    let all: f64 = parts(responses, span).iter().map(|(_, service, rate)| service * rate).sum();
    (all > 0.0).then(|| cores_used / all)
}

/// The request that causes most of the demand, if there is one. Under low load, a request that mainly needs a CPU takes little more than its demand.
fn most(responses: &[LoadResponse], cores_used: f64, span: (f64, f64)) -> Option<(String, f64)> {
    let parts = parts(responses, span);
    let all: f64 = parts.iter().map(|(_, service, rate)| service * rate).sum();
    let (name, service, rate) = parts.into_iter().max_by(|a, b| (a.1 * a.2).total_cmp(&(b.1 * b.2)))?;
    let each_s = cores_used / rate.max(1e-9);
    let is_most = service * rate >= NAMED_DEMAND_SHARE_MIN * all && SERVICE_PER_DEMAND.contains(&(service / each_s));
    is_most.then(|| (name.to_owned(), each_s))
}
