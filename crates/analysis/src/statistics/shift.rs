//! Where the level of a series changes: from one value on, or for a while.
//!
//! Circular binary segmentation (Olshen, Venkatraman, Lucito and Wise, "Circular binary segmentation for the analysis of array-based DNA copy number data",
//! 2004) finds, of all stretches of the series, the one whose mean differs most from the mean of the rest. Values are clipped first, as in Huber's
//! M-estimators, so that an outlier has little weight. Permutations give the probability of chance. Beyond them the tail of a maximum is Gumbel's (Knijnenburg
//! et al., "Fewer permutations, more accurate P-values", 2009). Neighbours in time resemble each other, so that sums vary more. Scores are reduced by that
//! factor, as Hamed and Rao (1998) do for trends. Where a shift explains most of the variance, the factor applies only to the noise that is left.
//!
//! Permuted blocks were tried first: with the few that a minute holds they missed a tenth of all doubled medians. Pettitt's test (1979) is the special case
//! of one change. It misses a level that returns.

use super::moments::{mean, population_variance, variance};
use super::random::Xorshift;
use super::robust::{interquartile_range, median, median_deviation};
use super::student::ln_gamma;

/// Standard deviations from the median at which values are clipped.
const CLIPPED_BEYOND: f64 = 3.0;
/// Values that a stretch needs, so that no single outlier is one.
const STRETCH_VALUES_MIN: usize = 3;
/// Values that a series needs.
pub(crate) const VALUES_MIN: usize = 12;
const PERMUTATIONS: usize = 99;
/// With so many permutations that score as high as the series itself, the shift is chance.
const PERMUTATIONS_AS_HIGH_MAX: usize = 5;
/// Independent values that a series must be worth.
const INDEPENDENT_VALUES_MIN: f64 = 8.0;
/// Part of the variance that a shift explains from which only the noise that is left can have produced it by chance.
const PLAIN_EXPLAINED_MIN: f64 = 0.75;
/// By how much a stretch with two ends must exceed the best with one end, in squared standard deviations: there are many more of them.
const SECOND_END_GAIN_MIN: f64 = 8.0;
/// Values on either side of a gap, where only the width of the gap shows how rare they are.
const GAP_SIDE_VALUES_MIN: usize = 5;
/// Part of the values that are at the floor of the series, and part that are above it, from which their numbers are compared.
const FLOOR_PART_MIN: f64 = 0.2;
/// Standard deviations that chance alone reaches in any series.
const SCORE_MIN: f64 = 3.0;

/// A stretch of values that differs from the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shift {
    /// First value of the stretch, and the first after it. Where `end` is the length of the series, the level did not return.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Probability that a series without a change shows one as clear.
    pub(crate) p_value: f64,
    /// Values by which `start` may be off (Hinkley, "Inference about the change-point in a sequence of random variables", 1970).
    pub(crate) start_error: usize,
}

/// The clearest shift. `None`: too few values, or chance would give one as clear.
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
    let is_plain = score * score >= PLAIN_EXPLAINED_MIN * count as f64;
    if (count as f64) < INDEPENDENT_VALUES_MIN * dependence && !is_plain {
        return None;
    }
    let reduced = if is_plain { reduced_by_noise(score, count, dependence) } else { score / dependence.sqrt() };
    let permuted = permutation_p_value(&scores, &weights, reduced);
    let (start, end) = refined_ends(values, start, end);
    let ends = (start, end);
    let chances = [permuted, p_value_of_order(values, ends, dependence), p_value_of_gap(values, ends), p_value_of_floor(values, ends)];
    let p_value = chances.into_iter().flatten().reduce(f64::min)?;
    Some(Shift { start, end, p_value, start_error: error_of_start(values, start, end, dependence) })
}

/// Distances from the median in standard deviations, clipped, then scaled to mean 0 and variance 1. `None` where all values are equal.
fn scores(values: &[f64]) -> Option<Vec<f64>> {
    let middle = median(values);
    let deviation = median_deviation(values);
    // Where half of all values are equal, the median distance is 0.
    let mean_distance = || mean(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<f64>>());
    let deviation = if deviation > 0.0 { deviation } else { mean_distance() };
    let scaled = values.iter().map(|value| (value - middle) / deviation.max(1e-300));
    let clipped: Vec<f64> = scaled.map(|score| score.clamp(-CLIPPED_BEYOND, CLIPPED_BEYOND)).collect();
    let (centre, variance) = (mean(&clipped), population_variance(&clipped));
    (variance > 0.0).then(|| clipped.iter().map(|value| (value - centre) / variance.sqrt()).collect())
}

