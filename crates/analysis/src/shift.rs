//! Where in a series values shifted: from an instant on, or for a while.
//!
//! Circular binary segmentation (Olshen, Venkatraman, Lucito & Wise 2004): of all stretches of the series, the one whose mean differs most from that
//! of the rest. Values are clipped first (as Huber's M-estimators do), so that an outlier has little weight. Chance is what permutations give; beyond
//! them, the tail of a maximum is Gumbel's (as in Knijnenburg et al. 2009). Neighbours in time resemble each other, which makes sums vary more:
//! scores are taken down by that factor, as Hamed & Rao (1998) do for trends; of a plain shift, only the noise beside it counts for so much more.
//! Permuted blocks were tried first: with the few that a minute holds they missed a tenth of all doubled medians. Pettitt's test (1979) is the
//! special case of one change; it misses what returns to where it was.

use crate::robust::{median, spread};

/// Deviations beyond which values count alike.
const CLIPPED: f64 = 3.0;
/// Values that a stretch needs, so that a single outlier is none.
const LENGTH_MIN: usize = 3;
/// Fewer values say nothing.
pub(crate) const VALUES_MIN: usize = 12;
const PERMUTATIONS: usize = 99;
/// Permutations that reach as far as the series itself, after which chance is enough.
const REACHED_MAX: usize = 5;
/// Independent values that a series must be worth.
const INDEPENDENT_MIN: f64 = 8.0;
/// Part of the variance from which a shift is plain: what is left beside it is all that could make it by chance.
const EXPLAINED: f64 = 0.75;
/// How much better (in squared standard deviations) two ends must be than one: there are many more stretches than ends.
const SECOND_END: f64 = 8.0;
/// Values that either side needs where only the width of the gap between them tells how rare they are.
const GAP_SIDE_MIN: usize = 5;
/// Standard deviations that no series without a change would fail to reach by chance alone.
const CHANCE: f64 = 3.0;

/// A stretch of values that differ from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shift {
    /// First value of the stretch, and the first after it. Where `end` is the length of the series, it did not return.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Chance that a series without a change shows one as clear.
    pub(crate) p_value: f64,
    /// Values by which `start` may lie off (Hinkley 1970).
    pub(crate) start_error: usize,
}

/// The clearest shift; `None` where chance would give as much.
pub(crate) fn find(values: &[f64]) -> Option<Shift> {
    let count = values.len();
    if count < VALUES_MIN {
        return None;
    }
    let scores = scores(values)?;
    let weights: Vec<f64> = (0..=count).map(|length| weight(length, count)).collect();
    let (start, end, score) = clearest(&scores, &weights);
    if score < CHANCE {
        return None;
    }
    let dependence = dependence(&scores, start, end);
    let is_plain = score * score >= EXPLAINED * count as f64;
    if (count as f64) < INDEPENDENT_MIN * dependence && !is_plain {
        return None;
    }
    let lowered = if is_plain { lowered(score, count, dependence) } else { score / dependence.sqrt() };
    let permuted = chance(&scores, &weights, lowered);
    let (start, end) = sharpened(values, start, end);
    let chances = [permuted, chance_of_apart(values, (start, end), dependence), chance_of_gap(values, (start, end))];
    let p_value = chances.into_iter().flatten().reduce(f64::min)?;
    Some(Shift { start, end, p_value, start_error: error_of_start(values, start, end, dependence) })
}

/// Distances from the median in deviations, clipped so that an outlier weighs little, with mean 0 and variance 1; `None` where all are equal.
fn scores(values: &[f64]) -> Option<Vec<f64>> {
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    // A normal distribution's deviation is 1.48 times the median distance; where half of all are equal, the mean distance must do.
    let deviation = 1.4826 * median(&distances);
    let deviation = if deviation > 0.0 { deviation } else { distances.iter().sum::<f64>() / values.len() as f64 };
    let clipped: Vec<f64> = values.iter().map(|value| ((value - middle) / deviation.max(1e-300)).clamp(-CLIPPED, CLIPPED)).collect();
    let n = clipped.len() as f64;
    let mean = clipped.iter().sum::<f64>() / n;
    let variance = clipped.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    (variance > 0.0).then(|| clipped.iter().map(|value| (value - mean) / variance.sqrt()).collect())
}

