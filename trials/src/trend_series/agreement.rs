//! How well the reported change points of a series agree with those of several annotators: the F1 score and the covering metric.
//!
//! Both are defined by van den Burg and Williams, "An Evaluation of Change Point Detection Algorithms" (2020, arXiv:2003.06222), in the section on
//! evaluation metrics. A change point is the index of the first value of a new segment, from 0. Every annotator and every method also has the point 0,
//! so that no set is empty.

use std::collections::BTreeSet;

/// Values by which a reported point may be off, the paper's M.
pub(super) const MARGIN: usize = 5;

/// The change points of one annotator.
pub(super) type Labels = Vec<usize>;

/// F1 = 2PR / (P + R).
///
/// Precision P = |TP(T*, X)| / |X|: T* is the union of all annotators' points, and X the reported ones. Recall R = (1/K) Σ |TP(T_k, X)| / |T_k|: the mean
/// over the K annotators. TP(T, X) is defined at [`matched`].
pub(super) fn f1(annotators: &[Labels], reported: &[usize]) -> f64 {
    let found = with_start(reported);
    let precision = matched(&union(annotators), &found) as f64 / found.len() as f64;
    let recalls = annotators.iter().map(|labels| {
        let labels = with_start(labels);
        matched(&labels, &found) as f64 / labels.len() as f64
    });
    let recall = recalls.sum::<f64>() / annotators.len() as f64;
    2.0 * precision * recall / (precision + recall)
}

/// Reported points that match a point of any annotator, without the point 0.
pub(super) fn right(annotators: &[Labels], reported: &[usize]) -> usize {
    matched(&union(annotators), &with_start(reported)) - 1
}

/// |TP(T, X)|: labels within [`MARGIN`] of a reported point, where each reported point counts for one label only. The paper leaves the order open; here it is
/// from left to right, and the nearest point counts.
fn matched(labels: &BTreeSet<usize>, found: &BTreeSet<usize>) -> usize {
    let mut free = found.clone();
    let near = |free: &BTreeSet<usize>, label: usize| {
        let within = free.range(label.saturating_sub(MARGIN)..=label + MARGIN);
        within.copied().min_by_key(|point| point.abs_diff(label))
    };
    labels.iter().filter(|label| near(&free, **label).is_some_and(|point| free.remove(&point))).count()
}

fn union(annotators: &[Labels]) -> BTreeSet<usize> {
    with_start(&annotators.concat())
}

fn with_start(points: &[usize]) -> BTreeSet<usize> {
    points.iter().copied().chain([0]).collect()
}

/// The mean over the annotators of C(G_k, G), where G_k and G are the segments of an annotator and of the method.
///
/// C(G_k, G) = (1/n) Σ |A| max J(A, B), summed over the segments A of G_k, with the maximum over the segments B of G. J is Jaccard's index, |A ∩ B| / |A ∪ B|.
pub(super) fn covering(annotators: &[Labels], reported: &[usize], count: usize) -> f64 {
    let found = segments(reported, count);
    let one = |labels: &Labels| {
        let covered = segments(labels, count).into_iter().map(|segment| {
            let best = found.iter().map(|other| jaccard(segment, *other)).fold(0.0, f64::max);
            (segment.1 - segment.0) as f64 * best
        });
        covered.sum::<f64>() / count as f64
    };
    annotators.iter().map(one).sum::<f64>() / annotators.len() as f64
}

/// From the first value of each segment to the first after it.
pub(super) fn segments(points: &[usize], count: usize) -> Vec<(usize, usize)> {
    let starts: Vec<usize> = with_start(points).into_iter().filter(|start| *start < count).collect();
    let ends = starts.iter().copied().skip(1).chain([count]);
    starts.iter().copied().zip(ends).collect()
}

fn jaccard(a: (usize, usize), b: (usize, usize)) -> f64 {
    let common = a.1.min(b.1).saturating_sub(a.0.max(b.0));
    common as f64 / (a.1 - a.0 + b.1 - b.0 - common) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value} instead of {expected}");
    }

    #[test]
    fn f1_is_as_computed_by_hand() {
        let annotators = [vec![30], vec![], vec![32, 60]];
        // X = {0, 33, 90}, T* = {0, 30, 32, 60}: 33 matches 30, and then 32 has none. P = 2/3, R = (2/2 + 1/1 + 2/3)/3 = 8/9.
        near(f1(&annotators, &[33, 90]), 2.0 * (2.0 / 3.0) * (8.0 / 9.0) / (2.0 / 3.0 + 8.0 / 9.0));
        assert_eq!(right(&annotators, &[33, 90]), 1);
        // X = {0}: P = 1, R = (1/2 + 1 + 1/3)/3 = 11/18.
        near(f1(&annotators, &[]), 2.0 * (11.0 / 18.0) / (1.0 + 11.0 / 18.0));
        near(f1(&[vec![30], vec![30]], &[30]), 1.0);
    }

    #[test]
    fn the_margin_is_five_values() {
        assert_eq!(right(&[vec![30]], &[35]), 1);
        assert_eq!(right(&[vec![30]], &[36]), 0);
        assert_eq!(right(&[vec![30]], &[25, 29]), 1, "one label, one point");
        assert_eq!(right(&[vec![3]], &[]), 0, "the point 0 belongs to itself");
    }

    #[test]
    fn covering_is_as_computed_by_hand() {
        // Segments of ten values: {0–3, 4–9} by an annotator, {0–5, 6–9} by the method. J = 4/6 and 4/6, the latter for 4–9 with 6–9.
        near(covering(&[vec![4]], &[6], 10), (4.0 * 4.0 / 6.0 + 6.0 * 4.0 / 6.0) / 10.0);
        // The second annotator has one segment: J = 6/10.
        near(covering(&[vec![4], vec![]], &[6], 10), (2.0 / 3.0 + 0.6) / 2.0);
        near(covering(&[vec![4]], &[], 10), (4.0 * 0.4 + 6.0 * 0.6) / 10.0);
        near(covering(&[vec![0, 4]], &[4], 10), 1.0);
    }
}
