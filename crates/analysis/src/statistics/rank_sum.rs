//! The rank-sum test: whether one of two samples tends to have the larger values, whatever their distribution.
//!
//! Wilcoxon, "Individual comparisons by ranking methods", Biometrics 1945; Mann and Whitney, "On a test of whether one of two random
//! variables is stochastically larger than the other", Annals of Mathematical Statistics 1947. The distribution under "no difference" is
//! exact, so a few values are enough. It is normal for two large samples.

use super::normal::two_sided;

/// Values of the smaller sample from which the normal distribution is used. Its tails are heavier, so that it only raises the result.
const NORMAL_FROM: usize = 20;

/// The probability, two-sided, that two samples of one distribution are at least as separated as these. Equal values count as if they
/// separated the samples least, so ties only raise the result. 1 if a sample is empty.
pub(crate) fn rank_sum_p(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let pairs = a.len() * b.len();
    let count = |is_beyond: fn(f64, f64) -> bool| a.iter().map(|x| b.iter().filter(|y| is_beyond(*x, **y)).count()).sum::<usize>();
    // The number of pairs against the direction in which the samples are separated.
    let against = pairs - count(|x, y| x < y).max(count(|x, y| x > y));
    let (fewer, more) = (a.len().min(b.len()), a.len().max(b.len()));
    if fewer >= NORMAL_FROM { normal_p(fewer, more, against) } else { (2.0 * lower_tail(fewer, more, against)).min(1.0) }
}

/// The result for two samples of these sizes that are fully separated: 2 of all arrangements. No other result is smaller.
pub(crate) fn rank_sum_p_min(first: usize, second: usize) -> f64 {
    let (fewer, all) = (first.min(second), first + second);
    (0..fewer).fold(2.0, |p, place| p * (fewer - place) as f64 / (all - place) as f64)
}

/// The number of pairs in the wrong order has the mean mn/2 and the variance mn(m + n + 1)/12 (Mann and Whitney). Half a pair corrects for counting.
fn normal_p(first: usize, second: usize, against: usize) -> f64 {
    let pairs = (first * second) as f64;
    let distance = pairs / 2.0 - against as f64 - 0.5;
    two_sided(distance.max(0.0) / (pairs * (first + second + 1) as f64 / 12.0).sqrt())
}

/// The probability that at most `most` of the pairs of two samples of these sizes are in the wrong order, by the recurrence of Mann and
/// Whitney: the largest value is either of the first sample, and then exceeds all of the second, or of the second.
fn lower_tail(first: usize, second: usize, most: usize) -> f64 {
    let last = most.min(first * second);
    // `chances[m][u]`: the probability that m values of the first sample and n of the second have u pairs in the wrong order.
    let mut chances = vec![vec![0.0; last + 1]; first + 1];
    chances.iter_mut().for_each(|row| row[0] = 1.0);
    for n in 1..=second {
        for m in 1..=first {
            let of_first = m as f64 / (m + n) as f64;
            let (before, after) = chances.split_at_mut(m);
            for u in 0..=last {
                let from_first = if u >= n { before[m - 1][u - n] } else { 0.0 };
                after[0][u] = of_first * from_first + (1.0 - of_first) * after[0][u];
            }
        }
    }
    chances[first].iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    /// Of the 20 arrangements of three and three values, one is fully separated in each direction (Mann and Whitney, table I: 0.05).
    #[test]
    fn the_published_table() {
        near(rank_sum_p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 2.0 / 20.0);
        near(rank_sum_p(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]), 2.0 / 20.0);
        // One pair in the wrong order: the probability of at most one is 0.1 in the table.
        near(rank_sum_p(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0]), 4.0 / 20.0);
        // Ten and ten, fully separated: 2 of 184,756.
        let (low, high): (Vec<f64>, Vec<f64>) = ((0..10).map(f64::from).collect(), (10..20).map(f64::from).collect());
        near(rank_sum_p(&low, &high), 2.0 / 184_756.0);
        near(rank_sum_p_min(3, 3), 2.0 / 20.0);
        near(rank_sum_p_min(6, 14), 2.0 / 38_760.0);
    }

    /// For 20 and 20 fully separated values, the exact probability is 2 of C(40, 20).
    #[test]
    fn large_samples_are_judged_by_the_normal_distribution() {
        let ascending = |from: usize, to: usize| (from..to).map(|value| value as f64).collect::<Vec<f64>>();
        let separated = rank_sum_p(&ascending(0, 20), &ascending(20, 40));
        assert!((2.0 / 137_846_528_820.0..1e-6).contains(&separated), "{separated}");
        // Both samples alternate, and 200 of 400 pairs are in the wrong order, or 210.
        let alternate = |first: usize| (0..20).map(|value| (2 * value + first) as f64).collect::<Vec<f64>>();
        assert!(rank_sum_p(&alternate(0), &alternate(1)) > 0.7);
        // Nearly the same on both sides of the limit: the exact distribution, and the normal one.
        let moved = |count: usize| (exact(count), normal_p(count, count, count * count * 3 / 10));
        let (exact, normal) = moved(19);
        assert!((exact / normal - 1.0).abs() < 0.05, "{exact} {normal}");
    }

    fn exact(count: usize) -> f64 {
        2.0 * lower_tail(count, count, count * count * 3 / 10)
    }

    #[test]
    fn equal_values_are_no_evidence() {
        near(rank_sum_p(&[1.0; 10], &[1.0; 10]), 1.0);
        near(rank_sum_p(&[], &[1.0]), 1.0);
        assert!(rank_sum_p(&[1.0, 2.0, 3.0], &[3.0, 5.0, 6.0]) > rank_sum_p(&[1.0, 2.0, 2.5], &[3.0, 5.0, 6.0]));
    }
}