/// Scales the sum of the scores of a stretch of this length to standard deviations.
fn weight(length: usize, count: usize) -> f64 {
    let (m, n) = (length as f64, count as f64);
    if length < STRETCH_VALUES_MIN || count - length < STRETCH_VALUES_MIN { 0.0 } else { 1.0 / (m * (n - m) / n).sqrt() }
}

/// The stretch whose scores differ most, and by how many standard deviations. One with two ends must exceed the best with one clearly.
fn clearest(scores: &[f64], weights: &[f64]) -> (usize, usize, f64) {
    let count = scores.len();
    let sums = sums(scores);
    let (mut step, mut stretch) = ((0, count, 0.0_f64), (0, count, 0.0_f64));
    for start in STRETCH_VALUES_MIN..=count - STRETCH_VALUES_MIN {
        let score = (sums[start] * weights[start]).abs();
        if score > step.2 {
            step = (start, count, score);
        }
        for end in (start + STRETCH_VALUES_MIN)..=count - STRETCH_VALUES_MIN {
            let score = ((sums[end] - sums[start]) * weights[end - start]).abs();
            if score > stretch.2 {
                stretch = (start, end, score);
            }
        }
    }
    if stretch.2.powi(2) > step.2.powi(2) + SECOND_END_GAIN_MIN { stretch } else { step }
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

/// By what factor the variance of sums grows because neighbours resemble each other, once the shift is taken out. 1 where they do not beyond chance.
fn dependence(scores: &[f64], start: usize, end: usize) -> f64 {
    let is_inside = |index: usize| (start..end).contains(&index);
    let level = |wanted: bool| {
        let side = scores.iter().enumerate().filter(|(index, _)| is_inside(*index) == wanted);
        mean(&side.map(|(_, score)| *score).collect::<Vec<f64>>())
    };
    let (inside, outside) = (level(true), level(false));
    let rest: Vec<f64> = scores.iter().enumerate().map(|(index, score)| score - if is_inside(index) { inside } else { outside }).collect();
    dependence_of(&rest)
}

/// The same factor for a series whose levels, two or more, were taken out already.
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
    // The estimate from a short series is too low (Kendall, "Note on bias in the estimation of autocorrelation", 1954); twice, since two levels were fitted.
    let first = (first + 2.0 * (1.0 + 3.0 * first) / n).min(0.95);
    summed.max((1.0 + first) / (1.0 - first))
}

/// The score that a plain shift would have if the noise around it were independent. A score compares a shift with the whole variance, its own part included, so
/// that even the clearest does not exceed √n. Student's t compares it with the rest, and only that part grows with dependence.
fn reduced_by_noise(score: f64, count: usize, dependence: f64) -> f64 {
    let n = count as f64;
    let t = score / (1.0 - (score * score / n).min(0.9999)).sqrt() / dependence.sqrt();
    t / (1.0 + t * t / n).sqrt()
}

/// The probability of a score as high, from the scores of permutations. `None`: the score is not unusual.
fn permutation_p_value(scores: &[f64], weights: &[f64], score: f64) -> Option<f64> {
    let mut random = Xorshift::fixed();
    let (mut permuted_scores, mut as_high) = (Vec::with_capacity(PERMUTATIONS), 0);
    for _ in 0..PERMUTATIONS {
        let permuted = clearest(&permuted(scores, &mut random), weights).2;
        as_high += usize::from(permuted >= score);
        if as_high >= PERMUTATIONS_AS_HIGH_MAX {
            return None;
        }
        permuted_scores.push(permuted);
    }
    // Gumbel's scale and location by moments; 0.5772 is Euler's constant.
    let scale = (variance(&permuted_scores).sqrt() * 6.0_f64.sqrt() / std::f64::consts::PI).max(1e-9);
    let location = mean(&permuted_scores) - 0.577_215_7 * scale;
    Some(-(-(-(score - location) / scale).exp()).exp_m1())
}

