//! Cuts a series into segments of one level.
//!
//! E-divisive (Matteson and James, "A nonparametric approach for multiple change point analysis of multivariate data", 2014): the cut is at
//! the largest energy distance between both sides, and each side is cut again. Cuts are selected in two passes, as in Hunter (Fleming,
//! Kołaczkowski et al., "Hunter: Using Change Point Detection to Hunt for Performance Regressions", 2023), which also uses Student's t
//! instead of permutations. The first pass collects all *weak* cuts, so that a step masked by a later one is found at all. The second pass
//! removes the least significant cut repeatedly until all remaining cuts are *strong*.
//!
//! There are three differences. Consecutive runs on one machine are correlated, so means vary more than t assumes: errors are widened by the
//! factor that [`crate::statistics::shift`] measures. The position is the best of many: the probability is multiplied by their number
//! (Bonferroni). And runs on a machine that others use are not normal: where they have two usual values, each side is clipped to its more
//! frequent one, and t overrates the difference. A strong cut must therefore also separate the ranks ([`crate::statistics::rank_sum_p`]), for
//! which no distribution is assumed.

use crate::statistics::shift::dependence_of;
use crate::statistics::{mean, median, median_deviation, rank_sum_p, rank_sum_p_min, student_t, t_two_sided, variance, welch_freedom};

/// Minimum number of values on either side of a cut.
pub(super) const SIDE_MIN: usize = 3;
/// Maximum p-value of a weak cut, which is kept until the others are known.
const WEAK_P_MAX: f64 = 0.002;
/// Number of standard errors by which the dependence may be underestimated.
const DEPENDENCE_MARGIN: f64 = 1.5;
/// Values are clipped at this many deviations from the median.
const CLIP_DEVIATIONS: f64 = 3.5;

/// A cut before the value `at`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LevelCut {
    pub(super) at: usize,
    /// The segments on both sides: from `from` to `at`, and from `at` to `to`.
    pub(super) from: usize,
    pub(super) to: usize,
    /// `after` minus `before`, with half of its 95 % interval.
    pub(super) change: f64,
    pub(super) half: f64,
    /// Number of values by which `at` may be off. Moving a cut by one value costs (change / deviation)² in likelihood, and all positions
    /// within four are equally likely (Hinkley 1970).
    pub(super) at_error: usize,
    /// Probability that a series of one level has a cut this clear anywhere.
    pub(super) p: f64,
}

/// The strong cuts, in order. `strong`: the probability of any such cut in a series of one level.
pub(super) fn cuts(values: &[f64], strong: f64) -> Vec<LevelCut> {
    if values.len() < 2 * SIDE_MIN {
        return Vec::new();
    }
    let mut places = Vec::new();
    cut(values, 0, values.len(), &mut places);
    places.sort_unstable();
    loop {
        let by_t = judged(values, &places);
        // By ranks only once all are strong by t: a weak cut would divide the values of its neighbours.
        if let Some(weak) = weakest(&by_t, strong) {
            places.retain(|place| *place != weak);
            continue;
        }
        let by_ranks: Vec<LevelCut> = by_t.into_iter().map(|cut| by_ranks(values, cut)).collect();
        match weakest(&by_ranks, strong) {
            Some(weak) => places.retain(|place| *place != weak),
            None => return by_ranks,
        }
    }
}

/// The position of the least significant cut if it is not strong.
fn weakest(cuts: &[LevelCut], strong: f64) -> Option<usize> {
    let least = cuts.iter().max_by(|a, b| a.p.total_cmp(&b.p))?;
    (least.p > strong).then_some(least.at)
}

/// The residual of each value after subtracting the level of its segment.
pub(super) fn residuals_of(values: &[f64], cuts: &[LevelCut]) -> Vec<f64> {
    residuals(values, &cuts.iter().map(|cut| cut.at).collect::<Vec<_>>())
}

fn residuals(values: &[f64], places: &[usize]) -> Vec<f64> {
    let mut rest = Vec::with_capacity(values.len());
    for (from, to) in segments(values.len(), places) {
        let level = mean(&values[from..to]);
        rest.extend(values[from..to].iter().map(|value| value - level));
    }
    rest
}

