//! Quantiles of censored times: some times are only known to exceed a lower bound.
//!
//! A request that timed out or was cut off at the end of the run took at least as long as it was observed. Leaving it out, or counting it
//! as if its response had arrived then, makes a slow target look fast. The product-limit estimator (Kaplan and Meier, "Nonparametric
//! Estimation from Incomplete Observations", JASA 1958) uses exactly the information that the lower bound carries. Without censored times
//! it equals the nearest-rank quantile.

use loadstone_metrics::{Histogram, SeriesSlice};

/// The times of a series, some of them censored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CensoredTimes<'a> {
    /// All requests that ended. Timed-out ones count with their time limit.
    pub(crate) ended: &'a Histogram,
    /// Lower bounds: timed-out requests (also in `ended`) and interrupted requests (not in `ended`).
    pub(crate) censored: &'a Histogram,
    /// The part of `ended` that failed, including timed-out requests.
    pub(crate) failed: &'a Histogram,
}

/// A quantile of censored times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Quantile {
    /// Seconds.
    Known(f64),
    /// The quantile lies beyond the longest wait, so only this lower bound is known. Seconds.
    Beyond(f64),
    NoData,
}

/// The quantile of all journeys of a flow. Open journeys and journeys that were given up rank behind all that finished. This is exact where
/// they do take longer, and never too low. The product-limit estimator is unsuitable here: in a growing queue, the journeys that are open
/// at the end started last and take longest. `open`: lower bounds of the times of journeys that did not finish.
pub(crate) fn behind(finished: &Histogram, open: &Histogram, q: f64) -> Quantile {
    let all = finished.count() + open.count();
    if all == 0 {
        return Quantile::NoData;
    }
    let rank = ((q * all as f64 - 1e-9).ceil() as u64).clamp(1, all);
    if rank <= finished.count() {
        return Quantile::Known(finished.value_at_rank(rank) as f64 / 1e9);
    }
    let mut bounds = finished.clone();
    bounds.merge(open);
    Quantile::Beyond(bounds.value_at_rank(rank) as f64 / 1e9)
}

impl<'a> CensoredTimes<'a> {
    /// Response times of a series.
    pub(crate) fn response(series: &'a SeriesSlice) -> Self {
        Self { ended: &series.response, censored: &series.censored, failed: &series.failed_response }
    }

    /// Service times of a series. `failed` only shows which requests of a bucket timed out, so the timed-out times serve as `failed`.
    pub(crate) fn service(series: &'a SeriesSlice) -> Self {
        Self { ended: &series.service, censored: &series.service_censored, failed: &series.service_timed_out }
    }

    /// The longest time. It is only a bound where the longest wait was cut off.
    pub(crate) fn longest(&self) -> Quantile {
        match (self.ended.is_empty(), self.censored.is_empty()) {
            (true, true) => Quantile::NoData,
            (false, _) if self.censored.is_empty() || self.ended.max() > self.censored.max() => {
                Quantile::Known(self.ended.max() as f64 / 1e9)
            }
            _ => Quantile::Beyond(self.censored.max() as f64 / 1e9),
        }
    }

    /// The mean, in seconds; `None`: nothing ended. With censored times, it is the restricted mean (Irwin, "The standard error of an
    /// estimate of expectation of life", 1949): the area below the product-limit curve up to the longest wait, so that each request counts
    /// for as long as it was observed.
    pub(crate) fn mean(&self) -> Option<f64> {
        if self.censored.is_empty() || self.ended.is_empty() {
            return self.ended.mean().map(|ns| ns / 1e9);
        }
        let longest = self.ended.max().max(self.censored.max());
        let steps = self.steps();
        let mut at_risk: u64 = steps.iter().map(|(_, events, censored)| events + censored).sum();
        let (mut survival, mut before, mut area) = (1.0, 0, 0.0);
        for (value, events, censored) in steps {
            let value = value.min(longest);
            area += survival * (value - before) as f64;
            before = value;
            survival *= 1.0 - events as f64 / at_risk as f64;
            at_risk -= events + censored;
        }
        Some((area + survival * (longest - before) as f64) / 1e9)
    }

    /// The number of samples behind a quantile.
    pub(crate) fn count(&self) -> u64 {
        self.ended.count()
    }

