//! Estimates the maximum throughput from a single run under rising load with the universal scalability law (Gunther, "A simple capacity
//! model of massively parallel transaction systems", 1993): X(N) = γN / (1 + α(N − 1) + βN(N − 1)), with N requests in the system and the
//! throughput X.
//!
//! N/X is a linear combination of 1, N − 1 and N(N − 1) with non-negative coefficients, so the fit is linear. If the run ended before the
//! throughput levelled off, any ceiling fits and none is reported: *not identified*. Where a broken line fits better, its level is the ceiling.

use loadstone_run_directory::Run;
use serde::{Deserialize, Serialize};

use super::bootstrap::resampled;
use super::few_requests;
use super::model::CapacityInterval;
use super::ramp_stretch::{RampBlock, RampSegment, carried, highest_ended, highest_sustained, overloaded, segments};
use super::reading::invalidated_by;
use super::utilisation::{Ceilings, ResourceCeiling, UnknownCeiling};
use super::what_if::WhatIf;
use crate::statistics::{mean, student_t, variance};
use crate::{Grade, Validity, Verdict};

/// Minimum number of segments of the load for an estimate.
const BLOCKS_MIN: usize = 12;
/// Minimum ratio of the highest to the lowest throughput: a constant load is no evidence about other loads.
const THROUGHPUT_RATIO_MIN: f64 = 2.0;
/// Upper quantile of the resampled ceilings for the interval, and maximum ratio of the ceiling to the observed throughput.
const UPPER_QUANTILE: f64 = 0.975;
const CEILING_RATIO_MAX: f64 = 1.5;
/// Throughput that levels off grows at most with this power of the number of requests in the system.
const LEVELLING_OFF_EXPONENT_MAX: f64 = 0.2;
/// Maximum ratio between an end of the interval and the observed throughput. Beyond it, the segments do not locate the ceiling.
const INTERVAL_RATIO_MAX: f64 = 2.0;
/// Residuals of the law over those of a broken line from which the line replaces it.
const BROKEN_BETTER_MIN: f64 = 1.25;
/// Corners that are tried: one in so many of the numbers of requests in the system, without the last part.
const CORNERS_ONE_IN: usize = 2;
const STRAIGHT_ONE_IN: usize = 8;
/// Ratio between the ends of the interval of a level at which throughput stopped. A wider one, as a queue that is near its limit for some seconds gives,
/// is no level.
pub(super) const LEVEL_RATIO_MAX: f64 = 1.75;
/// Why a run without a finding has no maximum throughput.
const NO_LIMIT_FOUND: &str = "the throughput seems to level off, but the verdict of this run names no limit";

/// The maximum throughput, estimated from one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RampEstimate {
    /// Requests per second; `None`: not identified.
    pub throughput_max: Option<CapacityInterval>,
    /// The number of requests in the system above which throughput falls, if it falls.
    pub retrograde_from: Option<f64>,
    /// The fitted curve; `throughput_max` is its maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<ScalabilityLaw>,
    /// The highest throughput that lasted for a fifth of the load. Single seconds may have more, when delayed requests end together.
    pub seen: f64,
    /// The result in one sentence.
    pub remark: String,
    /// Why the highest throughput is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_because: Option<String>,
    /// The grade of the run's measurement.
    pub grade: Grade,
    /// The throughput at which each observed resource would be full, the lowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<ResourceCeiling>,
    /// Observed resources whose ceiling is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_ceilings: Vec<UnknownCeiling>,
    /// The effect of removing the first of these resources, or the actual limit; `None`: no observed resource has a known ceiling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what_if: Option<WhatIf>,
    /// The data of the estimate: up to forty segments of the load, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<RampPoint>,
}

/// X(N) = γN / (1 + α(N − 1) + βN(N − 1)): the throughput X with N requests in the system.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScalabilityLaw {
    /// Requests per second with one request in the system.
    pub gamma: f64,
    /// Contention: requests that wait for each other.
    pub alpha: f64,
    /// Coherency: requests that coordinate with each other.
    pub beta: f64,
}

/// A segment of the load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RampPoint {
    pub from_seconds: f64,
    pub to_seconds: f64,
    /// Average number of requests that had started or were due and had not ended.
    pub in_system: f64,
    /// Requests that ended per second.
    pub throughput: f64,
}

