//! The maximum throughput of a run with few requests, from what conserves its precision: arrivals that were not served pile up, and users that wait do not
//! send.
//!
//! - **Arrivals.** Without a limit, the number of requests in the system is Poisson distributed (Eick, Massey and Whitt, "The physics of the Mt/G/∞
//!   queue", 1993), with a mean of arrival rate × time in the system. That time is known from the lowest load: its mean has a gamma distribution (prior
//!   1/T), as wide as the times of each request scatter. If the number at the end is larger than both allow, or requests take longer at the end (Welch
//!   1947), requests pile up. By conservation of flow, a single limit leaves exactly that number, which gives the instant from which the limit applied.
//!   What ended from then on is its throughput, with the interval of a count.
//! - **Users.** The throughput of N users is bounded by N · X₁ and by the limit (asymptotic bounds: Denning and Buzen, "The operational analysis of queueing
//!   network models", 1978). The broken line is compared with the straight one by their likelihoods, and the interval of the limit is that of its profile
//!   likelihood (Wilks 1938).

use std::collections::BTreeMap;

use loadstone_metrics::{SeriesKey, SeriesKind, SeriesSlice};
use loadstone_run_directory::Run;

use super::model::CapacityInterval;
use super::ramp_stretch::{RampSegment, RequestedLoad};
use crate::statistics::{gamma_quantile, poisson_at_least, poisson_interval, t_two_sided};

/// Error probability of each of the two parts of the test, and the same as a quantile of the normal distribution.
const PILED_UP_P_VALUE_MAX: f64 = 0.005;
const PILED_UP_Z: f64 = 2.576;
/// Requests that pile up at least.
const PILED_MIN: f64 = 2.0;
/// Arrivals at low load that show the time in the system.
const LOW_ARRIVALS_MIN: f64 = 8.0;
/// Relative variance of the time of one arrival that is assumed at least, since few times may be equal by chance.
const RELATIVE_VARIANCE_MIN: f64 = 0.25;
/// Part of the segments over which the end is averaged, and the fewest.
const END_ONE_IN: usize = 10;
const END_SEGMENTS_MIN: usize = 2;
/// Segments and requests of a limit that is reported.
const LIMITED_SEGMENTS_MIN: usize = 4;
const LIMITED_REQUESTS_MIN: f64 = 8.0;
/// Requests that pile up within the limited stretch over those that a single limit leaves. A step at its end has fewer, one at its beginning more.
const PILE_RANGE: (f64, f64) = (0.5, 2.0);
/// Greatest distance between the two sums up to any instant, as a part of all (as in the test of Kolmogorov and Smirnov).
const PILE_DISTANCE_MAX: f64 = 0.2;
/// Highest requested load over the lowest.
const LOAD_VARIED_FACTOR_MIN: f64 = 2.0;
/// Twice the difference of the log-likelihoods of a broken and a straight line: 1 % of χ² with one degree of freedom, and 5 % for the interval.
const BROKEN_MIN: f64 = 6.63;
const INTERVAL_LOSS: f64 = 3.84;
/// Kinks and limits that are tried.
const KINKS: usize = 50;
const LIMITS: usize = 120;
/// The limits that are tried, around the best one, as a factor on either side.
const LIMIT_FACTOR: f64 = 2.0;

/// The limit, and from when on it applied. Seconds of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct FewRequestsLimit {
    pub(super) throughput: CapacityInterval,
    pub(super) from: f64,
    /// More arrived than ended.
    pub(super) is_overload: bool,
}

/// `None`: nothing shows a limit.
pub(super) fn find(run: &Run, segments: &[RampSegment]) -> Option<FewRequestsLimit> {
    let levels = || segments.iter().map(|segment| segment.requested.level());
    if levels().fold(0.0, f64::max) < LOAD_VARIED_FACTOR_MIN * levels().fold(f64::INFINITY, f64::min) {
        return None;
    }
    match segments.first()?.requested {
        RequestedLoad::Arrivals(_) => piled_up(run, segments),
        RequestedLoad::Users(_) => broken_line(segments),
        RequestedLoad::Both => None,
    }
}

