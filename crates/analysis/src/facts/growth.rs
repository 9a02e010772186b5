//! By how much the times of all requests together grew with the load, or over a constant load, with an interval that few requests are enough for.
//!
//! Each request counts in multiples of the mean time of its name, so that another mix changes nothing. The unit of the error is the second, because requests
//! of one second resemble each other (the ratio estimator of survey sampling: Cochran, "Sampling techniques", 1977).

use std::collections::BTreeMap;

use loadstone_metrics::{Nanos, SeriesKey, SeriesKind, Snapshot};
use loadstone_run_directory::Run;

use super::strain::{Spans, Strain};
use crate::statistics::{student_t, t_two_sided};

/// Seconds with requests that each part needs.
const SECONDS_MIN: usize = 4;
/// Requests of all names that are needed, and of one name in each part.
const REQUESTS_MIN: f64 = 24.0;
const REQUESTS_OF_ONE_MIN: f64 = 5.0;
/// LogGrowth of a single name from which it counts, if it has this probability by chance. Several names are examined, and the probability is divided among
/// them (Bonferroni).
const ONE_GROWN_FACTOR_MIN: f64 = 1.2;
const ONE_GROWN_P_VALUE_MAX: f64 = 0.05;
/// LogGrowth of a single name that counts even if it may be chance.
const ONE_FACTOR_MAX: f64 = 1.6;

/// Time at high load over that at low load, or of the last third of a constant load over the first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeGrowth {
    pub(crate) factor: f64,
    /// Its 95 % interval.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether the load varied.
    pub(crate) is_by_load: bool,
    /// Whether one name alone became slower. In the mean of all it may not show.
    pub(crate) has_one_grown: bool,
    /// Whether one name became slower by more than all together: another cause than the load that all share.
    pub(crate) has_one_grown_alone: bool,
    /// Whether one name alone may have become slower.
    pub(crate) may_one_have_grown: bool,
}

/// `None`: too few requests, or none at all in a part.
/// `left_out`: when slices begin that do not count.
pub(super) fn find(run: &Run, strain: &Strain, left_out: &[Nanos]) -> Option<TimeGrowth> {
    let (low, high) = strain.low_and_high();
    let is_by_load = low.iter().any(|(from, to)| strain.asked(from + 1e-6, to - 1e-6) > 0.0);
    let (low, high) = if is_by_load { (low, high) } else { thirds(strain)? };
    let inside = |slice: &Snapshot, spans: &Spans| {
        let middle = slice.start.midpoint(slice.end) as f64 / 1e9;
        spans.iter().any(|(from, to)| *from <= middle && middle < *to)
    };
    let counted = run.slices.iter().filter(|slice| !left_out.contains(&slice.start));
    let seconds: Vec<&Snapshot> = counted.filter(|slice| inside(slice, &low) || inside(slice, &high)).collect();
    let mut all: BTreeMap<&SeriesKey, (f64, f64)> = BTreeMap::new();
    for series in seconds.iter().flat_map(|slice| &slice.series).filter(|series| series.key.kind == SeriesKind::Request) {
        let sum = all.entry(&series.key).or_default();
        *sum = (sum.0 + series.count as f64, sum.1 + series.service.sum() as f64);
    }
    let part =
        |spans: &Spans, all: &BTreeMap<&SeriesKey, (f64, f64)>| mean_of(seconds.iter().copied().filter(|slice| inside(slice, spans)), all);
    let growth = |of: &BTreeMap<&SeriesKey, (f64, f64)>| LogGrowth::of(&part(&low, of)?, &part(&high, of)?);
    let LogGrowth { factor, error, freedom } =
        growth(&all).filter(|_| all.values().map(|(count, _)| count).sum::<f64>() >= REQUESTS_MIN)?;
    let of_one = |(key, sum): (&&SeriesKey, &(f64, f64))| growth(&BTreeMap::from([(*key, *sum)]));
    let ones: Vec<LogGrowth> = all.iter().filter_map(of_one).collect();
    let is_beyond_chance = |one: &LogGrowth| one.is_beyond_chance(ONE_GROWN_P_VALUE_MAX / ones.len() as f64);
    let has_one_grown = ones.iter().any(is_beyond_chance);
    let has_one_grown_alone = ones.iter().any(|one| is_beyond_chance(&LogGrowth { factor: one.factor / factor, ..*one }));
    let may_one_have_grown = has_one_grown || ones.iter().any(|one| one.factor > ONE_FACTOR_MAX);
    // On logarithms, so that both ends are positive.
    let half = student_t(freedom) * error;
    let (low, high) = (factor * (-half).exp(), factor * half.exp());
    Some(TimeGrowth { factor, low, high, is_by_load, has_one_grown, has_one_grown_alone, may_one_have_grown })
}

/// A factor, the error of its logarithm, and its degrees of freedom.
struct LogGrowth {
    factor: f64,
    error: f64,
    freedom: f64,
}

impl LogGrowth {
    fn of(before: &RelativeTime, after: &RelativeTime) -> Option<Self> {
        let error = (before.error / before.mean).hypot(after.error / after.mean);
        let factor = after.mean / before.mean;
        factor.is_finite().then_some(Self { factor, error, freedom: before.seconds + after.seconds - 2.0 })
    }

    fn is_beyond_chance(&self, p_value_max: f64) -> bool {
        self.factor > ONE_GROWN_FACTOR_MIN && t_two_sided(self.factor.ln() / self.error.max(1e-9), self.freedom) <= p_value_max
    }
}

/// The first and the last third of a load, without its first tenth, in which all users may begin at once.
fn thirds(strain: &Strain) -> Option<(Spans, Spans)> {
    let (from, to) = strain.loaded()?;
    let (from, to) = (from + (to - from) / 10.0, to);
    let third = (to - from) / 3.0;
    Some((vec![(from, from + third)], vec![(to - third, to)]))
}

struct RelativeTime {
    mean: f64,
    error: f64,
    seconds: f64,
}

/// In multiples of the mean of each name.
fn mean_of<'s>(seconds: impl Iterator<Item = &'s Snapshot>, all: &BTreeMap<&SeriesKey, (f64, f64)>) -> Option<RelativeTime> {
    let of_second = |slice: &Snapshot| {
        let of = slice.series.iter().filter_map(|series| {
            let (count, sum) = all.get(&series.key)?;
            (*sum > 0.0).then(|| (series.count as f64, series.service.sum() as f64 * count / sum))
        });
        of.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    let points: Vec<(f64, f64)> = seconds.map(of_second).filter(|(count, _)| *count > 0.0).collect();
    let (count, sum) = points.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    if points.len() < SECONDS_MIN || count < REQUESTS_OF_ONE_MIN {
        return None;
    }
    let (mean, m) = (sum / count, points.len() as f64);
    let squares: f64 = points.iter().map(|(count, sum)| (sum - mean * count).powi(2)).sum();
    Some(RelativeTime { mean, error: (squares * m / (m - 1.0)).sqrt() / count, seconds: m })
}