    pub(crate) fn quantile(&self, q: f64) -> Quantile {
        if self.censored.is_empty() {
            return self.ended.quantile(q).map_or(Quantile::NoData, |ns| Quantile::Known(ns as f64 / 1e9));
        }
        product_limit(&self.steps(), q, self.ended.max().max(self.censored.max()))
    }

    /// `(value, ended there, censored there)` per bucket, ascending. Requests that are both failed and censored timed out. In a bucket with
    /// other failures and interrupted requests, these count as timeouts.
    fn steps(&self) -> Vec<(u64, u64, u64)> {
        let mut steps: Vec<(u64, u64, u64, u64)> = Vec::new();
        let mut bars = [self.ended.bars().peekable(), self.censored.bars().peekable(), self.failed.bars().peekable()];
        while let Some(low) = bars.iter_mut().filter_map(|bars| bars.peek().map(|bar| bar.0)).min() {
            let mut counts = [0; 3];
            let mut middle = low;
            for (bars, count) in bars.iter_mut().zip(&mut counts) {
                if let Some((_, high, n)) = bars.next_if(|bar| bar.0 == low) {
                    middle = low + (high - low) / 2;
                    *count = n;
                }
            }
            steps.push((middle, counts[0], counts[1], counts[2]));
        }
        let events = |(value, ended, censored, failed): (u64, u64, u64, u64)| (value, ended - censored.min(failed).min(ended), censored);
        steps.into_iter().map(events).collect()
    }
}

