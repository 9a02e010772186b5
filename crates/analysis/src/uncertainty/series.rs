//! The time that the generator can have added to the times of one series.

use loadstone_metrics::{Histogram, PhaseSlice};

use super::ladder::LatenessLadder;

/// The lateness that affects one series. Merging adds that of another series or of a later second.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeriesUncertainty {
    /// The times without the time that the generator is known to have added: service times where it started requests late, response times
    /// where the target held the users that should have sent them.
    base: Histogram,
    /// Schedule lag that the generator caused.
    pub(super) lag: Histogram,
    /// Late reads, divided by the share of the series in all requests.
    expected: LatenessLadder,
    /// Late reads if all of a second's late reads were of this series.
    most: LatenessLadder,
    /// Sum of the read lag, divided by the share of the series in all requests. Nanoseconds.
    read_lag_ns: f64,
    /// Timed-out requests whose responses may have arrived in time and been read late.
    pub(super) timeouts_read_late: u64,
    /// Requests per entry of the series: several for a group or an iteration.
    pub(super) parts: f64,
    /// DNS look-ups, connects and handshakes that requests of the series waited for: each was read as late as a response.
    opened: [u64; 3],
    /// Length of the time in which `lag` was recorded.
    pub(super) span_ns: u64,
    /// The plan schedules several requests for the same time, so the generator is not the cause of bunches.
    in_bursts: bool,
}

/// How late the responses of one second were read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadLateness {
    pub(super) late: LatenessLadder,
    /// Sum over all requests. Nanoseconds.
    pub(super) sum_ns: f64,
    /// Requests that ended in the second.
    pub(super) requests: u64,
}

impl SeriesUncertainty {
    pub(super) fn new(in_bursts: bool, parts: f64) -> Self {
        Self { in_bursts, parts, ..Self::default() }
    }

    pub(super) fn count(&self) -> u64 {
        self.base.count()
    }

    pub(super) fn add_times(&mut self, base: &Histogram) {
        self.base.merge(base);
    }

    pub(super) fn add_reads(&mut self, count: u64, reads: &ReadLateness) {
        if count == 0 || reads.requests == 0 || reads.late.is_empty() {
            return;
        }
        let part = count as f64 / reads.requests as f64;
        self.expected.add(&reads.late, |late| late * part);
        self.most.add(&reads.late, |late| late.ceil().min(count as f64));
        self.read_lag_ns += reads.sum_ns * part;
    }

