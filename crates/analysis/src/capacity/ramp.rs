//! What a single run under rising load says of the capacity: the universal scalability law (Gunther, "A simple capacity model of massively parallel
//! transaction systems", 1993), X(N) = γN / (1 + α(N − 1) + βN(N − 1)), of the requests in the system N and the throughput X.
//!
//! Divided, N/X is a sum of 1, N − 1 and N(N − 1) with coefficients that cannot be negative: a linear fit. Where the run stopped before the throughput bent,
//! any ceiling fits as well, and none is named: *not identified*.

use loadstone_run_directory::Run;
use serde::{Deserialize, Serialize};

use super::bootstrap::resampled;
use super::model::CapacityInterval;
use super::ramp_stretch::{RampBlock, RampStretch, carried, held, overloaded, stretches};
use super::reading::spoilt_by;
use super::utilisation::{Ceilings, ResourceCeiling, UnknownCeiling};
use super::what_if::WhatIf;
use crate::interval::student_t;
use crate::{Grade, Validity};

/// Stretches of the load without which nothing is said.
const BLOCKS_MIN: usize = 12;
/// How many times the least throughput the highest must be: a constant load tells nothing of any other.
const VARIED: f64 = 2.0;
/// Share of the resamples that must show a ceiling, and how far above what was seen it may lie.
const SURE: f64 = 0.975;
const FAR: f64 = 1.5;
/// The power of the growth of what is in the system by which throughput may still grow where it has bent.
const BENT: f64 = 0.2;
/// How many times more or less than what was seen an end of the interval may be. Beyond it, the stretches do not say where the ceiling is.
const WIDE: f64 = 2.0;

/// The ceiling of the throughput, from one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RampEstimate {
    /// Requests per second; `None`: not identified.
    pub throughput_max: Option<CapacityInterval>,
    /// Requests in the system beyond which throughput falls, where it does.
    pub retrograde_from: Option<f64>,
    /// The curve whose height `throughput_max` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<ScalabilityLaw>,
    /// The highest throughput that was held for a fifth of the load; single seconds may have more, as what was held up ends together.
    pub seen: f64,
    /// In a sentence.
    pub remark: String,
    /// Why the highest throughput is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_because: Option<String>,
    /// Of the run's measurement.
    pub grade: Grade,
    /// Where the resources that were observed would be full, the first of them first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<ResourceCeiling>,
    /// Those of which it cannot be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_ceilings: Vec<UnknownCeiling>,
    /// If the first of them, or what limited otherwise, were removed; `None`: no resource was observed of which a ceiling is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what_if: Option<WhatIf>,
    /// What all of this rests on: up to forty parts of the load, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<RampPoint>,
}

/// X(N) = γN / (1 + α(N − 1) + βN(N − 1)): the throughput X with N requests in the system.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScalabilityLaw {
    /// Requests per second with one in the system.
    pub gamma: f64,
    /// What has to wait for each other.
    pub alpha: f64,
    /// What has to agree with each other.
    pub beta: f64,
}

