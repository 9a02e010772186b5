//! The uncertainty of a number computed from segments of one run.

use super::model::CapacityInterval;
use crate::statistics::{Xorshift, Z_95, nearest_of_sorted, student_t};

const RESAMPLES: usize = 400;
/// Number of consecutive segments that are drawn together, since neighbours resemble each other.
const SEGMENTS_PER_BLOCK: usize = 4;
/// Upper quantile of the resamples for the interval's end, and minimum share of resamples that must give a value.
const UPPER_QUANTILE: f64 = 0.975;
const RESAMPLES_WITH_VALUE_SHARE_MIN: f64 = 0.9;
/// Number of fitted coefficients, and the minimum of the remaining degrees of freedom.
const FITTED_COEFFICIENTS: f64 = 2.0;
const FREEDOM_MIN: f64 = 3.0;

/// A block bootstrap (Künsch, "The jackknife and the bootstrap for general stationary observations", 1989): the indices of the drawn
/// segments. The same count always gives the same draws. Numbers that are compared with each other must use the same draws.
pub(super) fn draws(count: usize) -> impl Iterator<Item = Vec<usize>> {
    let mut random = Xorshift::fixed();
    let starts = (count + 1).saturating_sub(SEGMENTS_PER_BLOCK).max(1);
    (0..RESAMPLES).map(move |_| {
        let mut drawn = Vec::with_capacity(count + SEGMENTS_PER_BLOCK);
        while drawn.len() < count {
            let start = random.next() as usize % starts;
            drawn.extend(start..(start + SEGMENTS_PER_BLOCK).min(count));
        }
        drawn
    })
}

pub(super) fn resampled<T: Copy>(blocks: &[T]) -> impl Iterator<Item = Vec<T>> + '_ {
    draws(blocks.len()).map(|drawn| drawn.into_iter().map(|index| blocks[index]).collect())
}

/// The 95 % interval of a positive number. `drawn` has its value for each draw of `count` segments, or `None` if a draw gives no value.
/// Resamples of so few segments vary less than the number itself, because they contain the same segments. Therefore the distance of each
/// end is widened, on logarithms, by the ratio between Student's t for the independent parts and the normal distribution. `None`: too many
/// resamples give no value, or one end has no bound.
pub(super) fn interval(value: f64, drawn: &[Option<f64>], count: usize) -> Option<CapacityInterval> {
    let mut values: Vec<f64> = drawn.iter().flatten().copied().collect();
    values.sort_by(f64::total_cmp);
    if (values.len() as f64) < RESAMPLES_WITH_VALUE_SHARE_MIN * drawn.len() as f64 || value <= 0.0 {
        return None;
    }
    let at = |share: f64| nearest_of_sorted(&values, share);
    let parts = (count as f64 / SEGMENTS_PER_BLOCK as f64).max(FITTED_COEFFICIENTS + 1.0);
    let freedom = (parts - FITTED_COEFFICIENTS).max(FREEDOM_MIN);
    let wider = student_t(freedom) * (parts / freedom).sqrt().max(1.0) / Z_95;
    let end = |of: f64| value * (wider * (of / value).ln()).exp();
    let (low, high) = (end(at(1.0 - UPPER_QUANTILE).max(0.0).min(value)), end(at(UPPER_QUANTILE).max(value)));
    high.is_finite().then_some(CapacityInterval { value, low, high })
}
