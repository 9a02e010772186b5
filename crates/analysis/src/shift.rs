//! Detects a shift of the values in a series, permanent or for a while.
//!
//! Circular binary segmentation (Olshen, Venkatraman, Lucito & Wise 2004): of all segments of the series, the one whose mean differs most
//! from that of the rest. Values are clipped first (as Huber's M-estimators do), so that an outlier has little weight. Permutations give
//! the distribution under chance, and a Gumbel distribution gives the tail of the maximum beyond them (as in Knijnenburg et al. 2009).
//! Values that are close in time resemble each other, which increases the variance of sums. Scores are reduced by that factor, as Hamed &
//! Rao (1998) do for trends; for a plain shift, only the remaining noise is scaled. Permuted blocks were tried first: with the few blocks
//! of a minute they missed a tenth of all doubled medians. Pettitt's test (1979) is the special case of one change; it misses shifts that
//! return to the previous level.

use crate::robust::{median, spread};

/// Values are clipped at this many deviations from the median.
const CLIP_DEVIATIONS: f64 = 3.0;
/// Minimum length of a segment, so that a single outlier is none.
const SEGMENT_LENGTH_MIN: usize = 3;
/// With fewer values no shift is reported.
pub(crate) const VALUES_MIN: usize = 12;
const PERMUTATIONS: usize = 99;
/// When this many permutations reach the score of the series, chance explains it.
const REACHED_MAX: usize = 5;
/// Minimum number of independent values that a series must be equivalent to.
const INDEPENDENT_MIN: f64 = 8.0;
/// Share of the variance above which a shift is plain: only the remaining variance could have caused it by chance.
const PLAIN_SHIFT_VARIANCE_SHARE_MIN: f64 = 0.75;
/// Minimum improvement (in squared standard deviations) of a segment with two ends over one with one end: there are many more segments with
/// two ends.
const SECOND_END_IMPROVEMENT_MIN: f64 = 8.0;
/// Minimum number of values on either side where only the width of the gap between them is evidence.
const GAP_SIDE_MIN: usize = 5;
/// Minimum score in standard deviations. Any series without a change reaches it by chance, so a lower score is never significant.
const SCORE_MIN: f64 = 3.0;

/// A segment of values that differ from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shift {
    /// First value of the segment, and the first after it. If `end` is the length of the series, the values did not return.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The probability that a series without a change has a shift this clear.
    pub(crate) p_value: f64,
    /// Number of values by which `start` may be off (Hinkley 1970).
    pub(crate) start_error: usize,
}

/// The clearest shift; `None` where chance explains it.
pub(crate) fn find(values: &[f64]) -> Option<Shift> {
    let count = values.len();
    if count < VALUES_MIN {
        return None;
    }
    let scores = scores(values)?;
    let weights: Vec<f64> = (0..=count).map(|length| weight(length, count)).collect();
    let (start, end, score) = clearest(&scores, &weights);
    if score < SCORE_MIN {
        return None;
    }
    let dependence = dependence(&scores, start, end);
    let is_plain = score * score >= PLAIN_SHIFT_VARIANCE_SHARE_MIN * count as f64;
    if (count as f64) < INDEPENDENT_MIN * dependence && !is_plain {
        return None;
    }
    let reduced = if is_plain { reduced(score, count, dependence) } else { score / dependence.sqrt() };
    let permuted = chance(&scores, &weights, reduced);
    let (start, end) = sharpened(values, start, end);
    let probabilities = [permuted, probability_of_apart(values, (start, end), dependence), probability_of_gap(values, (start, end))];
    let p_value = probabilities.into_iter().flatten().reduce(f64::min)?;
    Some(Shift { start, end, p_value, start_error: error_of_start(values, start, end, dependence) })
}

/// Distances from the median in deviations, clipped so that an outlier weighs little, with mean 0 and variance 1; `None` where all are equal.
fn scores(values: &[f64]) -> Option<Vec<f64>> {
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    // A normal distribution's deviation is 1.48 times the median distance; where half of all are equal, the mean distance must do.
    let deviation = 1.4826 * median(&distances);
    let deviation = if deviation > 0.0 { deviation } else { distances.iter().sum::<f64>() / values.len() as f64 };
    let clipped: Vec<f64> =
        values.iter().map(|value| ((value - middle) / deviation.max(1e-300)).clamp(-CLIP_DEVIATIONS, CLIP_DEVIATIONS)).collect();
    let n = clipped.len() as f64;
    let mean = clipped.iter().sum::<f64>() / n;
    let variance = clipped.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    (variance > 0.0).then(|| clipped.iter().map(|value| (value - mean) / variance.sqrt()).collect())
}