/// The probability that a stretch lies wholly above, or wholly below, all the rest. In random order the m largest of n values are adjacent in n − m + 1 of C(n,
/// m) cases. Permutations of clipped scores do not show how rare that is. Values that depend on each other count for fewer. The factor is 2 for either side,
/// and 2 for the lengths to choose from. `None`: the stretch overlaps the rest.
fn p_value_of_order(values: &[f64], (start, end): (usize, usize), dependence: f64) -> Option<f64> {
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

/// The probability of the gap between a stretch and all the rest, by its width. Few values have few orders, however wide the gap is. In noise whose tails
/// fall exponentially, which are heavier than most (in logarithms: those of a power law), a value lies g mean distances beyond the others with probability
/// e^−g. Several such values count as one, since they may depend on each other. The factor is the number of stretches to choose from. `None`: there is no
/// gap, or one side is so short that it may be a passing disturbance.
fn p_value_of_gap(values: &[f64], (start, end): (usize, usize)) -> Option<f64> {
    let inside = &values[start..end];
    let outside: Vec<f64> = values[..start].iter().chain(&values[end..]).copied().collect();
    if inside.len().min(outside.len()) < GAP_SIDE_VALUES_MIN {
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

/// The probability that so few, or so many, of the values of a stretch are at the floor of the series, as parts that are often 0 are: Fisher's exact test, with
/// the number of stretches to choose from and either side as a factor. Permutations of clipped scores do not show how rare that is. Values that depend on each
/// other, in whether they are at the floor, count for fewer. `None`: few values are there.
fn p_value_of_floor(values: &[f64], (start, end): (usize, usize)) -> Option<f64> {
    let floor = values.iter().copied().fold(f64::INFINITY, f64::min);
    let at_floor = |values: &[f64]| values.iter().filter(|value| **value <= floor).count();
    let above: Vec<f64> = values.iter().map(|value| f64::from(*value > floor)).collect();
    let dependence = dependence(&above, start, end);
    let worth = |count: usize| count as f64 / dependence;
    let (inside, all) = (worth(end - start), worth(values.len()));
    let (floor_inside, floor_all) = (worth(at_floor(&values[start..end])), worth(at_floor(values)));
    if floor_all < FLOOR_PART_MIN * all || floor_all > (1.0 - FLOOR_PART_MIN) * all {
        return None;
    }
    let chance =
        |at_floor: f64| (ln_choose(floor_all, at_floor) + ln_choose(all - floor_all, inside - at_floor) - ln_choose(all, inside)).exp();
    let (least, most) = ((inside - (all - floor_all)).max(0.0), floor_all.min(inside));
    let steps = |from: f64, to: f64| (0..=((to - from).floor().max(0.0) as usize)).map(move |step| from + step as f64);
    let is_few = floor_inside < floor_all * inside / all;
    let tail: f64 = if is_few { steps(least, floor_inside).map(chance).sum() } else { steps(floor_inside, most).map(chance).sum() };
    let count = values.len() as f64;
    let stretches = if end == values.len() { count } else { count * count / 2.0 };
    Some((2.0 * stretches * tail).min(1.0))
}

/// The logarithm of the number of ways to choose k of n.
fn ln_choose(n: f64, k: f64) -> f64 {
    ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0)
}

/// In random order (Fisher and Yates, *Statistical Tables*, 1938).
fn permuted(scores: &[f64], random: &mut Xorshift) -> Vec<f64> {
    let mut scores = scores.to_vec();
    for index in (1..scores.len()).rev() {
        scores.swap(index, random.next() as usize % (index + 1));
    }
    scores
}

/// The ends near `start` and `end` that leave the fewest values on the wrong side of the middle between both levels. Clipped values are too alike to decide it.
fn refined_ends(values: &[f64], start: usize, end: usize) -> (usize, usize) {
    const AROUND: usize = 5;
    let count = values.len();
    let inside = median(&values[start..end]);
    let outside: Vec<f64> = values[..start].iter().chain(&values[end..]).copied().collect();
    let outside = median(&outside);
    let middle = f64::midpoint(inside, outside);
    let is_inside = |value: f64| (value > middle) == (inside > outside);
    let wrong = |at: usize, low: usize, high: usize, opens: bool| {
        let before = values[low..at].iter().filter(|value| is_inside(**value) == opens).count();
        before + values[at..high].iter().filter(|value| is_inside(**value) != opens).count()
    };
    let best = |at: usize, low: usize, high: usize, opens: bool| {
        let (from, to) = (at.saturating_sub(AROUND).max(low), (at + AROUND).min(high));
        (from..=to).min_by_key(|candidate| (wrong(*candidate, from, to, opens), candidate.abs_diff(at))).unwrap_or(at)
    };
    let refined_start = best(start, STRETCH_VALUES_MIN, end - STRETCH_VALUES_MIN, true);
    let refined_end = if end == count { end } else { best(end, refined_start + STRETCH_VALUES_MIN, count - STRETCH_VALUES_MIN, false) };
    (refined_start, refined_end)
}

/// Moving an end by one value costs (shift / deviation)² in log likelihood, and all within a cost of 4 are about as likely. Values that depend on each other
/// count for fewer.
fn error_of_start(values: &[f64], start: usize, end: usize, dependence: f64) -> usize {
    let (before, after) = (&values[..start], &values[start..end]);
    let shift = (median(after) - median(before)).abs();
    // A normal distribution's quartiles are 1.35 standard deviations apart.
    let deviation = f64::max(interquartile_range(before), interquartile_range(after)) / 1.35;
    if shift <= 0.0 { start } else { ((4.0 * dependence * (deviation / shift).powi(2)) as usize).min(start) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform noise between 0 and 1. Each value keeps a part of the one before.
    fn noise(count: usize, memory: f64, seed: u64) -> Vec<f64> {
        let mut random = Xorshift::seeded(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        (0..20).for_each(|_| _ = random.next());
        let mut value = 0.5;
        (0..count)
            .map(|_| {
                value = memory * value + (1.0 - memory) * (random.next() % 10_000) as f64 / 10_000.0;
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

    /// Logarithms of medians of half a minute. Neighbours resemble each other, and few orders are possible.
    #[test]
    fn few_values_that_a_gap_divides_are_a_shift() {
        let wandering = [2.4, 2.4, 2.3, 2.4, 2.3, 2.2, 2.2, 2.2, 2.2, 2.2, 2.3, 2.1];
        let step: Vec<f64> = wandering.into_iter().chain([7.6; 9]).collect();
        let found = find(&step).unwrap();
        assert!((found.start, found.end) == (12, 21) && found.p_value < 1e-9, "{found:?}");
        // Three values that lie as far off may be a passing disturbance.
        let passing: Vec<f64> = wandering.into_iter().chain([7.6; 3]).collect();
        assert!(find(&passing).is_none_or(|found| found.p_value > 1e-3));
    }

    /// Parts that are 0 at first, and seldom from an instant on.
    #[test]
    fn seconds_without_that_become_rare_are_a_shift() {
        let after = [0.5, 0.4, 0.5, 0.0, 1.0, 0.4, 0.4, 0.3, 0.0, 0.4, 0.3, 0.2, 0.2, 0.3, 0.6, 0.4, 0.3, 0.3];
        let found = find(&[&[0.0; 12][..], &after].concat()).unwrap();
        assert!(found.start == 12 && found.p_value < 1e-4, "{found:?}");
    }

    /// Each value is 0 or not, and like the one before with this probability. Half a minute is too short to show such a memory, so that ten times as many are
    /// found as at chance. Permutations alone give as many.
    #[test]
    fn parts_that_are_often_zero_are_seldom_a_shift() {
        for (memory, level, allowed) in [(0.0, 0.01, 6), (0.0, 1e-3, 2), (0.3, 1e-3, 10), (0.3, 2e-4, 3)] {
            let series = |seed: u64| {
                let draws = noise(2 * 34, 0.0, seed);
                let mut value = 0.0;
                let next = |pair: &[f64]| {
                    if pair[0] >= memory {
                        value = if pair[1] < 0.5 { 0.0 } else { pair[1] };
                    }
                    value
                };
                draws.chunks(2).map(next).collect::<Vec<f64>>()
            };
            let found = (1..=600).filter(|seed| find(&series(*seed)).is_some_and(|found| found.p_value < level)).count();
            assert!(found <= allowed, "memory {memory}: {found} of 600 at {level}");
        }
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
                found += usize::from((5..=19).any(|at| p_value_of_gap(&heavy, (at, 24)).is_some_and(|chance| chance < 0.01)));
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
