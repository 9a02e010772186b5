//! How many more requests are in the system at high load than if each took as long as under low load.
//!
//! By Little's law (1961), requests that take ΔR longer at X per second are X·ΔR more in the system. If about as many more wait for one resource than under
//! low load, that resource is what they wait for, even if only a few seconds show it.

use super::load_response::LoadResponse;
use super::plateau::Plateaus;

/// Added requests that are a queue.
const ADDED_MIN: f64 = 1.0;

/// Requests that waited at high load.
#[derive(Debug, Clone, Copy)]
pub(super) struct AddedRequests {
    /// Seconds since the run began.
    pub(super) from: f64,
    pub(super) to: f64,
    /// Mean over the stretch.
    pub(super) count: f64,
}

/// The stretches in which requests clearly took longer: their throughput stopped, or their mean time grew at high load or at the highest load.
pub(super) fn find(responses: &[LoadResponse], plateaus: &Plateaus) -> Vec<AddedRequests> {
    let slower = || responses.iter().filter(|response| response.is_slower_on_average());
    let high = slower().filter_map(|response| response.high).map(|high| (high.from, high.to));
    let top = responses.iter().filter_map(LoadResponse::grown_top).map(|top| (top.from, top.to));
    let mut spans: Vec<(f64, f64)> = plateaus.span().into_iter().chain(high).chain(top).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    spans.dedup();
    let added = spans.into_iter().map(|(from, to)| AddedRequests { from, to, count: between(responses, (from, to)) });
    added.filter(|added| added.count >= ADDED_MIN).collect()
}

/// Throughput × the time that each request took longer than under low load, summed over all requests.
pub(super) fn between(responses: &[LoadResponse], (from, to): (f64, f64)) -> f64 {
    let added = |response: &LoadResponse| Some(response.rate_between(from, to)? * response.growth(from, to)?.max(0.0));
    responses.iter().filter_map(added).sum()
}
