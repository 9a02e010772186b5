//! Requests that wait before they are sent: most of their added time is spent connecting.

use loadstone_metrics::{Histogram, SeriesKind, SeriesSlice};
use loadstone_run_directory::Run;

use super::waiting::WaitingStretch;

/// A SYN is sent again after one second (RFC 6298, section 2). A little less, since clocks and buckets are coarse.
pub(crate) const SYN_RETRY_NS: u64 = 990_000_000;
/// Part of the added time that must be spent connecting.
const CONNECTING_PART_MIN: f64 = 0.6;
/// Connections that must have been opened.
const CONNECTIONS_MIN: u64 = 20;

/// Requests that waited to connect.
pub(crate) struct SlowConnects {
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Mean time of connecting per request, outside of the stretch and in it. Seconds.
    pub(crate) connect: (f64, f64),
    /// Mean time of a request, likewise.
    pub(crate) whole: (f64, f64),
    /// Connections opened in the stretch.
    pub(crate) opened: u64,
    /// Those that took long enough for a SYN to be sent again.
    pub(crate) slow: u64,
    /// Their part of the time spent connecting.
    pub(crate) part_of_slow: f64,
}

#[derive(Default)]
struct Connecting {
    requests: u64,
    connect_ns: f64,
    whole_ns: f64,
    connects: Histogram,
}

impl Connecting {
    fn add(&mut self, series: &SeriesSlice) {
        self.requests += series.count;
        self.connect_ns += series.phases.connect.sum() as f64;
        self.whole_ns += series.phases.all().iter().map(|(_, times)| times.sum() as f64).sum::<f64>();
        self.connects.merge(&series.phases.connect);
    }

    fn means(&self) -> (f64, f64) {
        let mean = |ns: f64| ns / 1e9 / self.requests.max(1) as f64;
        (mean(self.connect_ns), mean(self.whole_ns))
    }
}

/// `None`: no request waited, or none of them for a connection.
pub(super) fn find(run: &Run, waiting: &[WaitingStretch]) -> Option<SlowConnects> {
    let stretch = waiting.iter().find(|stretch| stretch.flow.is_none())?;
    let (mut inside, mut outside) = (Connecting::default(), Connecting::default());
    for slice in &run.slices {
        let is_inside = slice.start as f64 / 1e9 >= stretch.from && slice.end as f64 / 1e9 <= stretch.to;
        let sums = if is_inside { &mut inside } else { &mut outside };
        slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request).for_each(|series| sums.add(series));
    }
    let (before, after) = (outside.means(), inside.means());
    let added = after.1 - before.1;
    let slow = beyond(&inside.connects, SYN_RETRY_NS);
    let is_of_connecting = added > 0.0 && outside.requests > 0 && after.0 - before.0 >= CONNECTING_PART_MIN * added;
    let slow_ns: f64 =
        inside.connects.bars().filter(|(from, ..)| *from >= SYN_RETRY_NS).map(|(from, _, count)| from as f64 * count as f64).sum();
    (is_of_connecting && inside.connects.count() >= CONNECTIONS_MIN).then(|| SlowConnects {
        from: stretch.from,
        to: stretch.to,
        connect: (before.0, after.0),
        whole: (before.1, after.1),
        opened: inside.connects.count(),
        slow,
        part_of_slow: slow_ns / inside.connect_ns.max(1.0),
    })
}

/// How many times exceed a limit.
pub(crate) fn beyond(times: &Histogram, limit_ns: u64) -> u64 {
    times.count() - times.count_at_or_below(limit_ns)
}