impl ScalabilityLaw {
    /// Requests per second.
    pub fn throughput(self, in_system: f64) -> f64 {
        let others = in_system - 1.0;
        self.gamma * in_system / (1.0 + self.alpha * others + self.beta * in_system * others)
    }
}

impl RampEstimate {
    /// A run whose verdict reports no finding has no maximum throughput: a curve through scattered segments bends by chance, and a run and its capacity agree.
    pub fn of(run: &Run, verdict: &Verdict) -> Self {
        Self::if_limited(run, &verdict.validity, !verdict.findings.findings.is_empty())
    }

    pub(super) fn if_limited(run: &Run, validity: &Validity, is_limited: bool) -> Self {
        let segments = segments(run);
        let unknown = |why: String| Self {
            throughput_max: None,
            retrograde_from: None,
            law: None,
            seen: if is_limited { highest_sustained(&segments) } else { highest_ended(&segments) },
            remark: format!("not identified: {why}"),
            unknown_because: Some(why),
            grade: validity.grade,
            ceilings: Vec::new(),
            unknown_ceilings: Vec::new(),
            what_if: None,
            stretches: segments.iter().map(RampPoint::of).collect(),
        };
        if let Some(check) = invalidated_by(validity) {
            return unknown(format!("the measurement is INVALID ({})", check.title));
        }
        let shown = ceiling(run, &segments).and_then(|found| if is_limited { Ok(found) } else { Err(NO_LIMIT_FOUND.to_owned()) });
        let estimate = match shown {
            Ok(LocatedCeiling { throughput: interval, fit, .. }) => {
                let (value, low, high) =
                    (loadstone_units::rate(interval.value), loadstone_units::rate(interval.low), loadstone_units::rate(interval.high));
                let remark = format!("at most about {value} ({low} to {high})");
                Self {
                    throughput_max: Some(interval),
                    retrograde_from: fit.as_ref().and_then(Fit::peak_at),
                    law: fit.as_ref().and_then(Fit::law),
                    remark,
                    unknown_because: None,
                    ..unknown(String::new())
                }
            }
            Err(remark) => unknown(remark),
        };
        let ceilings = Ceilings::of(run, &segments);
        let what_if = WhatIf::of(&ceilings, estimate.throughput_max);
        let known = ceilings.known.into_iter().map(|known| known.ceiling).collect();
        Self { ceilings: known, unknown_ceilings: ceilings.unknown, what_if, ..estimate }
    }
}

/// The maximum throughput, and how it was found.
pub(super) struct LocatedCeiling {
    pub(super) throughput: CapacityInterval,
    pub(super) fit: Option<Fit>,
    /// More arrived than ended. Otherwise throughput levelled off while the load grew.
    pub(super) is_overload: bool,
    /// From when on, if the method shows that. Seconds of the run.
    pub(super) from: Option<f64>,
}

/// The maximum throughput with its interval and the fitted curve, or the reason why it is unknown. A constant load above the limit shows it without a curve,
/// and few requests show it by what they leave in the system.
pub(super) fn ceiling(run: &Run, segments: &[RampSegment]) -> Result<LocatedCeiling, String> {
    let by_curve = of_many(segments);
    if by_curve.as_ref().is_ok_and(|found| found.throughput.high <= LEVEL_RATIO_MAX * found.throughput.low) || segments.len() < BLOCKS_MIN {
        return by_curve;
    }
    let few = few_requests::find(run, segments).filter(|few| few.throughput.high >= carried(segments));
    few.map_or(by_curve, |few| {
        Ok(LocatedCeiling { throughput: few.throughput, fit: None, is_overload: few.is_overload, from: Some(few.from) })
    })
}

/// The same from many requests.
fn of_many(segments: &[RampSegment]) -> Result<LocatedCeiling, String> {
    let blocks: Vec<RampBlock> = segments.iter().map(|segment| (segment.block.0, segment.carried)).filter(|block| block.1 > 0.0).collect();
    let seen = blocks.iter().map(|block| block.1).fold(0.0, f64::max);
    let least = blocks.iter().map(|block| block.1).fold(f64::INFINITY, f64::min);
    if let Some(interval) = all_that_ends(segments).filter(|_| blocks.len() >= BLOCKS_MIN) {
        let from = overloaded(segments).first().map(|segment| segment.from);
        return Ok(LocatedCeiling { throughput: interval, fit: None, is_overload: true, from });
    }
    if seen < THROUGHPUT_RATIO_MIN * least {
        return Err("the load varied by less than a factor of two".to_owned());
    }
    if blocks.len() < BLOCKS_MIN {
        return Err(format!("the run is too short: it has {} of the {BLOCKS_MIN} stretches that the estimate needs", blocks.len()));
    }
    located(&blocks, seen).map(|(throughput, fit)| LocatedCeiling { throughput, fit, is_overload: false, from: None })
}