fn segments(count: usize, places: &[usize]) -> Vec<(usize, usize)> {
    let ends = places.iter().copied().chain([count]);
    let starts = [0].into_iter().chain(places.iter().copied());
    starts.zip(ends).collect()
}

/// Tests each cut with the segments on either side.
fn judged(values: &[f64], places: &[usize]) -> Vec<LevelCut> {
    let dependence = dependence_at_most(&residuals(values, places));
    let segments = segments(values.len(), places);
    let pairs = segments.windows(2).map(|pair| (pair[0].0, pair[0].1, pair[1].1));
    pairs.map(|(from, at, to)| test(values, (from, at, to), dependence, values.len())).collect()
}

/// With the probability by ranks if that is higher.
fn by_ranks(values: &[f64], cut: LevelCut) -> LevelCut {
    let p = rank_sum_p(&values[cut.from..cut.at], &values[cut.at..cut.to]);
    // Of the positions within the two segments, only those count at which full separation is rare enough for such a probability.
    let length = cut.to - cut.from;
    let is_possible = |before: &usize| rank_sum_p_min(*before, length - before) <= p * (1.0 + 1e-9);
    let positions = (SIDE_MIN..=length - SIDE_MIN).filter(is_possible).count() + values.len() - length;
    LevelCut { p: cut.p.max(p * positions as f64).min(1.0), ..cut }
}

/// The factor by which dependence widens variances, including its own uncertainty: an underestimate would report steps in a random walk.
/// The standard error of a correlation is √((1 − φ²)/n) (Bartlett 1946), and the factor is (1 + φ)/(1 − φ).
fn dependence_at_most(rest: &[f64]) -> f64 {
    let found = dependence_of(rest);
    if found > 1.0 { found * (1.0 + DEPENDENCE_MARGIN * (found + 1.0) / (rest.len() as f64 * found).sqrt()) } else { found }
}

/// Welch's t test (1947) of two segments.
fn test(values: &[f64], (from, at, to): (usize, usize, usize), dependence: f64, count: usize) -> LevelCut {
    let (before, after) = (clipped(&values[from..at]), clipped(&values[at..to]));
    let change = mean(&after) - mean(&before);
    // Dependent values count as fewer.
    let (a, b) = (squared_error(&before, &after) * dependence, squared_error(&after, &before) * dependence);
    let worth = |part: &[f64]| (part.len() as f64 / dependence - 1.0).max(1.0);
    let freedom = if a + b > 0.0 { welch_freedom((a, worth(&before)), (b, worth(&after))) } else { 1.0 };
    let error = (a + b).sqrt();
    let p = if change == 0.0 { 1.0 } else { t_two_sided(change.abs() / error, freedom) };
    let spread = variance(&before).max(variance(&after));
    let at_error = (4.0 * dependence * spread / change.powi(2).max(1e-300)).min(count as f64) as usize;
    let places = (count + 1).saturating_sub(2 * SIDE_MIN).max(1) as f64;
    LevelCut { at, from, to, change, half: student_t(freedom) * error, at_error, p: (p * places).min(1.0) }
}

/// Squared error of a mean. A few values may be similar by chance: their deviation is taken as at least half of that on the other side.
fn squared_error(of: &[f64], other_side: &[f64]) -> f64 {
    let variance = variance(of).max(variance(other_side) / 4.0);
    variance / of.len() as f64
}

/// A single outlier among many runs is no level.
fn clipped(values: &[f64]) -> Vec<f64> {
    let (middle, deviation) = (median(values), median_deviation(values));
    if deviation <= 0.0 {
        return values.to_vec();
    }
    values.iter().map(|value| value.clamp(middle - CLIP_DEVIATIONS * deviation, middle + CLIP_DEVIATIONS * deviation)).collect()
}

/// Cuts a segment where its sides differ most, and each side again, as long as the cut is at least weak.
fn cut(values: &[f64], from: usize, to: usize, places: &mut Vec<usize>) {
    let Some(at) = best(&values[from..to]).map(|at| from + at) else { return };
    // Without any correction: unknown levels look like dependence, and a cut that is weak alone may be strong next to others.
    let found = test(values, (from, at, to), 1.0, 2 * SIDE_MIN);
    if found.p <= WEAK_P_MAX {
        places.push(at);
        cut(values, from, at, places);
        cut(values, at, to, places);
    }
}