    pub(super) fn add_connections(&mut self, phases: &PhaseSlice) {
        let opened = [&phases.dns, &phases.connect, &phases.tls].map(Histogram::count);
        self.opened.iter_mut().zip(opened).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Adds the reads of another series, for example those of a group's requests to the group.
    pub(super) fn add_reads_of(&mut self, other: &SeriesUncertainty) {
        self.expected.add(&other.expected, |late| late);
        self.most.add(&other.most, |late| late);
        self.read_lag_ns += other.read_lag_ns;
        self.opened.iter_mut().zip(other.opened).for_each(|(mine, theirs)| *mine += theirs);
    }

    pub(super) fn merge(&mut self, other: &SeriesUncertainty) {
        self.base.merge(&other.base);
        self.lag.merge(&other.lag);
        self.add_reads_of(other);
        self.timeouts_read_late += other.timeouts_read_late;
        self.parts = self.parts.max(other.parts);
        self.span_ns = self.span_ns.max(other.span_ns);
        self.in_bursts |= other.in_bursts;
    }

    /// The least true value of a quantile, in seconds. `value` is its measured value, `measured` all measured times.
    ///
    /// Let S be the times without the schedule lag, and r the read lag. Whatever the dependence between the two, P(S − r ≤ z) ≤ P(S ≤ z +
    /// x) + P(r > x) for any x. Therefore the p-quantile of S − r is at least Q_S(p − P(r > x)) − x (Makarov, "Estimates for the
    /// distribution function of a sum of two random variables when the marginal distributions are fixed", 1981). The best x of a ladder is
    /// used.
    pub(crate) fn least(&self, quantile: f64, value: f64, measured: &Histogram) -> f64 {
        let nearest = (quantile * measured.count() as f64 - 1e-9).ceil() as u64;
        // With censored times, a quantile has a higher rank among the uncensored ones.
        let value_ns = (value * 1e9).round() as u64;
        let below = measured.count_at_or_below(value_ns - value_ns / 256);
        let rank = nearest.max(below + 1).min(self.base.count());
        let connected = self.opened.into_iter().max().unwrap_or(0);
        // Either each read of a request may have been late, or the requests that opened a connection are excluded.
        let each = self.least_at(rank, self.bunched(), self.reads(), self.opening_share());
        let without = || self.least_at(rank, self.bunched() + connected, self.parts.max(1.0), 0.0);
        let best = if connected > 0 { each.max(without()) } else { each };
        (best / 1e9).min(value)
    }

    /// The best bound of the ladder for a rank. `excluded` requests are ignored, each of the others waited for `reads` reads, and `opening`
    /// is the number of reads that opened a connection per read of a response. Nanoseconds.
    fn least_at(&self, rank: u64, excluded: u64, reads: f64, opening: f64) -> f64 {
        let mut best = 0.0_f64;
        let mut late_before = u64::MAX;
        for (level_ns, late) in self.late() {
            let late = late + (late as f64 * opening).ceil() as u64;
            // The same rank at a higher level can only give a smaller bound.
            if late == late_before {
                continue;
            }
            late_before = late;
            if late + excluded < rank {
                best = best.max(self.base.value_at_rank(rank - late - excluded) as f64 - reads * level_ns);
            }
        }
        best
    }

    /// The maximum number of sequential reads that one entry of the series waits for.
    fn reads(&self) -> f64 {
        let count = self.base.count().max(1);
        self.parts.max(1.0) + self.opened.iter().map(|opened| opened.div_ceil(count) as f64).sum::<f64>()
    }

    /// Reads that open connections, per read of a response.
    fn opening_share(&self) -> f64 {
        self.opened.iter().sum::<u64>() as f64 / (self.base.count().max(1) as f64 * self.parts.max(1.0))
    }

    /// The maximum by which the mean may be too high, in seconds. `measured` are all measured times.
    pub(crate) fn of_mean(&self, measured: &Histogram) -> f64 {
        let count = measured.count().max(1) as f64;
        let lag_ns = measured.sum() as f64 - self.base.sum() as f64;
        let bunched = self.bunched() as f64 * self.base.mean().unwrap_or(0.0);
        ((lag_ns.max(0.0) + self.read_lag_ns * (1.0 + self.opening_share()) + bunched) / count / 1e9)
            .min(measured.mean().unwrap_or(0.0) / 1e9)
    }

    /// The least true maximum, in seconds.
    pub(crate) fn least_max(&self) -> f64 {
        let latest_ns = self.late().last().map_or(0.0, |(level, _)| level);
        (self.base.max() as f64 - self.reads() * latest_ns).max(0.0) / 1e9
    }

    /// `(level, number of requests that can have been read later)`, ascending; the last number is 0. Read lag is recorded by worker. In
    /// each second a series gets its share of the late reads, and over the run no more than there were in the seconds in which its requests
    /// ended.
    fn late(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let levels = self.expected.levels().zip(self.most.levels());
        levels.map(|((level, expected), (_, most))| (level, expected.min(most).ceil() as u64))
    }

    /// Requests that started so late that they coincided with those due after them. They may have waited for each other at the target, so
    /// their service times prove nothing.
    fn bunched(&self) -> u64 {
        if self.in_bursts || self.lag.is_empty() {
            return 0;
        }
        let median = self.base.quantile(0.5).unwrap_or(0);
        self.lag.count() - self.lag.count_at_or_below(median.max(self.gap_ns()))
    }

    /// Mean time between scheduled requests.
    fn gap_ns(&self) -> u64 {
        self.span_ns / self.lag.count().max(1)
    }
}