/// While arrivals exceed completions, the completions are the maximum throughput, without any law. `None`: the system was not overloaded
/// for long, or had a higher throughput before.
fn all_that_ends(segments: &[RampSegment]) -> Option<CapacityInterval> {
    let ended: Vec<f64> = overloaded(segments).iter().map(|segment| segment.carried).collect();
    let count = ended.len() as f64;
    let value = (count >= 2.0).then(|| mean(&ended))?;
    // The completions of a full system in one segment are independent of the next (Student 1908).
    let half = student_t(count - 1.0) * (variance(&ended) / count).sqrt();
    let found = CapacityInterval { value, low: (value - half).max(0.0), high: value + half };
    (found.high >= carried(segments)).then_some(found)
}

/// The ceiling with its interval and the curve, or the reason why it is unknown.
///
/// The broken line X = min(N · X₁, X_max) of the asymptotic bounds (Denning and Buzen, "The operational analysis of queueing network models", 1978) replaces
/// the law where it clearly fits better: a limit with a regular service, such as a rate limit, reaches its maximum at once. The law has its maximum far beyond
/// such a corner, and too high.
fn located(blocks: &[RampBlock], seen: f64) -> Result<(CapacityInterval, Option<Fit>), String> {
    let (fit, residuals) = Fit::with_residuals(blocks).ok_or("no curve fits the measurement")?;
    if let Some((ceiling, _)) = broken_line(blocks).filter(|(_, broken)| BROKEN_BETTER_MIN * broken < residuals)
        && let Ok(found) = resampled_ceiling(blocks, (seen, ceiling), |blocks| broken_line(blocks).map(|(ceiling, _)| ceiling))
        && found.high <= LEVEL_RATIO_MAX * found.low
    {
        return Ok((found, None));
    }
    let of_law = |blocks: &[RampBlock]| Fit::with_residuals(blocks).map(|(fit, _)| fit.ceiling());
    resampled_ceiling(blocks, (seen, fit.ceiling()), of_law).map(|interval| (interval, Some(fit)))
}

