//! The step length for a line of percentiles. If a second has too few samples for a percentile (a slow system, a low rate), the line would consist of
//! fragments. Neighbouring steps are then merged, and their common value is drawn over all of them.

use loadstone_metrics::Histogram;

/// Maximum number of merged steps, as a power of two.
const DOUBLINGS_MAX: u32 = 6;
/// Minimum share of the non-empty groups that have a value.
const FILLED_MIN: f64 = 0.9;

/// A value per step. `read` returns the value of a histogram, or `None` if it has too few samples.
pub(crate) fn values(
    steps: &[&Histogram],
    quantile: f64,
    read: impl Fn(&Histogram, f64) -> Option<f64>,
) -> impl Iterator<Item = Option<f64>> {
    let group = (0..=DOUBLINGS_MAX).map(|doublings| 1usize << doublings).find(|group| is_filled(steps, *group, quantile));
    let group = group.unwrap_or(1);
    let mut drawn: Vec<Option<f64>> = Vec::with_capacity(steps.len());
    for together in steps.chunks(group) {
        let value = match together {
            [one] => read(one, quantile),
            many => read(&merged(many), quantile),
        };
        // A step without a sample remains a gap: nothing ended then.
        drawn.extend(together.iter().map(|step| value.filter(|_| !step.is_empty())));
    }
    drawn.into_iter()
}

/// Whether groups of this size have enough samples: at least one is expected beyond the quantile.
fn is_filled(steps: &[&Histogram], group: usize, quantile: f64) -> bool {
    let counts = steps.chunks(group).map(|together| together.iter().map(|step| step.count()).sum::<u64>()).filter(|count| *count > 0);
    let (mut filled, mut all) = (0, 0);
    for count in counts {
        all += 1;
        filled += u32::from(count as f64 * (1.0 - quantile) >= 1.0 - 1e-9);
    }
    f64::from(filled) >= FILLED_MIN * f64::from(all)
}

fn merged(steps: &[&Histogram]) -> Histogram {
    let mut merged = Histogram::new();
    steps.iter().for_each(|step| merged.merge(step));
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::digest::percentile;

    fn steps(counts: &[u64]) -> Vec<Histogram> {
        counts.iter().map(|count| (0..*count).fold(Histogram::new(), |mut times, _| (times.record(1_000_000), times).1)).collect()
    }

    fn drawn(counts: &[u64], quantile: f64) -> Vec<bool> {
        let steps = steps(counts);
        values(&steps.iter().collect::<Vec<_>>(), quantile, percentile).map(|value| value.is_some()).collect()
    }

    #[test]
    fn a_line_of_few_samples_is_drawn_over_several_steps_and_gaps_stay_gaps() {
        // Five a second are too few for a p90 of a second, and enough for one of two.
        assert_eq!(drawn(&[5; 6], 0.9), [true; 6]);
        assert_eq!(drawn(&[5, 5, 5, 0, 0, 0, 0, 0, 5, 5], 0.9)[3..8], [false; 5]);
        assert_eq!(drawn(&[200; 3], 0.99), [true; 3]);
        // Never enough for a p99: fragments would be no better than an empty line.
        assert_eq!(drawn(&[1; 8], 0.99), [false; 8]);
    }
}