/// `max`: the longest wait.
fn product_limit(steps: &[(u64, u64, u64)], q: f64, max: u64) -> Quantile {
    let mut at_risk: u64 = steps.iter().map(|(_, events, censored)| events + censored).sum();
    if at_risk == 0 {
        return Quantile::NoData;
    }
    let mut survival = 1.0;
    for (value, events, censored) in steps {
        if *events > 0 {
            survival *= 1.0 - *events as f64 / at_risk as f64;
            // The tolerance makes the nearest rank exact where q·n is a whole number.
            if survival <= 1.0 - q + 1e-12 {
                return Quantile::Known((*value).min(max) as f64 / 1e9);
            }
        }
        at_risk -= events + censored;
    }
    Quantile::Beyond(max as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    /// A worked example for the Kaplan–Meier estimator: remission times of 6-MP patients (Freireich et al., 1963), whose survival at 6, 7,
    /// 10, 13, 16, 22 and 23 weeks is published as 0.857, 0.807, 0.753, 0.690, 0.627, 0.538 and 0.448.
    #[test]
    fn reproduces_a_published_survival_curve() {
        let relapsed = [6, 6, 6, 7, 10, 13, 16, 22, 23];
        let censored = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35];
        let (ended, censored) = (histogram(relapsed), histogram(censored));
        let times = CensoredTimes { ended: &ended, censored: &censored, failed: &Histogram::new() };
        for (survival, week) in [(0.857, 6), (0.807, 7), (0.753, 10), (0.690, 13), (0.627, 16), (0.538, 22), (0.448, 23)] {
            assert_eq!(times.quantile(1.0 - survival - 0.0006), Quantile::Known(week as f64 / 1e9), "just above {survival}");
        }
        assert_eq!(times.quantile(0.6), Quantile::Beyond(35e-9));
    }

    /// For the same patients: 6 + 0.857 + 3 · (0.807 + 0.753 + 0.690) + 6 · 0.627 + 0.538 + 12 · 0.448 weeks, as survival packages print
    /// it.
    #[test]
    fn the_restricted_mean_is_the_area_below_a_published_survival_curve() {
        let ended = histogram([6, 6, 6, 7, 10, 13, 16, 22, 23]);
        let censored = histogram([6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]);
        let mean = CensoredTimes { ended: &ended, censored: &censored, failed: &Histogram::new() }.mean().unwrap();
        assert!((mean * 1e9 - 23.29).abs() < 0.01, "{mean}");
    }

    #[test]
    fn interrupting_requests_does_not_move_the_mean() {
        // Uniform times of 1 to 100 ms, of which every third is cut off at an independent time.
        let (mut ended, mut interrupted, mut plain) = (Histogram::new(), Histogram::new(), 0);
        for n in 0..30_000u64 {
            let (time, cut) = ((1 + n % 100) * 1_000_000, (1 + n * 7_919 % 113) * 1_000_000);
            if n % 3 == 0 && cut < time {
                interrupted.record(cut);
            } else {
                ended.record(time);
            }
            plain += time;
        }
        let (truth, none) = (plain as f64 / 30_000.0 / 1e9, Histogram::new());
        let mean = CensoredTimes { ended: &ended, censored: &interrupted, failed: &none }.mean().unwrap();
        let of_ended = ended.mean().unwrap() / 1e9;
        assert!((mean / truth - 1.0).abs() < 0.01 && of_ended < 0.95 * truth, "{mean} for {truth}; of those that ended {of_ended}");
    }

    #[test]
    fn a_request_that_timed_out_counts_with_its_time_limit() {
        // 97 of 1 to 97 ns and three of 400.
        let (ended, timed_out) = (histogram((1..=97).chain([400; 3])), histogram([400; 3]));
        let mean = CensoredTimes { ended: &ended, censored: &timed_out, failed: &timed_out }.mean().unwrap();
        assert!((mean * 1e9 - (97.0 * 49.0 + 1_200.0) / 100.0).abs() < 0.2, "{mean}");
    }

    #[test]
    fn a_percentile_beyond_the_time_limit_is_a_bound() {
        // 97 answered in 1 to 97 ns, 3 timed out at 400 ns: p97 is known, p98 is not.
        let ended = histogram((1..=97).chain([400; 3]));
        let timed_out = histogram([400; 3]);
        let times = CensoredTimes { ended: &ended, censored: &timed_out, failed: &timed_out };
        assert_eq!(times.quantile(0.97), Quantile::Known(97e-9));
        assert_eq!(times.quantile(0.98), Quantile::Beyond(400e-9));
    }

    #[test]
    fn open_journeys_rank_behind_all_that_finished() {
        // 75 finished in 1 to 75 ns, 25 have been open for 5 ns: their times are 5 ns or more.
        let (finished, open) = (histogram(1..=75), histogram([5; 25]));
        assert_eq!(behind(&finished, &open, 0.5), Quantile::Known(50e-9));
        assert_eq!(behind(&finished, &open, 0.75), Quantile::Known(75e-9));
        // The 76th of the hundred is an open journey; with all of these at their bound it would be 51 ns.
        assert_eq!(behind(&finished, &open, 0.76), Quantile::Beyond(51e-9));
        assert_eq!(behind(&finished, &histogram([]), 1.0), Quantile::Known(75e-9));
        assert_eq!(behind(&histogram([]), &open, 0.5), Quantile::Beyond(5e-9));
        assert_eq!(behind(&histogram([]), &histogram([]), 0.5), Quantile::NoData);
    }

    proptest! {
        /// However long the open journeys take: the value is not below the truth, and the bound is not above it.
        #[test]
        fn never_too_low_and_never_a_wrong_bound(
            finished in proptest::collection::vec(1u64..500, 0..80), open in proptest::collection::vec((1u64..400, 0u64..100), 0..40), q in 0.01f64..0.99
        ) {
            prop_assume!(!finished.is_empty() || !open.is_empty());
            let mut truth: Vec<u64> = finished.iter().copied().chain(open.iter().map(|(age, more)| age + more)).collect();
            truth.sort_unstable();
            let truth = truth[((q * truth.len() as f64).ceil() as usize).clamp(1, truth.len()) - 1] as f64 / 1e9;
            match behind(&histogram(finished), &histogram(open.iter().map(|(age, _)| *age)), q) {
                Quantile::Known(value) => prop_assert!(value >= truth),
                Quantile::Beyond(bound) => prop_assert!(bound <= truth),
                Quantile::NoData => prop_assert!(false),
            }
        }

        #[test]
        fn without_censoring_it_is_the_nearest_rank(values in proptest::collection::vec(0u64..500, 1..200), permille in 1u32..1000) {
            let ended = histogram(values.iter().copied());
            let q = f64::from(permille) / 1000.0;
            let times = CensoredTimes { ended: &ended, censored: &Histogram::new(), failed: &Histogram::new() };
            let Quantile::Known(by_steps) = product_limit(&times.steps(), q, ended.max()) else { panic!("nothing is censored") };
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = (u64::from(permille) * sorted.len() as u64).div_ceil(1000).max(1) as usize;
            prop_assert_eq!(by_steps, sorted[rank - 1] as f64 / 1e9);
        }
    }
}