/// The factor that converts the sum of the scores of a segment of this length to standard deviations.
fn weight(length: usize, count: usize) -> f64 {
    let (m, n) = (length as f64, count as f64);
    if length < SEGMENT_LENGTH_MIN || count - length < SEGMENT_LENGTH_MIN { 0.0 } else { 1.0 / (m * (n - m) / n).sqrt() }
}

/// The segment whose scores differ most, and its score in standard deviations. A segment with one end is preferred unless one with two ends
/// is much better.
fn clearest(scores: &[f64], weights: &[f64]) -> (usize, usize, f64) {
    let count = scores.len();
    let sums = sums(scores);
    let (mut step, mut segment) = ((0, count, 0.0_f64), (0, count, 0.0_f64));
    for start in SEGMENT_LENGTH_MIN..=count - SEGMENT_LENGTH_MIN {
        let score = (sums[start] * weights[start]).abs();
        if score > step.2 {
            step = (start, count, score);
        }
        for end in (start + SEGMENT_LENGTH_MIN)..=count - SEGMENT_LENGTH_MIN {
            let score = ((sums[end] - sums[start]) * weights[end - start]).abs();
            if score > segment.2 {
                segment = (start, end, score);
            }
        }
    }
    if segment.2.powi(2) > step.2.powi(2) + SECOND_END_IMPROVEMENT_MIN { segment } else { step }
}

fn sums(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    std::iter::once(0.0)
        .chain(values.iter().map(|value| {
            sum += value;
            sum
        }))
        .collect()
}

/// The number of values over which the series depends on itself after the shift is removed: the factor by which the variance of sums grows.
/// 1 where neighbours do not resemble each other beyond chance.
fn dependence(scores: &[f64], start: usize, end: usize) -> f64 {
    let is_inside = |index: usize| (start..end).contains(&index);
    let mean = |wanted: bool| {
        let side: Vec<f64> = scores.iter().enumerate().filter(|(index, _)| is_inside(*index) == wanted).map(|(_, score)| *score).collect();
        side.iter().sum::<f64>() / side.len().max(1) as f64
    };
    let (inside, outside) = (mean(true), mean(false));
    let rest: Vec<f64> = scores.iter().enumerate().map(|(index, score)| score - if is_inside(index) { inside } else { outside }).collect();
    dependence_of(&rest)
}

/// The same factor for the residuals of a series after its levels (two or more) are removed.
pub(crate) fn dependence_of(rest: &[f64]) -> f64 {
    let n = rest.len() as f64;
    let square: f64 = rest.iter().map(|value| value * value).sum();
    let correlation = |lag: usize| rest.iter().zip(&rest[lag..]).map(|(a, b)| a * b).sum::<f64>() / square.max(1e-12);
    let noise = 1.0 / n.sqrt();
    let first = correlation(1);
    if first <= noise {
        return 1.0;
    }
    let summed = 1.0 + 2.0 * (1..rest.len() / 4).map(correlation).take_while(|found| *found > noise).sum::<f64>();
    // Short series underestimate it (Kendall 1954). The correction is doubled because two levels were fitted.
    let first = (first + 2.0 * (1.0 + 3.0 * first) / n).min(0.95);
    summed.max((1.0 + first) / (1.0 - first))
}

/// The score that a plain shift would have if the remaining noise were independent. A score compares a shift with the total variance,
/// including its own, so that even the clearest shift does not exceed √n. Student's t compares it with the rest, and only that grows with
/// dependence.
fn reduced(score: f64, count: usize, dependence: f64) -> f64 {
    let n = count as f64;
    let t = score / (1.0 - (score * score / n).min(0.9999)).sqrt() / dependence.sqrt();
    t / (1.0 + t * t / n).sqrt()
}

/// The probability of a score this high, from the scores of permutations. `None`: it is not unusual.
fn chance(scores: &[f64], weights: &[f64], score: f64) -> Option<f64> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut reached_by, mut reached) = (Vec::with_capacity(PERMUTATIONS), 0);
    for _ in 0..PERMUTATIONS {
        let permuted = clearest(&permuted(scores, &mut random), weights).2;
        reached += usize::from(permuted >= score);
        if reached >= REACHED_MAX {
            return None;
        }
        reached_by.push(permuted);
    }
    let n = reached_by.len() as f64;
    let mean = reached_by.iter().sum::<f64>() / n;
    let deviation = (reached_by.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    // Gumbel's scale and location by moments; 0.5772 is Euler's constant.
    let scale = (deviation * 6.0_f64.sqrt() / std::f64::consts::PI).max(1e-9);
    let location = mean - 0.577_215_7 * scale;
    Some(-(-(-(score - location) / scale).exp()).exp_m1())
}

