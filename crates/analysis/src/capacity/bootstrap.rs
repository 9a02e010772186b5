//! How sure a number is that rests on stretches of one run.

use super::model::CapacityInterval;
use crate::statistics::{Xorshift, Z_95, nearest_of_sorted, student_t};

const RESAMPLES: usize = 400;
/// Consecutive stretches that are drawn together: neighbours resemble each other.
const TOGETHER: usize = 4;
/// Share of the resamples between the ends of an interval, and of those that must say anything.
const INSIDE: f64 = 0.975;
const ANSWERED: f64 = 0.9;
/// Coefficients that are fitted, and the degrees of freedom that are left at least.
const FITTED: f64 = 2.0;
const FREEDOM_MIN: f64 = 3.0;

/// A bootstrap of neighbouring stretches (Künsch, "The jackknife and the bootstrap for general stationary observations", 1989): which of so many are drawn.
/// The same run always gives the same; whatever is compared with each other is to be made of the same draws.
pub(super) fn draws(count: usize) -> impl Iterator<Item = Vec<usize>> {
    let mut random = Xorshift::fixed();
    let starts = (count + 1).saturating_sub(TOGETHER).max(1);
    (0..RESAMPLES).map(move |_| {
        let mut drawn = Vec::with_capacity(count + TOGETHER);
        while drawn.len() < count {
            let start = random.next() as usize % starts;
            drawn.extend(start..(start + TOGETHER).min(count));
        }
        drawn
    })
}

pub(super) fn resampled<T: Copy>(blocks: &[T]) -> impl Iterator<Item = Vec<T>> + '_ {
    draws(blocks.len()).map(|drawn| drawn.into_iter().map(|index| blocks[index]).collect())
}

/// The 95 % interval of a positive number that `drawn` has once for each draw of `count` stretches, `None` where one did not say. Resamples of so few
/// vary less than the number does, as they have the same stretches to choose from: the distance of each end is widened, on logarithms, as Student's t
/// of the independent parts is wider than the normal distribution. `None`: too many resamples do not say, or one end has no bound.
pub(super) fn interval(value: f64, drawn: &[Option<f64>], count: usize) -> Option<CapacityInterval> {
    let mut said: Vec<f64> = drawn.iter().flatten().copied().collect();
    said.sort_by(f64::total_cmp);
    if (said.len() as f64) < ANSWERED * drawn.len() as f64 || value <= 0.0 {
        return None;
    }
    let at = |share: f64| nearest_of_sorted(&said, share);
    let parts = (count as f64 / TOGETHER as f64).max(FITTED + 1.0);
    let freedom = (parts - FITTED).max(FREEDOM_MIN);
    let wider = student_t(freedom) * (parts / freedom).sqrt().max(1.0) / Z_95;
    let end = |of: f64| value * (wider * (of / value).ln()).exp();
    let (low, high) = (end(at(1.0 - INSIDE).max(0.0).min(value)), end(at(INSIDE).max(value)));
    high.is_finite().then_some(CapacityInterval { value, low, high })
}
