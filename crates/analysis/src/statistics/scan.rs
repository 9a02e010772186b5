//! The stretch of a series in which a share differs most from the rest.

/// Hits and all, added up.
pub(crate) fn sum_of_counts<'a>(parts: impl IntoIterator<Item = &'a (u64, u64)>) -> (u64, u64) {
    parts.into_iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
}

/// The stretch `from..to` of parts, each `(hits, all)`, for which the counts are likeliest if the stretch has one share and the rest another. This is the scan
/// statistic for counts (Kulldorff, "A spatial scan statistic", 1997). The first value is the gain in log likelihood over one share throughout. Only stretches
/// whose share is at least `times_the_rest` times the share outside of them count. `None` where there is none.
///
/// A stretch with an end inside on either side must gain ln n more than one that begins or ends with the series, since there are n times as many of them.
pub(crate) fn likeliest_stretch(parts: &[(u64, u64)], times_the_rest: f64) -> Option<(f64, (usize, usize))> {
    let all = sum_of_counts(parts);
    let alone = log_likelihood(all);
    let sums: Vec<(u64, u64)> = std::iter::once((0, 0)).chain((1..=parts.len()).map(|to| sum_of_counts(&parts[..to]))).collect();
    // Parts without counts belong to neither end.
    let last = parts.iter().rposition(|part| part.1 > 0)? + 1;
    let first = parts.iter().position(|part| part.1 > 0)?;
    let mut best: Option<(f64, (usize, usize))> = None;
    for from in first..last {
        for to in from + 1..=last {
            let inside = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
            let outside = (all.0 - inside.0, all.1 - inside.1);
            if outside.1 == 0 || share(inside) < times_the_rest * share(outside) {
                continue;
            }
            let ends = if from > first && to < last { (parts.len() as f64).ln() } else { 0.0 };
            let gain = log_likelihood(inside) + log_likelihood(outside) - alone - ends;
            if best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, (from, to)));
            }
        }
    }
    let (gain, (from, to)) = best?;
    Some((gain, (if from == first { 0 } else { from }, if to == last { parts.len() } else { to })))
}

fn share((hits, all): (u64, u64)) -> f64 {
    hits as f64 / all.max(1) as f64
}

/// Of so many hits at their own share.
fn log_likelihood((hits, all): (u64, u64)) -> f64 {
    let part = |count: u64| if count == 0 { 0.0 } else { count as f64 * (count as f64 / all as f64).ln() };
    part(hits) + part(all - hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stretch_that_differs_is_found_where_it_is() {
        let parts: Vec<(u64, u64)> = (0..40).map(|n| if (12..20).contains(&n) { (5, 10) } else { (0, 10) }).collect();
        let (gain, stretch) = likeliest_stretch(&parts, 3.0).unwrap();
        assert_eq!(stretch, (12, 20));
        // By hand: 80 counts at one half, less 400 at one tenth, less ln 40 for the two ends inside.
        let by_hand = 80.0 * 0.5_f64.ln() - (40.0 * 0.1_f64.ln() + 360.0 * 0.9_f64.ln()) - 40.0_f64.ln();
        assert!((gain - by_hand).abs() < 1e-9, "{gain} {by_hand}");
    }

    #[test]
    fn empty_parts_belong_to_the_stretch_that_reaches_them() {
        let parts = [(0, 0), (0, 10), (0, 10), (9, 10), (9, 10), (0, 0)];
        assert_eq!(likeliest_stretch(&parts, 3.0).unwrap().1, (3, 6));
        assert_eq!(likeliest_stretch(&[(0, 0); 5], 3.0), None);
        // Everywhere alike: no stretch has three times the share of the rest.
        assert_eq!(likeliest_stretch(&[(1, 10); 6], 3.0), None);
    }
}
