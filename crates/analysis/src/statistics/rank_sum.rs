//! The rank-sum test: whether one of two samples tends to have the larger values, whatever their distribution.
//!
//! Wilcoxon, "Individual comparisons by ranking methods", Biometrics 1945; Mann and Whitney, "On a test of whether one of two random
//! variables is stochastically larger than the other", Annals of Mathematical Statistics 1947. The distribution under "no difference" is
//! exact, so a few values are enough.

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
    (2.0 * lower_tail(a.len(), b.len(), against)).min(1.0)
}

/// The probability that at most `most` of the pairs of two samples of these sizes are in the wrong order. Counts the arrangements by the
/// recurrence of Mann and Whitney: the largest value is either of the first sample, and then exceeds all of the second, or of the second.
fn lower_tail(first: usize, second: usize, most: usize) -> f64 {
    let pairs = first * second;
    // `ways[m][u]`: arrangements of m values of the first sample with n of the second that have u pairs in the wrong order.
    let mut ways = vec![vec![0.0; pairs + 1]; first + 1];
    ways.iter_mut().for_each(|row| row[0] = 1.0);
    for n in 1..=second {
        for m in 1..=first {
            let (before, after) = ways.split_at_mut(m);
            for (u, fewer) in (n..=pairs).zip(&before[m - 1]) {
                after[0][u] += fewer;
            }
        }
    }
    let all: f64 = ways[first].iter().sum();
    ways[first][..=most.min(pairs)].iter().sum::<f64>() / all
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
    }

    #[test]
    fn equal_values_are_no_evidence() {
        near(rank_sum_p(&[1.0; 10], &[1.0; 10]), 1.0);
        near(rank_sum_p(&[], &[1.0]), 1.0);
        assert!(rank_sum_p(&[1.0, 2.0, 3.0], &[3.0, 5.0, 6.0]) > rank_sum_p(&[1.0, 2.0, 2.5], &[3.0, 5.0, 6.0]));
    }
}