/// What makes the sum of the scores of a stretch of this length a number of standard deviations.
fn weight(length: usize, count: usize) -> f64 {
    let (m, n) = (length as f64, count as f64);
    if length < LENGTH_MIN || count - length < LENGTH_MIN { 0.0 } else { 1.0 / (m * (n - m) / n).sqrt() }
}

/// The stretch whose scores differ most, and by how many standard deviations. One end is enough unless two are much better.
fn clearest(scores: &[f64], weights: &[f64]) -> (usize, usize, f64) {
    let count = scores.len();
    let sums = sums(scores);
    let (mut step, mut stretch) = ((0, count, 0.0_f64), (0, count, 0.0_f64));
    for start in LENGTH_MIN..=count - LENGTH_MIN {
        let score = (sums[start] * weights[start]).abs();
        if score > step.2 {
            step = (start, count, score);
        }
        for end in (start + LENGTH_MIN)..=count - LENGTH_MIN {
            let score = ((sums[end] - sums[start]) * weights[end - start]).abs();
            if score > stretch.2 {
                stretch = (start, end, score);
            }
        }
    }
    if stretch.2.powi(2) > step.2.powi(2) + SECOND_END { stretch } else { step }
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

/// For how many values the series depends on itself once the shift is taken out: the factor by which the variance of sums grows. 1 where neighbours do
/// not resemble each other beyond chance.
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

/// The same of what is left of a series once its two levels, or more, are taken out.
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
    // Short series hide a part of it (Kendall 1954); twice, as two levels were fitted.
    let first = (first + 2.0 * (1.0 + 3.0 * first) / n).min(0.95);
    summed.max((1.0 + first) / (1.0 - first))
}

/// The score that a plain shift would have if the noise beside it were independent. A score holds a shift against all of the variance, itself included, so that
/// not even the clearest exceeds √n; Student's t holds it against the rest, and that alone is what dependence makes larger.
fn lowered(score: f64, count: usize, dependence: f64) -> f64 {
    let n = count as f64;
    let t = score / (1.0 - (score * score / n).min(0.9999)).sqrt() / dependence.sqrt();
    t / (1.0 + t * t / n).sqrt()
}

/// The chance of a score as high, from the scores of permutations. `None`: it is nothing unusual.
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