fn piled_up(run: &Run, segments: &[RampSegment]) -> Option<FewRequestsLimit> {
    let arrivals = |segment: &RampSegment| segment.requested.level() * segment.length();
    let LowLoad { time_s, spans: low } = low_load(run, segments, &arrivals)?;
    let end = &segments[segments.len().checked_sub((segments.len() / END_ONE_IN).max(END_SEGMENTS_MIN))?..];
    let mean_of = |of: &dyn Fn(&RampSegment) -> f64| end.iter().map(of).sum::<f64>() / end.len() as f64;
    let (rate, in_system) = (mean_of(&|segment| segment.requested.level()), mean_of(&|segment| segment.block.0));
    let (usual, usual_at_most) = (rate * time_s.0, rate * time_s.1);
    let is_beyond_chance = in_system > usual_at_most && poisson_at_least(in_system.floor(), usual_at_most) <= PILED_UP_P_VALUE_MAX;
    if !(is_beyond_chance || takes_longer(run, &low, end)) || in_system - usual < PILED_MIN {
        return None;
    }
    // What a limit leaves at the end of each segment.
    let left_by = |limit: f64| {
        let next = |left: &mut f64, segment: &RampSegment| {
            *left = f64::max(*left + arrivals(segment) - limit * segment.length(), 0.0);
            Some(*left)
        };
        segments.iter().scan(0.0, next).collect::<Vec<f64>>()
    };
    let at_end = |left: &[f64]| left[left.len() - end.len()..].iter().sum::<f64>() / end.len() as f64;
    let (mut low, mut high) = (0.0, segments.iter().map(|segment| segment.requested.level()).fold(0.0, f64::max));
    for _ in 0..40 {
        let limit = f64::midpoint(low, high);
        if at_end(&left_by(limit)) > in_system - usual { low = limit } else { high = limit }
    }
    let left = left_by(f64::midpoint(low, high));
    let first = left.iter().rposition(|left| *left <= 0.0).map_or(0, |free| free + 1);
    let limited = segments.get(first..)?;
    let seen = limited.iter().map(|segment| segment.block.0 - segment.requested.level() * time_s.0);
    if limited.len() < LIMITED_SEGMENTS_MIN || !is_alike(seen.zip(left[first..].iter().copied())) {
        return None;
    }
    let (length, counted): (f64, f64) =
        limited.iter().fold((0.0, 0.0), |sum, segment| (sum.0 + segment.length(), sum.1 + segment.counted()));
    let each = limited.iter().map(|segment| segment.carried * segment.length()).sum::<f64>() / counted.max(1e-9);
    if counted < LIMITED_REQUESTS_MIN / each.max(1.0) {
        return None;
    }
    let (low, high) = poisson_interval(counted);
    let throughput = CapacityInterval { value: each * counted / length, low: each * low / length, high: each * high / length };
    Some(FewRequestsLimit { throughput, from: limited.first()?.from, is_overload: true })
}

/// The lowest load.
struct LowLoad {
    /// Time in the system for each arrival: its mean, and the upper end of its interval. Seconds.
    time_s: (f64, f64),
    spans: Vec<(f64, f64)>,
}