/// A stretch of the load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RampPoint {
    pub from_seconds: f64,
    pub to_seconds: f64,
    /// Requests that were begun or due and had not ended, on average.
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
    pub fn of(run: &Run, validity: &Validity) -> Self {
        let stretches = stretches(run);
        let blocks: Vec<RampBlock> = stretches.iter().map(|stretch| stretch.block).collect();
        let seen = blocks.iter().map(|block| block.1).fold(0.0, f64::max);
        let least = blocks.iter().map(|block| block.1).fold(f64::INFINITY, f64::min);
        let unknown = |why: String| Self {
            throughput_max: None,
            retrograde_from: None,
            law: None,
            seen: held(&stretches),
            remark: format!("not identified: {why}"),
            unknown_because: Some(why),
            grade: validity.grade,
            ceilings: Vec::new(),
            unknown_ceilings: Vec::new(),
            what_if: None,
            stretches: stretches.iter().map(RampPoint::of).collect(),
        };
        if let Some(check) = spoilt_by(validity) {
            return unknown(format!("the measurement is INVALID ({})", check.title));
        }
        if blocks.len() < BLOCKS_MIN || seen < VARIED * least {
            return unknown("the load did not vary by twice or more".to_owned());
        }
        let ceiling = match all_that_ends(&stretches) {
            Some(interval) => Ok((interval, None)),
            None => located(&blocks, seen).map(|(interval, fit)| (interval, Some(fit))),
        };
        let estimate = match ceiling {
            Ok((interval, fit)) => {
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
        let ceilings = Ceilings::of(run, &stretches);
        let what_if = WhatIf::of(&ceilings, estimate.throughput_max);
        let told = ceilings.known.into_iter().map(|ceiling| ceiling.told).collect();
        Self { ceilings: told, unknown_ceilings: ceilings.unknown, what_if, ..estimate }
    }
}

/// While more comes in than ends, what ends is all that the system carries: no law is needed to say so. `None`: it was not overloaded for long, or carried
/// more before.
fn all_that_ends(stretches: &[RampStretch]) -> Option<CapacityInterval> {
    let ended: Vec<f64> = overloaded(stretches).iter().map(|stretch| stretch.block.1).collect();
    let count = ended.len() as f64;
    let value = (count >= 2.0).then(|| ended.iter().sum::<f64>() / count)?;
    // What a full system lets out in one stretch says nothing of the next (Student 1908).
    let variance = ended.iter().map(|ended| (ended - value).powi(2)).sum::<f64>() / (count - 1.0);
    let half = student_t(count - 1.0) * (variance / count).sqrt();
    let found = CapacityInterval { value, low: (value - half).max(0.0), high: value + half };
    (found.high >= carried(stretches)).then_some(found)
}

/// The ceiling with its interval, and the curve; or why it is not known.
fn located(blocks: &[RampBlock], seen: f64) -> Result<(CapacityInterval, Fit), String> {
    let fit = Fit::of(blocks).ok_or("no curve fits")?;
    let mut ceilings: Vec<f64> = resampled(blocks).filter_map(|blocks| Fit::of(&blocks)).map(|fit| fit.ceiling()).collect();
    ceilings.sort_by(f64::total_cmp);
    let at = |share: f64| ceilings.get((share * ceilings.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(f64::INFINITY);
    let interval = CapacityInterval { value: fit.ceiling(), low: at(1.0 - SURE).min(fit.ceiling()), high: at(SURE).max(fit.ceiling()) };
    if !interval.high.is_finite() || interval.value > FAR * seen || !has_bent(blocks) {
        return Err("the throughput had not bent yet when the load ended".to_owned());
    }
    if interval.high > WIDE * seen || interval.low * WIDE < seen {
        let (low, high) = (loadstone_units::rate(interval.low), loadstone_units::rate(interval.high));
        return Err(format!("stretches of this run contradict each other: the ceiling may lie anywhere from {low} to {high}"));
    }
    Ok((interval, fit))
}

/// In the last quarter of the load, against the one before it: by the curve that was fitted alone nobody can say, since what is in the system scatters, and a
/// curve through scattered points bends by itself.
fn has_bent(blocks: &[RampBlock]) -> bool {
    let quarter = blocks.len() / 4;
    let mean = |part: &[RampBlock], of: fn(&RampBlock) -> f64| part.iter().map(of).sum::<f64>() / part.len().max(1) as f64;
    let (rest, last) = blocks.split_at(blocks.len() - quarter);
    let before = &rest[rest.len() - quarter.min(rest.len())..];
    let grown = |of: fn(&RampBlock) -> f64| (mean(last, of) / mean(before, of)).ln();
    let (in_system, ended) = (grown(|block| block.0), grown(|block| block.1));
    in_system <= 0.0 || ended <= BENT * in_system
}

impl RampPoint {
    fn of(stretch: &RampStretch) -> Self {
        let (in_system, throughput) = stretch.block;
        Self { from_seconds: stretch.from, to_seconds: stretch.to, in_system, throughput }
    }
}

/// N/X = constant + linear·(N − 1) + square·N(N − 1).
struct Fit {
    constant: f64,
    linear: f64,
    square: f64,
}

impl Fit {
    /// The best with no negative coefficient: of three unknowns, that of a subset.
    fn of(blocks: &[RampBlock]) -> Option<Self> {
        let subsets: [&[usize]; 4] = [&[0], &[0, 1], &[0, 2], &[0, 1, 2]];
        let fits = subsets.iter().filter_map(|subset| least_squares(blocks, subset));
        let (best, _) = fits.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Self { constant: best[0], linear: best[1], square: best[2] })
    }

    /// Where throughput is highest: √((1 − α)/β).
    fn peak_at(&self) -> Option<f64> {
        (self.square > 0.0 && self.constant > self.linear).then(|| ((self.constant - self.linear) / self.square).sqrt())
    }

    /// `None`: one request alone would pass in no time.
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

/// Relative errors of X are taken to be alike. Coefficients and the sum of squares; `None` where one is negative.
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

/// By Gauss, with the largest pivot; `None` where there is none.
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
        let fit = Fit::of(&blocks).unwrap();
        let ceilings = resampled(&blocks).filter_map(|blocks| Fit::of(&blocks)).map(|fit| fit.ceiling()).collect();
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
    fn a_peak_is_found_where_the_law_has_it() {
        let law = |n: f64| 100.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.001 * n * (n - 1.0));
        let (ceiling, _) = estimate(|index| 1.0 + 1.5 * index as f64, law);
        assert!((ceiling.unwrap() / 904.0 - 1.0).abs() < 0.03, "{ceiling:?}");
        // What is drawn is what was told.
        let blocks: Vec<RampBlock> = (0..40).map(|index| 1.0 + 1.5 * f64::from(index)).map(|n| (n, law(n))).collect();
        let (interval, fit) = located(&blocks, 904.0).unwrap();
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

    /// A stall in the middle, as a generator that gets no core makes it: much is in the system, little ends, and afterwards all is as before.
    #[test]
    fn stretches_that_contradict_each_other_name_no_ceiling() {
        let inside = |index: usize| if (20..24).contains(&index) { 4_000.0 } else { 0.5 + 0.1 * index as f64 };
        let ended = |index: usize| if (20..24).contains(&index) { 0.05 } else { 50.0 * inside(index) * noisy(index) };
        let blocks: Vec<RampBlock> = (0..40).map(|index| (inside(index), ended(index))).collect();
        let seen = blocks.iter().map(|block| block.1).fold(0.0, f64::max);
        let problem = located(&blocks, seen).map(|(interval, _)| interval).unwrap_err();
        assert!(problem.contains("contradict") || problem.contains("not bent"), "{problem}");
        let healthy: Vec<RampBlock> = (0..40).map(|index| 0.2 * 1.15_f64.powi(index)).map(|n| (n, 200.0 * n / (1.0 + n))).collect();
        assert!(located(&healthy, 198.0).is_ok());
    }
}