/// X_max of the broken line with the smallest residuals, and these.
fn broken_line(blocks: &[RampBlock]) -> Option<(f64, f64)> {
    let mut corners: Vec<f64> = blocks.iter().map(|block| block.0).filter(|inside| *inside > 0.0).collect();
    corners.sort_by(f64::total_cmp);
    let at_corner = |corner: &f64| {
        let terms = || blocks.iter().map(|(n, x)| (n / corner).min(1.0) / x);
        let (sum, squares) = terms().fold((0.0, 0.0), |sum, term| (sum.0 + term, sum.1 + term * term));
        let ceiling = sum / squares;
        (ceiling, terms().map(|term| (ceiling * term - 1.0).powi(2)).sum::<f64>())
    };
    // With its corner at the end, it is a straight line.
    let inner = &corners[..corners.len() - corners.len() / STRAIGHT_ONE_IN];
    inner.iter().step_by(CORNERS_ONE_IN).map(at_corner).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The interval of the ceiling, by a block bootstrap.
fn resampled_ceiling(
    blocks: &[RampBlock],
    (seen, value): (f64, f64),
    of: impl Fn(&[RampBlock]) -> Option<f64>,
) -> Result<CapacityInterval, String> {
    let mut ceilings: Vec<f64> = resampled(blocks).filter_map(|blocks| of(&blocks)).collect();
    ceilings.sort_by(f64::total_cmp);
    let at = |share: f64| ceilings.get((share * ceilings.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(f64::INFINITY);
    let interval = CapacityInterval { value, low: at(1.0 - UPPER_QUANTILE).min(value), high: at(UPPER_QUANTILE).max(value) };
    if !interval.high.is_finite() || interval.value > CEILING_RATIO_MAX * seen || !levels_off(blocks) {
        return Err("the throughput was not levelling off when the load ended".to_owned());
    }
    if interval.high > INTERVAL_RATIO_MAX * seen || interval.low * INTERVAL_RATIO_MAX < seen {
        let (low, high) = (loadstone_units::rate(interval.low), loadstone_units::rate(interval.high));
        return Err(format!("segments of this run contradict each other: the ceiling may be anywhere from {low} to {high}"));
    }
    Ok(interval)
}

/// Whether the throughput levels off in the last quarter of the load, compared with the quarter before it. The fitted curve alone is no
/// evidence: the number of requests in the system scatters, and a curve through scattered points bends by itself.
fn levels_off(blocks: &[RampBlock]) -> bool {
    let quarter = blocks.len() / 4;
    let mean_of = |part: &[RampBlock], of: fn(&RampBlock) -> f64| mean(&part.iter().map(of).collect::<Vec<f64>>());
    let (rest, last) = blocks.split_at(blocks.len() - quarter);
    let before = &rest[rest.len() - quarter.min(rest.len())..];
    let grown = |of: fn(&RampBlock) -> f64| (mean_of(last, of) / mean_of(before, of)).ln();
    let (in_system, ended) = (grown(|block| block.0), grown(|block| block.1));
    in_system <= 0.0 || ended <= LEVELLING_OFF_EXPONENT_MAX * in_system
}

impl RampPoint {
    fn of(segment: &RampSegment) -> Self {
        let (in_system, throughput) = segment.block;
        Self { from_seconds: segment.from, to_seconds: segment.to, in_system, throughput }
    }
}

/// N/X = constant + linear·(N − 1) + square·N(N − 1).
pub(super) struct Fit {
    constant: f64,
    linear: f64,
    square: f64,
}

impl Fit {
    /// The best fit without negative coefficients: the best of the fits with subsets of the three terms.
    fn with_residuals(blocks: &[RampBlock]) -> Option<(Self, f64)> {
        let subsets: [&[usize]; 4] = [&[0], &[0, 1], &[0, 2], &[0, 1, 2]];
        let fits = subsets.iter().filter_map(|subset| least_squares(blocks, subset));
        let (best, squares) = fits.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((Self { constant: best[0], linear: best[1], square: best[2] }, squares))
    }

    /// The number of requests with the maximum throughput: √((1 − α)/β).
    fn peak_at(&self) -> Option<f64> {
        (self.square > 0.0 && self.constant > self.linear).then(|| ((self.constant - self.linear) / self.square).sqrt())
    }

    /// `None`: a single request would take no time.
    fn law(&self) -> Option<ScalabilityLaw> {
        let Self { constant, linear, square } = *self;
        (constant > 0.0).then(|| ScalabilityLaw { gamma: 1.0 / constant, alpha: linear / constant, beta: square / constant })
    }

    fn ceiling(&self) -> f64 {
        let at = |n: f64| n / (self.constant + self.linear * (n - 1.0) + self.square * n * (n - 1.0));
        match self.peak_at() {
            Some(peak) => at(peak),
            None if self.linear > 0.0 => 1.0 / self.linear,
            None => f64::INFINITY,
        }
    }
}

/// Assumes equal relative errors of X. Returns the coefficients and the sum of squares; `None` if one is negative.
fn least_squares(blocks: &[RampBlock], subset: &[usize]) -> Option<([f64; 3], f64)> {
    let terms = |n: f64| [1.0, n - 1.0, n * (n - 1.0)];
    let size = subset.len();
    let mut matrix = vec![vec![0.0; size + 1]; size];
    for (n, x) in blocks {
        let (all, y, weight) = (terms(*n), n / x, (x / n).powi(2));
        for (row, a) in subset.iter().enumerate() {
            for (column, b) in subset.iter().enumerate() {
                matrix[row][column] += weight * all[*a] * all[*b];
            }
            matrix[row][size] += weight * all[*a] * y;
        }
    }
    let solved = solve(matrix)?;
    let mut found = [0.0; 3];
    subset.iter().zip(&solved).for_each(|(term, value)| found[*term] = *value);
    if found.iter().any(|value| *value < 0.0) {
        return None;
    }
    let squares = blocks.iter().map(|(n, x)| {
        let of = terms(*n).iter().zip(found).map(|(term, value)| term * value).sum::<f64>();
        (of * x / n - 1.0).powi(2)
    });
    Some((found, squares.sum()))
}

/// Gaussian elimination with the largest pivot; `None` if there is none.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = rows.len();
    for column in 0..size {
        let pivot = (column..size).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        rows.swap(column, pivot);
        if rows[column][column].abs() < 1e-300 {
            return None;
        }
        let pivoted = rows[column].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != column) {
            let factor = row[column] / pivoted[column];
            row.iter_mut().zip(&pivoted).skip(column).for_each(|(value, from)| *value -= factor * from);
        }
    }
    Some((0..size).map(|row| rows[row][size] / rows[row][row]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(index: usize) -> f64 {
        1.0 + ((index * 7919 + 13) % 101) as f64 / 2_000.0 - 0.025
    }

    fn estimate(inside: impl Fn(usize) -> f64, throughput: impl Fn(f64) -> f64) -> (Option<f64>, Vec<f64>) {
        let blocks: Vec<RampBlock> = (0..40).map(|index| (inside(index), throughput(inside(index)) * noisy(index))).collect();
        let (fit, _) = Fit::with_residuals(&blocks).unwrap();
        let ceilings = resampled(&blocks).filter_map(|blocks| Fit::with_residuals(&blocks)).map(|(fit, _)| fit.ceiling()).collect();
        (Some(fit.ceiling()), ceilings)
    }

    /// M/M/1: X = μN/(1 + N), so the ceiling is μ.
    #[test]
    fn the_ceiling_of_a_single_server_is_its_rate() {
        let (ceiling, ceilings) = estimate(|index| 0.2 * 1.15_f64.powi(index as i32), |n| 200.0 * n / (1.0 + n));
        assert!((ceiling.unwrap() / 200.0 - 1.0).abs() < 0.03, "{ceiling:?}");
        assert!(ceilings.iter().all(|ceiling| (ceiling / 200.0 - 1.0).abs() < 0.1));
    }

    /// γ = 100, α = 0.05, β = 0.001: the peak is at √(0.95/0.001) = 30.8 with 100·30.8/(1 + 0.05·29.8 + 0.001·30.8·29.8) = 904 per second.
    #[test]
    fn a_peak_is_found_at_the_position_of_the_law() {
        let law = |n: f64| 100.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.001 * n * (n - 1.0));
        let (ceiling, _) = estimate(|index| 1.0 + 1.5 * index as f64, law);
        assert!((ceiling.unwrap() / 904.0 - 1.0).abs() < 0.03, "{ceiling:?}");
        // The drawn curve matches the reported ceiling.
        let blocks: Vec<RampBlock> = (0..40).map(|index| 1.0 + 1.5 * f64::from(index)).map(|n| (n, law(n))).collect();
        let (interval, fit) = located(&blocks, 904.0).unwrap();
        let fit = fit.unwrap();
        let (drawn, peak) = (fit.law().unwrap(), fit.peak_at().unwrap());
        assert!((drawn.throughput(peak) / interval.value - 1.0).abs() < 1e-9 && (drawn.throughput(10.0) / law(10.0) - 1.0).abs() < 1e-3);
        assert!((drawn.gamma - 100.0).abs() < 0.1 && (drawn.alpha - 0.05).abs() < 1e-3 && (drawn.beta - 0.001).abs() < 1e-4, "{drawn:?}");
    }

    #[test]
    fn a_line_has_no_ceiling() {
        let (_, ceilings) = estimate(|index| 0.5 + 0.1 * index as f64, |n| 50.0 * n);
        let near = ceilings.iter().filter(|ceiling| **ceiling < 1.5 * 50.0 * 4.4).count();
        assert!(near * 40 < ceilings.len(), "{near} of {}", ceilings.len());
    }

    /// A stall in the middle, as caused by a generator that gets no core: many requests are in the system, few end, and afterwards all is
    /// as before.
    #[test]
    fn segments_that_contradict_each_other_give_no_ceiling() {
        let inside = |index: usize| if (20..24).contains(&index) { 4_000.0 } else { 0.5 + 0.1 * index as f64 };
        let ended = |index: usize| if (20..24).contains(&index) { 0.05 } else { 50.0 * inside(index) * noisy(index) };
        let blocks: Vec<RampBlock> = (0..40).map(|index| (inside(index), ended(index))).collect();
        let seen = blocks.iter().map(|block| block.1).fold(0.0, f64::max);
        let problem = located(&blocks, seen).map(|(interval, _)| interval).unwrap_err();
        assert!(problem.contains("contradict") || problem.contains("not levelling off"), "{problem}");
        let healthy: Vec<RampBlock> = (0..40).map(|index| 0.2 * 1.15_f64.powi(index)).map(|n| (n, 200.0 * n / (1.0 + n))).collect();
        assert!(located(&healthy, 198.0).is_ok());
    }
}