fn low_load(run: &Run, segments: &[RampSegment], arrivals: &dyn Fn(&RampSegment) -> f64) -> Option<LowLoad> {
    let mut by_load: Vec<&RampSegment> = segments.iter().collect();
    by_load.sort_by(|a, b| a.requested.level().total_cmp(&b.requested.level()).then(a.from.total_cmp(&b.from)));
    let third = by_load.len() / 3;
    let (mut count, mut time, mut low) = (0.0, 0.0, Vec::new());
    for (index, segment) in by_load.into_iter().enumerate() {
        if index >= third && count >= LOW_ARRIVALS_MIN {
            break;
        }
        (count, time) = (count + arrivals(segment), time + segment.block.0 * segment.length());
        low.push((segment.from, segment.to));
    }
    // A gamma distribution with this shape has the relative variance of the mean.
    let shape = count / (count * relative_variance(run, &low)).max(RELATIVE_VARIANCE_MIN);
    let least = gamma_quantile(shape, -PILED_UP_Z);
    let time_s = (time / count, time / count * shape / least);
    (count >= LOW_ARRIVALS_MIN && least > 0.0).then_some(LowLoad { time_s, spans: low })
}

/// Variance of the sum of all request times of these stretches over its square. Times of one name scatter around their mean.
fn relative_variance(run: &Run, spans: &[(f64, f64)]) -> f64 {
    let (variance, all) = times(run, spans).values().fold((0.0, 0.0), |sum, of| (sum.0 + of.count * of.variance(), sum.1 + of.sum));
    variance / (all * all).max(1e-18)
}

/// Whether requests of the same names take longer in these segments than at low load: the mean difference over its error (Welch, "The generalization of
/// Student's problem", 1947).
fn takes_longer(run: &Run, low: &[(f64, f64)], end: &[RampSegment]) -> bool {
    let (low, end) = (times(run, low), times(run, &end.iter().map(|segment| (segment.from, segment.to)).collect::<Vec<_>>()));
    let pairs = end.iter().filter_map(|(key, end)| Some((low.get(key).filter(|low| low.count >= 2.0)?, end)));
    let (mut difference, mut variance, mut freedom) = (0.0, 0.0, 0.0);
    for (low, end) in pairs {
        difference += end.count * (end.sum / end.count - low.sum / low.count);
        variance += end.count * end.variance().max(low.variance()) + end.count * end.count * low.variance() / low.count;
        freedom += low.count.min(end.count) - 1.0;
    }
    freedom >= 1.0 && difference > 0.0 && t_two_sided(difference / variance.max(1e-18).sqrt(), freedom) <= PILED_UP_P_VALUE_MAX
}

/// Times of one name. Seconds.
#[derive(Default)]
struct NamedTimes {
    count: f64,
    sum: f64,
    squares: f64,
}

impl NamedTimes {
    fn variance(&self) -> f64 {
        (self.squares - self.sum * self.sum / self.count.max(1.0)).max(0.0) / (self.count - 1.0).max(1.0)
    }
}

/// The times of the requests that ended in these stretches, by name.
fn times<'r>(run: &'r Run, spans: &[(f64, f64)]) -> BTreeMap<&'r SeriesKey, NamedTimes> {
    let is_inside = |start: u64| spans.iter().any(|(from, to)| (*from..*to).contains(&(start as f64 / 1e9)));
    let mut of: BTreeMap<&SeriesKey, NamedTimes> = BTreeMap::new();
    let slices = run.slices.iter().filter(|slice| is_inside(slice.start));
    for series in slices.flat_map(|slice| &slice.series).filter(|series| series.key.kind == SeriesKind::Request && series.count > 0) {
        let sum = of.entry(&series.key).or_default();
        sum.count += series.count as f64;
        sum.sum += series.service.sum() as f64 / 1e9;
        sum.squares += squares(series);
    }
    of
}

/// Sum of the squared times. Seconds squared.
fn squares(series: &SeriesSlice) -> f64 {
    series.service.bars().map(|(low, high, count)| ((low as f64 + high as f64) / 2e9).powi(2) * count as f64).sum()
}

