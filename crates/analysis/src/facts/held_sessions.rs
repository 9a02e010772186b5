//! Places that a session holds from its begin to its end: over several requests, and the pauses between them.
//!
//! A server with N such places (processes, workers, connections) delays the first requests of a session until another session ends, and no later request. By
//! Little's law, X = N / T sessions end per second, where T is the time for which each holds its place. How much of an iteration that is, the run does not
//! show: a script may pause after its session has ended. With the whole iteration, X · T is the most places that there may be.
//!
//! A limiter that delays lets requests through at an even pace. The pace at which sessions end varies with the time of each: the variance of their number over
//! its mean is the squared coefficient of variation of the time for which each holds its place (renewal theory; Cox, "Renewal Theory", 1962). Of that time only
//! the iteration's is known, so a pace is that of a limiter only if it is clearly more even than that.

use loadstone_metrics::SeriesKind;
use loadstone_run_directory::Run;

use super::pace::Evenness;
use super::plateau::Plateaus;

/// Connections for each iteration from which an iteration is a session.
const CONNECTIONS_PER_ITERATION_MIN: f64 = 0.9;
/// Iterations that show how long one takes without a wait.
const ITERATIONS_MIN: u64 = 5;
/// Variance over mean of the pace, as a part of the squared coefficient of variation of an iteration, below which sessions would pass less evenly.
const DISPERSION_PART_MIN: f64 = 0.5;
/// Sessions at a time below which there is no place that each of them holds.
const SESSIONS_MIN: f64 = 1.0;

/// Sessions that may each hold a place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldSessions {
    /// Sessions that ended per second while the first requests waited.
    pub(crate) rate: f64,
    /// Time of an iteration under low load. Seconds.
    pub(crate) each_s: f64,
    pub(crate) connections: u64,
    pub(crate) iterations: u64,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl HeldSessions {
    /// The most sessions that were in progress at a time, besides those that waited.
    pub(crate) fn most(&self) -> f64 {
        self.rate * self.each_s
    }
}

/// `None`: iterations are no sessions, each of their requests waits, or fewer than one is in progress at a time.
pub(super) fn find(run: &Run, plateaus: &Plateaus) -> Option<HeldSessions> {
    let (from, to) = plateaus.span()?;
    let first = plateaus.limited.first()?;
    // A later request that does not wait belongs to a session that has its place.
    if plateaus.unaffected.is_empty() {
        return None;
    }
    let during = SessionCounts::between(run, (from, to));
    let low = SessionCounts::between(run, (first.low.from, first.low.to));
    let are_sessions = during.connections as f64 >= CONNECTIONS_PER_ITERATION_MIN * during.iterations as f64;
    let are_seen = low.iterations >= ITERATIONS_MIN && during.iterations >= ITERATIONS_MIN;
    let is_limiter = |pace: Evenness| pace.dispersion() < DISPERSION_PART_MIN * low.squared_variation();
    if !are_sessions || !are_seen || plateaus.paced().is_some_and(is_limiter) {
        return None;
    }
    let found = HeldSessions {
        rate: during.iterations as f64 / (to - from).max(1e-9),
        each_s: low.seconds / low.iterations as f64,
        connections: during.connections,
        iterations: during.iterations,
        from,
        to,
    };
    (found.most() >= SESSIONS_MIN).then_some(found)
}

/// Of a stretch: iterations that ended, the sums of their times and of the squares of these, and connections that were opened.
#[derive(Default)]
struct SessionCounts {
    iterations: u64,
    seconds: f64,
    squares: f64,
    connections: u64,
}

impl SessionCounts {
    fn between(run: &Run, (from, to): (f64, f64)) -> Self {
        let is_inside = |start: u64, end: u64| start as f64 / 1e9 >= from - 1e-6 && end as f64 / 1e9 <= to + 1e-6;
        let inside = run.slices.iter().filter(|slice| is_inside(slice.start, slice.end));
        inside.fold(Self::default(), |mut sum, slice| {
            for series in slice.series.iter().filter(|series| series.key.kind == SeriesKind::Iteration) {
                sum.iterations += series.service.count();
                sum.seconds += series.service.sum() as f64 / 1e9;
                sum.squares +=
                    series.service.bars().map(|(low, high, count)| count as f64 * ((low + high) as f64 / 2e9).powi(2)).sum::<f64>();
            }
            sum.connections += slice.generator.iter().map(|worker| worker.connections_opened).sum::<u64>();
            sum
        })
    }

    /// Squared coefficient of variation of an iteration's time.
    fn squared_variation(&self) -> f64 {
        let mean = self.seconds / (self.iterations as f64).max(1.0);
        let squares = self.squares / (self.iterations as f64).max(1.0);
        if mean > 0.0 { (squares / mean.powi(2) - 1.0).max(0.0) } else { 0.0 }
    }
}
