//! How late the generator was in a period of the run.

use loadstone_metrics::{SeriesKind, Snapshot};

use super::tally::read_lateness;

/// Means over the requests that ended in the period. Seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct LateStretch {
    /// How late responses were read. It is part of response times and of service times.
    pub(crate) read: f64,
    /// Schedule lag, regardless of its cause. It is part of response times only.
    pub(crate) lag: f64,
}

/// `from` and `to` in seconds since the run began. The period consists of the seconds that begin within.
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