/// The position with the largest energy distance of both sides, times mn/(m + n). Each position takes linear time, since it moves one value
/// to the other side.
fn best(values: &[f64]) -> Option<usize> {
    let count = values.len();
    if count < 2 * SIDE_MIN {
        return None;
    }
    let distance = |a: usize, b: usize| (values[a] - values[b]).abs();
    let total: f64 = (0..count).map(|a| (a + 1..count).map(|b| distance(a, b)).sum::<f64>()).sum();
    let (mut left, mut right) = (0.0, total);
    let mut found: Option<(usize, f64)> = None;
    for at in 1..count {
        let moved = at - 1;
        left += (0..moved).map(|other| distance(moved, other)).sum::<f64>();
        right -= (at..count).map(|other| distance(moved, other)).sum::<f64>();
        if at < SIDE_MIN || count - at < SIDE_MIN {
            continue;
        }
        let (m, n) = (at as f64, (count - at) as f64);
        let across = total - left - right;
        let energy = 2.0 * across / (m * n) - left / (m * (m - 1.0) / 2.0) - right / (n * (n - 1.0) / 2.0);
        let score = m * n / (m + n) * energy;
        if found.is_none_or(|(_, best)| score > best) {
            found = Some((at, score));
        }
    }
    found.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deterministic noise between −1 and 1.
    fn noise(n: usize) -> f64 {
        ((n * 7919 + 13) % 101) as f64 / 50.0 - 1.0
    }

    #[test]
    fn a_series_of_three_levels_is_cut_twice() {
        let values: Vec<f64> = (0..60)
            .map(|n| {
                noise(n)
                    + if n < 25 {
                        0.0
                    } else if n < 40 {
                        4.0
                    } else {
                        1.5
                    }
            })
            .collect();
        let found = cuts(&values, 0.01);
        assert_eq!(found.iter().map(|cut| cut.at).collect::<Vec<_>>(), [25, 40], "{found:?}");
        assert!((found[0].change - 4.0).abs() < 0.5 && found[0].half < 1.0 && found[0].p < 1e-6);
        assert_eq!((found[1].from, found[1].to), (25, 60));
    }

    #[test]
    fn the_best_cut_is_where_the_energy_is_highest() {
        // Computed by hand for the sides {0, 0, 0} and {1, 1, 1}: every distance across is 1, every distance within is 0.
        assert_eq!(best(&[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]), Some(3));
        assert_eq!(best(&[0.0, 0.0, 1.0, 1.0, 1.0]), None, "too few");
    }

    /// Two usual values in random order, as on a machine that others use: t finds a cut where one of them is more frequent.
    #[test]
    fn two_values_in_random_order_are_one_level() {
        let mut random = crate::statistics::Xorshift::fixed();
        let mut series = || (0..60).map(|n| 0.1 * noise(n) + if random.next().is_multiple_of(3) { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
        let with_cut = (0..100).filter(|_| !cuts(&series(), 0.01).is_empty()).count();
        assert!(with_cut <= 2, "{with_cut} of 100");
    }

    /// Six and six separated values are one of 924 arrangements, in each direction, and no other position is as rare.
    #[test]
    fn few_values_are_as_rare_as_their_arrangements() {
        let values: Vec<f64> = (0..12).map(|n| noise(n) + if n < 6 { 0.0 } else { 50.0 }).collect();
        let found = cuts(&values, 0.01);
        assert!(found.len() == 1 && found[0].at == 6 && (found[0].p - 2.0 / 924.0).abs() < 1e-12, "{found:?}");
        // Three of twenty: 2 of 1,140 arrangements, at each of 15 positions.
        let values: Vec<f64> = (0..20).map(|n| noise(n) + if n < 17 { 0.0 } else { 50.0 }).collect();
        assert!(cuts(&values, 0.026).is_empty() && cuts(&values, 0.027).len() == 1);
    }

    #[test]
    fn equal_values_and_an_outlier_are_one_level() {
        assert!(cuts(&[2.0; 30], 0.01).is_empty());
        assert!(cuts(&[], 0.01).is_empty() && cuts(&[1.0, 9.0], 0.01).is_empty(), "too few");
        let mut values: Vec<f64> = (0..40).map(noise).collect();
        values[20] = 50.0;
        assert!(cuts(&values, 0.01).is_empty());
    }
}
