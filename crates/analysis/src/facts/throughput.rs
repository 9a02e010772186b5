//! Throughput of closed load that dropped while as many users were active and in requests.
//!
//! By Little's law, N users complete N / (R + Z) requests per second, with a response time R and a time Z between requests. If as many users are in requests as
//! before, Z has not changed: the system holds the users. Medians do not show it where a few requests take very long, or no request ends.

use loadstone_metrics::{SeriesKind, Snapshot};
use loadstone_run_directory::Run;

use super::changes::CHANGE_FACTOR_MIN;
use super::load_stretches::SteadyStretch;
use crate::statistics::shift;

/// Requests that must have ended before, and that must be missing during the drop.
const REQUESTS_MIN: u64 = 50;
/// Requests that a point of the series has on average.
const POINT_REQUESTS_MIN: f64 = 5.0;
/// Probability of such a drop by chance.
const P_VALUE_MAX: f64 = 1e-3;
/// Part of the requests in flight before that must be in flight during the drop.
const IN_FLIGHT_PART_MIN: f64 = 0.9;
/// Pause of the generator from which a slow second counts as its own. Seconds.
const GENERATOR_PAUSE_MIN_S: f64 = 0.3;

/// Rates are requests that ended per second. Instants are seconds since the run began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThroughputDrop {
    pub(crate) at: f64,
    /// `None`: it lasted.
    pub(crate) until: Option<f64>,
    /// The rates before and during the drop.
    pub(crate) before: f64,
    pub(crate) during: f64,
    /// Requests before and during it.
    pub(crate) counts: (u64, u64),
    pub(crate) users: f64,
    /// Users in requests before and during it, means.
    pub(crate) in_flight: (f64, f64),
}

/// The deepest drop; `None` where there is none, and under open load.
pub(super) fn find(run: &Run, stretches: &[SteadyStretch]) -> Option<ThroughputDrop> {
    if run.plan.load.leaves().iter().any(|leaf| leaf.profile.is_open()) {
        return None;
    }
    let found = stretches.iter().filter_map(|stretch| in_stretch(&run.slices[stretch.from..stretch.to]));
    found.min_by(|a, b| (a.during / a.before).total_cmp(&(b.during / b.before)))
}

fn in_stretch(slices: &[Snapshot]) -> Option<ThroughputDrop> {
    let all: u64 = slices.iter().map(ended).sum();
    let stride = (POINT_REQUESTS_MIN * slices.len() as f64 / all.max(1) as f64).ceil().max(1.0) as usize;
    let counts: Vec<f64> = slices.chunks_exact(stride).map(|part| part.iter().map(ended).sum::<u64>() as f64).collect();
    let found = shift::find(&counts).filter(|shift| shift.p_value <= P_VALUE_MAX)?;
    let (from, to) = (found.start * stride, if found.end == counts.len() { slices.len() } else { found.end * stride });
    let inside = &slices[from..to];
    let outside: Vec<&Snapshot> = slices[..from].iter().chain(&slices[to..]).collect();
    let sum = |slices: &[&Snapshot]| slices.iter().map(|slice| ended(slice)).sum::<u64>();
    let length = |slices: &[&Snapshot]| slices.iter().map(|slice| slice.end - slice.start).sum::<u64>() as f64 / 1e9;
    let in_flight_mean = |slices: &[&Snapshot]| {
        let busy = slices.iter().flat_map(|slice| &slice.generator).map(|worker| worker.in_flight_ns).sum::<u64>() as f64 / 1e9;
        busy / length(slices).max(1e-9)
    };
    let inside: Vec<&Snapshot> = inside.iter().collect();
    let (counts, users) =
        ((sum(&outside), sum(&inside)), inside.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.users_active).max()?);
    let (before, during) = (counts.0 as f64 / length(&outside).max(1e-9), counts.1 as f64 / length(&inside).max(1e-9));
    let in_flight = (in_flight_mean(&outside), in_flight_mean(&inside));
    let paused = |slice: &&&Snapshot| {
        slice.generator.iter().any(|worker| worker.stalls.max().max(worker.read_lag.max()) as f64 / 1e9 >= GENERATOR_PAUSE_MIN_S)
    };
    let is_of_generator = inside.iter().filter(paused).count() * 2 >= inside.len();
    let is_drop =
        before >= CHANGE_FACTOR_MIN * during && counts.0 >= REQUESTS_MIN && (before - during) * length(&inside) >= REQUESTS_MIN as f64;
    (is_drop && !is_of_generator && in_flight.1 >= IN_FLIGHT_PART_MIN * in_flight.0 && from > 0).then(|| ThroughputDrop {
        at: inside[0].start as f64 / 1e9,
        until: (to < slices.len()).then(|| slices[to].start as f64 / 1e9),
        before,
        during,
        counts,
        users: users as f64,
        in_flight,
    })
}

fn ended(slice: &Snapshot) -> u64 {
    slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.count).sum()
}