/// The probability that a segment lies entirely above, or entirely below, all the rest. In random order, the m largest of n values are
/// adjacent in n − m + 1 of C(n, m) cases. Permutations of clipped scores cannot show how rare that is. Dependent values count as fewer.
/// Times two for either side, and times two for the choice of lengths. `None`: the segment is not apart.
fn probability_of_apart(values: &[f64], (start, end): (usize, usize), dependence: f64) -> Option<f64> {
    let range = |values: &mut dyn Iterator<Item = &f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
    };
    let inside = range(&mut values[start..end].iter());
    let outside = range(&mut values[..start].iter().chain(&values[end..]));
    let worth = |count: usize| (count as f64 / dependence).floor();
    let (m, n) = (worth(end - start), worth(values.len()));
    let is_apart = inside.0 > outside.1 || inside.1 < outside.0;
    let orders: f64 = (0..m as usize).map(|place| ((n - place as f64) / (m - place as f64)).ln()).sum();
    (is_apart && m >= 1.0 && n > m).then(|| (4.0 * ((n - m + 1.0).ln() - orders).exp()).min(1.0))
}

/// The probability of the gap between a segment and all the rest, by its width: few values have few orders, regardless of their distance.
/// For noise with exponential tails, which are heavier than most (for logarithms: the tails of a power law), a value lies g mean distances
/// beyond the others with probability e^−g. Further values beyond the gap are ignored, since they may depend on each other. The probability
/// is multiplied by the number of segments. `None`: there is no gap, or either side may be a passing disturbance.
fn probability_of_gap(values: &[f64], (start, end): (usize, usize)) -> Option<f64> {
    let inside = &values[start..end];
    let outside: Vec<f64> = values[..start].iter().chain(&values[end..]).copied().collect();
    if inside.len().min(outside.len()) < GAP_SIDE_MIN {
        return None;
    }
    let range =
        |side: &[f64]| side.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    let ((low, high), (lowest, highest)) = (range(inside), range(&outside));
    let gap = f64::max(low - highest, lowest - high);
    let distances = |side: &[f64]| {
        let middle = median(side);
        side.iter().map(|value| (value - middle).abs()).sum::<f64>()
    };
    let distance = (distances(inside) + distances(&outside)) / values.len() as f64;
    let segments = (values.len() * values.len()) as f64 / 2.0;
    (gap > 0.0).then(|| (segments * (-gap / distance.max(1e-3 * gap)).exp()).min(1.0))
}

/// A random permutation (Fisher & Yates).
fn permuted(scores: &[f64], random: &mut u64) -> Vec<f64> {
    let mut scores = scores.to_vec();
    for index in (1..scores.len()).rev() {
        scores.swap(index, next(random) as usize % (index + 1));
    }
    scores
}

/// Xorshift (Marsaglia 2003): the same run always gives the same findings.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 11
}

/// Adjusts the ends so that the values themselves, not only their scores, lie closest to the medians of either side: clipped values are
/// alike.
fn sharpened(values: &[f64], start: usize, end: usize) -> (usize, usize) {
    const AROUND: usize = 5;
    let count = values.len();
    let inside = median(&values[start..end]);
    let outside: Vec<f64> = values[..start].iter().chain(&values[end..]).copied().collect();
    let outside = median(&outside);
    let middle = f64::midpoint(inside, outside);
    let is_inside = |value: f64| (value > middle) == (inside > outside);
    // Number of values on the wrong side of the middle for an end at `at`.
    let wrong = |at: usize, low: usize, high: usize, opens: bool| {
        let before = values[low..at].iter().filter(|value| is_inside(**value) == opens).count();
        before + values[at..high].iter().filter(|value| is_inside(**value) != opens).count()
    };
    let best = |at: usize, low: usize, high: usize, opens: bool| {
        let (from, to) = (at.saturating_sub(AROUND).max(low), (at + AROUND).min(high));
        (from..=to).min_by_key(|candidate| (wrong(*candidate, from, to, opens), candidate.abs_diff(at))).unwrap_or(at)
    };
    let sharp_start = best(start, SEGMENT_LENGTH_MIN, end - SEGMENT_LENGTH_MIN, true);
    let sharp_end = if end == count { end } else { best(end, sharp_start + SEGMENT_LENGTH_MIN, count - SEGMENT_LENGTH_MIN, false) };
    (sharp_start, sharp_end)
}

