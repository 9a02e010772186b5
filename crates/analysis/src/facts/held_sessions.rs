//! Places that a session holds from its begin to its end: over several requests, and the pauses between them.
//!
//! A server with N such places (processes, workers, connections) delays the first requests of a session until another session ends, and no later request. By
//! Little's law, X = N / T sessions end per second, where T is the time for which each holds its place. How much of an iteration that is, the run does not
//! show: a script may pause after its session has ended. With the whole iteration, X · T is the most places that there may be.
//!
//! A limiter that delays lets requests through at an even pace. The pace at which sessions end varies with the time of each.

use loadstone_metrics::SeriesKind;
use loadstone_run_directory::Run;

use super::plateau::Plateaus;

/// Connections for each iteration from which an iteration is a session.
const CONNECTIONS_PER_ITERATION_MIN: f64 = 0.9;
/// Iterations that show how long one takes without a wait.
const ITERATIONS_MIN: u64 = 5;
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
    if plateaus.unaffected.is_empty() || plateaus.paced().is_some() {
        return None;
    }
    let during = SessionCounts::between(run, (from, to));
    let low = SessionCounts::between(run, (first.low.from, first.low.to));
    let are_sessions = during.connections as f64 >= CONNECTIONS_PER_ITERATION_MIN * during.iterations as f64;
    if !are_sessions || low.iterations < ITERATIONS_MIN || during.iterations < ITERATIONS_MIN {
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

/// Of a stretch: iterations that ended, their times together, and connections that were opened.
struct SessionCounts {
    iterations: u64,
    seconds: f64,
    connections: u64,
}

impl SessionCounts {
    fn between(run: &Run, (from, to): (f64, f64)) -> Self {
        let is_inside = |start: u64, end: u64| start as f64 / 1e9 >= from - 1e-6 && end as f64 / 1e9 <= to + 1e-6;
        let inside = run.slices.iter().filter(|slice| is_inside(slice.start, slice.end));
        inside.fold(Self { iterations: 0, seconds: 0.0, connections: 0 }, |sum, slice| {
            let iterations = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Iteration);
            let (count, seconds) =
                iterations.fold((0, 0.0), |sum, series| (sum.0 + series.service.count(), sum.1 + series.service.sum() as f64 / 1e9));
            Self {
                iterations: sum.iterations + count,
                seconds: sum.seconds + seconds,
                connections: sum.connections + slice.generator.iter().map(|worker| worker.connections_opened).sum::<u64>(),
            }
        })
    }
}
