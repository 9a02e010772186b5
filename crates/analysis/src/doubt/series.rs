//! What the generator can have added to the times of one series.

use loadstone_metrics::{Histogram, PhaseSlice};

use super::ladder::LatenessLadder;

/// The lateness behind one series. Merging adds what another series, or a later second, has.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeriesDoubt {
    /// The times without what the generator is known to have added: service times where it started requests late, response times where the
    /// target held the users that were to make them.
    base: Histogram,
    /// Schedule lag of the generator's making.
    pub(super) lag: Histogram,
    /// Late reads that are the series' by its part of all requests.
    expected: LatenessLadder,
    /// Late reads that are the series' if all of a second's were.
    most: LatenessLadder,
    /// Sum of the read lag that is the series' by its part. Nanoseconds.
    read_lag_ns: f64,
    /// Timed-out requests whose responses may have come in time, and were read late.
    pub(super) timeouts_read_late: u64,
    /// Requests that one of the series is made of: several for a group or an iteration.
    pub(super) parts: f64,
    /// Look-ups, connects and handshakes that requests of the series waited for: each was read as late as a response.
    opened: [u64; 3],
    /// Time in which `lag` was recorded.
    pub(super) span_ns: u64,
    /// Whether requests were asked for at the same instants: that they start in bunches is not the generator's doing.
    in_bursts: bool,
}

/// A second's responses, as late as they were read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadLateness {
    pub(super) late: LatenessLadder,
    /// Nanoseconds, over all requests.
    pub(super) sum_ns: f64,
    /// Requests that ended in the second.
    pub(super) requests: u64,
}

impl SeriesDoubt {
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

    /// Adds the reads of another: those of a group's requests to the group, for instance.
    pub(super) fn add_reads_of(&mut self, other: &SeriesDoubt) {
        self.expected.add(&other.expected, |late| late);
        self.most.add(&other.most, |late| late);
        self.read_lag_ns += other.read_lag_ns;
        self.opened.iter_mut().zip(other.opened).for_each(|(mine, theirs)| *mine += theirs);
    }

    pub(super) fn merge(&mut self, other: &SeriesDoubt) {
        self.base.merge(&other.base);
        self.lag.merge(&other.lag);
        self.add_reads_of(other);
        self.timeouts_read_late += other.timeouts_read_late;
        self.parts = self.parts.max(other.parts);
        self.span_ns = self.span_ns.max(other.span_ns);
        self.in_bursts |= other.in_bursts;
    }

    /// A quantile's least true value, in seconds. `value` is what was measured for it, `measured` all measured times.
    ///
    /// Let S be the times without the schedule lag, r the read lag. However the two depend on each other, P(S − r ≤ z) ≤ P(S ≤ z + x) + P(r > x)
    /// for any x, so that the p-quantile of S − r is at least Q_S(p − P(r > x)) − x (Makarov, "Estimates for the distribution function of a sum
    /// of two random variables when the marginal distributions are fixed", 1981). The best x of a ladder is taken.
    pub(crate) fn least(&self, quantile: f64, value: f64, measured: &Histogram) -> f64 {
        let nearest = (quantile * measured.count() as f64 - 1e-9).ceil() as u64;
        // With times that were cut off, a quantile stands further up among those that were not.
        let value_ns = (value * 1e9).round() as u64;
        let below = measured.count_at_or_below(value_ns - value_ns / 256);
        let rank = nearest.max(below + 1).min(self.base.count());
        let connected = self.opened.into_iter().max().unwrap_or(0);
        // Either each read of a request may have been late, or those that opened a connection prove nothing.
        let each = self.least_at(rank, self.bunched(), self.reads(), self.opening_share());
        let without = || self.least_at(rank, self.bunched() + connected, self.parts.max(1.0), 0.0);
        let best = if connected > 0 { each.max(without()) } else { each };
        (best / 1e9).min(value)
    }

    /// The best bound of the ladder for a rank, where `excluded` prove nothing and each of the others waited for so many reads, of which so many for one
    /// of a response opened a connection. Nanoseconds.
    fn least_at(&self, rank: u64, excluded: u64, reads: f64, opening: f64) -> f64 {
        let mut best = 0.0_f64;
        let mut late_before = u64::MAX;
        for (level_ns, late) in self.late() {
            let late = late + (late as f64 * opening).ceil() as u64;
            // The same rank at a higher level can only be less.
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

    /// Reads that one of the series waits for at most, one after the other.
    fn reads(&self) -> f64 {
        let count = self.base.count().max(1);
        self.parts.max(1.0) + self.opened.iter().map(|opened| opened.div_ceil(count) as f64).sum::<f64>()
    }

    /// Reads that open connections, for one of a response.
    fn opening_share(&self) -> f64 {
        self.opened.iter().sum::<u64>() as f64 / (self.base.count().max(1) as f64 * self.parts.max(1.0))
    }

    /// By how much the mean may be too high. Seconds; `measured` are all measured times.
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

    /// `(level, how many can have been read later)`, ascending; the last is none. Read lag is recorded by worker: in each second a series is taken to
    /// have its part of the late reads, and over the run no more than there were in the seconds in which it ended requests.
    fn late(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let levels = self.expected.levels().zip(self.most.levels());
        levels.map(|((level, expected), (_, most))| (level, expected.min(most).ceil() as u64))
    }

    /// Requests that started so late that they met those due after them: they may have waited for each other at the target, and their service
    /// times show no more than that.
    fn bunched(&self) -> u64 {
        if self.in_bursts || self.lag.is_empty() {
            return 0;
        }
        let median = self.base.quantile(0.5).unwrap_or(0);
        self.lag.count() - self.lag.count_at_or_below(median.max(self.gap_ns()))
    }

    /// Mean time from one scheduled request to the next.
    fn gap_ns(&self) -> u64 {
        self.span_ns / self.lag.count().max(1)
    }
}