/// Moving an end by one value costs (shift / deviation)² in likelihood. All ends within four are equally likely; dependent values count as
/// one.
fn error_of_start(values: &[f64], start: usize, end: usize, dependence: f64) -> usize {
    let (before, after) = (&values[..start], &values[start..end]);
    let shift = (median(after) - median(before)).abs();
    // A normal distribution's quartiles are 1.35 standard deviations apart.
    let deviation = f64::max(spread(before), spread(after)) / 1.35;
    if shift <= 0.0 { start } else { ((4.0 * dependence * (deviation / shift).powi(2)) as usize).min(start) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform noise between 0 and 1, with a part of the previous value carried over.
    fn noise(count: usize, memory: f64, seed: u64) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1;
        (0..20).for_each(|_| _ = next(&mut state));
        let mut value = 0.5;
        (0..count)
            .map(|_| {
                value = memory * value + (1.0 - memory) * (next(&mut state) % 10_000) as f64 / 10_000.0;
                value
            })
            .collect()
    }

    #[test]
    fn a_step_and_a_segment_are_found_at_their_positions() {
        for seed in 1..30 {
            let plain = noise(60, 0.0, seed);
            let step: Vec<f64> = plain.iter().enumerate().map(|(n, value)| value + if n >= 20 { 2.0 } else { 0.0 }).collect();
            let found = find(&step).unwrap();
            assert!((found.start, found.end) == (20, 60) && found.p_value < 1e-3, "{found:?}");
            let segment: Vec<f64> =
                plain.iter().enumerate().map(|(n, value)| value - if (25..35).contains(&n) { 2.0 } else { 0.0 }).collect();
            let found = find(&segment).unwrap();
            assert!((found.start, found.end) == (25, 35) && found.p_value < 3e-3, "seed {seed}: {found:?} {segment:?}");
        }
    }

    #[test]
    fn noise_is_rarely_a_shift_even_with_memory() {
        for memory in [0.0, 0.5, 0.8] {
            let found = (1..=400).filter(|seed| find(&noise(60, memory, *seed)).is_some_and(|found| found.p_value < 0.01)).count();
            assert!(found <= if memory > 0.0 { 16 } else { 8 }, "memory {memory}: {found} of 400 at 1 %");
        }
    }

    #[test]
    fn noise_with_memory_does_not_hide_a_much_larger_step() {
        for seed in 1..30 {
            let wandering = noise(40, 0.9, seed);
            let step: Vec<f64> = wandering.iter().enumerate().map(|(n, value)| value + if n >= 20 { 6.0 } else { 0.0 }).collect();
            let found = find(&step).unwrap();
            assert!((found.start, found.end) == (20, 40) && found.p_value < 1e-3, "seed {seed}: {found:?}");
        }
    }

    /// Logarithms of medians of half a minute. Neighbours resemble each other, and few orders are possible.
    #[test]
    fn few_values_divided_by_a_gap_are_a_shift() {
        let wandering = [2.4, 2.4, 2.3, 2.4, 2.3, 2.2, 2.2, 2.2, 2.2, 2.2, 2.3, 2.1];
        let step: Vec<f64> = wandering.into_iter().chain([7.6; 9]).collect();
        let found = find(&step).unwrap();
        assert!((found.start, found.end) == (12, 21) && found.p_value < 1e-9, "{found:?}");
        // Three values at the same distance may be a passing disturbance.
        let passing: Vec<f64> = wandering.into_iter().chain([7.6; 3]).collect();
        assert!(find(&passing).is_none_or(|found| found.p_value > 1e-3));
    }

    #[test]
    fn noise_with_heavy_tails_has_no_such_gap() {
        let mut found = 0;
        for memory in [0.0, 0.5, 0.8] {
            for seed in 1..=700 {
                let uniform = noise(24, 0.0, seed);
                let mut value = 0.0;
                let heavy: Vec<f64> = uniform
                    .iter()
                    .map(|draw| {
                        value = memory * value - (1.0 - memory) * (draw + 1e-4).ln();
                        value
                    })
                    .collect();
                found += usize::from((5..=19).any(|at| probability_of_gap(&heavy, (at, 24)).is_some_and(|chance| chance < 0.01)));
            }
        }
        assert!(found <= 4, "{found} of 2,100 at 1 %");
    }

    #[test]
    fn an_outlier_and_equal_values_are_no_shift() {
        let mut values = vec![1.0; 40];
        assert_eq!(find(&values), None);
        values[20] = 1e6;
        assert!(find(&values).is_none_or(|found| found.p_value > 0.01));
        assert_eq!(find(&[1.0, 1.0, 1.0, 9.0, 9.0, 9.0]), None, "too short");
    }
}