/// The chance that a stretch lies wholly above, or wholly below, all the rest: in random order the m largest of n values stand together in
/// n − m + 1 of C(n, m) cases. Permutations of clipped scores cannot tell how rare that is. Values that depend on each other count for fewer. Times two
/// for either side, and once more for the lengths to choose from. `None`: it does not lie so.
fn chance_of_apart(values: &[f64], (start, end): (usize, usize), dependence: f64) -> Option<f64> {
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

/// The chance of the gap between a stretch and all the rest, by its width: few values can be put into few orders, however far apart they lie. Of noise
/// whose tails fall exponentially, which is more than most have (of logarithms: those of a power law), a value lies g mean distances beyond the others with a
/// chance of e^−g; that there are several of them counts for nothing, since they may depend on each other. Times the stretches to choose from. `None`: there is
/// no gap, or either side may be a passing disturbance.
fn chance_of_gap(values: &[f64], (start, end): (usize, usize)) -> Option<f64> {
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
    let stretches = (values.len() * values.len()) as f64 / 2.0;
    (gap > 0.0).then(|| (stretches * (-gap / distance.max(1e-3 * gap)).exp()).min(1.0))
}

/// In random order (Fisher & Yates).
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

/// Ends at which the values themselves, not only their scores, lie closest to the medians of either side: clipped values are alike.
fn sharpened(values: &[f64], start: usize, end: usize) -> (usize, usize) {
    const AROUND: usize = 5;
    let count = values.len();
    let inside = median(&values[start..end]);
    let outside: Vec<f64> = values[..start].iter().chain(&values[end..]).copied().collect();
    let outside = median(&outside);
    let middle = f64::midpoint(inside, outside);
    let is_inside = |value: f64| (value > middle) == (inside > outside);
    // Values on the wrong side of the middle for an end at `at`.
    let wrong = |at: usize, low: usize, high: usize, opens: bool| {
        let before = values[low..at].iter().filter(|value| is_inside(**value) == opens).count();
        before + values[at..high].iter().filter(|value| is_inside(**value) != opens).count()
    };
    let best = |at: usize, low: usize, high: usize, opens: bool| {
        let (from, to) = (at.saturating_sub(AROUND).max(low), (at + AROUND).min(high));
        (from..=to).min_by_key(|candidate| (wrong(*candidate, from, to, opens), candidate.abs_diff(at))).unwrap_or(at)
    };
    let sharp_start = best(start, LENGTH_MIN, end - LENGTH_MIN, true);
    let sharp_end = if end == count { end } else { best(end, sharp_start + LENGTH_MIN, count - LENGTH_MIN, false) };
    (sharp_start, sharp_end)
}

/// Moving an end by one value costs (shift / deviation)² in likelihood; all within four are as likely, those that depend on each other counting for one.
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

    /// Uniform noise between 0 and 1, and from each value to the next a part of the one before.
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
    fn a_step_and_a_stretch_are_found_where_they_are() {
        for seed in 1..30 {
            let plain = noise(60, 0.0, seed);
            let step: Vec<f64> = plain.iter().enumerate().map(|(n, value)| value + if n >= 20 { 2.0 } else { 0.0 }).collect();
            let found = find(&step).unwrap();
            assert!((found.start, found.end) == (20, 60) && found.p_value < 1e-3, "{found:?}");
            let stretch: Vec<f64> =
                plain.iter().enumerate().map(|(n, value)| value - if (25..35).contains(&n) { 2.0 } else { 0.0 }).collect();
            let found = find(&stretch).unwrap();
            assert!((found.start, found.end) == (25, 35) && found.p_value < 3e-3, "seed {seed}: {found:?} {stretch:?}");
        }
    }

    #[test]
    fn noise_is_seldom_a_shift_also_where_it_has_a_memory() {
        for memory in [0.0, 0.5, 0.8] {
            let found = (1..=400).filter(|seed| find(&noise(60, memory, *seed)).is_some_and(|found| found.p_value < 0.01)).count();
            assert!(found <= if memory > 0.0 { 16 } else { 8 }, "memory {memory}: {found} of 400 at 1 %");
        }
    }

    #[test]
    fn noise_with_a_memory_hides_no_step_that_dwarfs_it() {
        for seed in 1..30 {
            let wandering = noise(40, 0.9, seed);
            let step: Vec<f64> = wandering.iter().enumerate().map(|(n, value)| value + if n >= 20 { 6.0 } else { 0.0 }).collect();
            let found = find(&step).unwrap();
            assert!((found.start, found.end) == (20, 40) && found.p_value < 1e-3, "seed {seed}: {found:?}");
        }
    }

    /// Logarithms of medians of half a minute; neighbours resemble each other, and few orders are possible.
    #[test]
    fn few_values_that_a_gap_divides_are_a_shift() {
        let wandering = [2.4, 2.4, 2.3, 2.4, 2.3, 2.2, 2.2, 2.2, 2.2, 2.2, 2.3, 2.1];
        let step: Vec<f64> = wandering.into_iter().chain([7.6; 9]).collect();
        let found = find(&step).unwrap();
        assert!((found.start, found.end) == (12, 21) && found.p_value < 1e-9, "{found:?}");
        // Three values that lie as far off may be a disturbance that passes.
        let passing: Vec<f64> = wandering.into_iter().chain([7.6; 3]).collect();
        assert!(find(&passing).is_none_or(|found| found.p_value > 1e-3));
    }

    #[test]
    fn noise_of_heavy_tails_has_no_such_gap() {
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
                found += usize::from((5..=19).any(|at| chance_of_gap(&heavy, (at, 24)).is_some_and(|chance| chance < 0.01)));
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