/// Whether as many requests pile up as expected, and at about the same instants.
fn is_alike(seen_and_expected: impl Iterator<Item = (f64, f64)>) -> bool {
    let sums: Vec<(f64, f64)> = seen_and_expected
        .scan((0.0, 0.0), |sum, (seen, expected)| {
            *sum = (sum.0 + seen, sum.1 + expected);
            Some(*sum)
        })
        .collect();
    let Some((seen, expected)) = sums.last().copied().filter(|(_, expected)| *expected > 0.0) else { return false };
    let distance = sums.iter().map(|(a, b)| (a / seen - b / expected).abs()).fold(0.0, f64::max);
    (PILE_RANGE.0..=PILE_RANGE.1).contains(&(seen / expected)) && distance <= PILE_DISTANCE_MAX
}

fn broken_line(segments: &[RampSegment]) -> Option<FewRequestsLimit> {
    let users = |segment: &RampSegment| segment.requested.level();
    let most = segments.iter().map(users).fold(0.0, f64::max);
    let least = segments.iter().map(users).fold(f64::INFINITY, f64::min);
    let all: f64 = segments.iter().map(RampSegment::counted).sum();
    // The rate of one user, if their throughput grows up to so many of them.
    let of_one = |kink: f64| all / segments.iter().map(|segment| users(segment).min(kink) * segment.length()).sum::<f64>();
    let likelihood = |kink: f64, of_one: f64| {
        let each = |segment: &RampSegment| {
            let expected = of_one * users(segment).min(kink) * segment.length();
            segment.counted() * expected.max(1e-9).ln() - expected
        };
        segments.iter().map(each).sum::<f64>()
    };
    let kinks: Vec<f64> = (0..KINKS).map(|step| least + (most - least) * step as f64 / KINKS as f64).filter(|kink| *kink > 0.0).collect();
    let best = kinks.iter().copied().max_by(|a, b| likelihood(*a, of_one(*a)).total_cmp(&likelihood(*b, of_one(*b))))?;
    let scatter = scatter(segments, |segment| of_one(best) * users(segment).min(best) * segment.length());
    let best_likelihood = likelihood(best, of_one(best));
    if 2.0 * (best_likelihood - likelihood(most, of_one(most))) < BROKEN_MIN * scatter {
        return None;
    }
    let value = best * of_one(best);
    let is_possible = |limit: &f64| {
        let best_of = kinks.iter().chain([&most]).map(|kink| likelihood(*kink, limit / kink)).fold(f64::NEG_INFINITY, f64::max);
        2.0 * (best_likelihood - best_of) <= INTERVAL_LOSS * scatter
    };
    let limits = (0..=LIMITS).map(|step| value * LIMIT_FACTOR.powf(2.0 * step as f64 / LIMITS as f64 - 1.0));
    let possible: Vec<f64> = limits.filter(is_possible).collect();
    let (low, high) = (possible.iter().copied().fold(value, f64::min), possible.iter().copied().fold(value, f64::max));
    let limited: Vec<&RampSegment> = segments.iter().filter(|segment| users(segment) >= best).collect();
    let counted: f64 = limited.iter().map(|segment| segment.counted()).sum();
    let each = segments.iter().map(|segment| segment.carried * segment.length()).sum::<f64>() / all.max(1e-9);
    if limited.len() < LIMITED_SEGMENTS_MIN || counted < LIMITED_REQUESTS_MIN / each.max(1.0) || high >= LIMIT_FACTOR * value * 0.99 {
        return None;
    }
    let throughput = CapacityInterval { value: each * value, low: each * low, high: each * high };
    Some(FewRequestsLimit { throughput, from: limited.first()?.from, is_overload: false })
}

/// Variance of the counts over that of independent events, at least one (McCullagh and Nelder, "Generalized linear models", 1989).
fn scatter(segments: &[RampSegment], expected: impl Fn(&RampSegment) -> f64) -> f64 {
    let squares = segments.iter().map(|segment| (segment.counted() - expected(segment)).powi(2) / expected(segment).max(1e-9));
    (squares.sum::<f64>() / (segments.len() as f64 - 2.0).max(1.0)).max(1.0)
}
