//! How late the generator was in a stretch of the run.

use loadstone_metrics::{SeriesKind, Snapshot};

use super::tally::read_lateness;

/// Means over the requests that ended in it. Seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct LateStretch {
    /// How late responses were read; in response and service times alike.
    pub(crate) read: f64,
    /// Schedule lag, whoever's doing it was; in response times only.
    pub(crate) lag: f64,
}

/// `from` and `to` in seconds since the run began; seconds that begin within.
pub(crate) fn lateness_between(slices: &[Snapshot], (from, to): (f64, f64)) -> LateStretch {
    let (mut requests, mut read_ns, mut lag_ns) = (0, 0.0, 0.0);
    for slice in slices.iter().filter(|slice| (from..to).contains(&(slice.start as f64 / 1e9))) {
        let reads = read_lateness(slice);
        requests += reads.requests;
        read_ns += reads.sum_ns;
        let of_requests = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request);
        lag_ns += of_requests.map(|series| series.lag.sum() as f64).sum::<f64>();
    }
    let mean = |ns: f64| ns / requests.max(1) as f64 / 1e9;
    LateStretch { read: mean(read_ns), lag: mean(lag_ns) }
}
