//! The step length for a line of percentiles. If a second has too few samples for a percentile (a slow system, a low rate), the line would consist of
//! fragments. Neighbouring steps are then pooled, and each pool is one bar.

use loadstone_metrics::Histogram;

use crate::view::Pool;

/// Maximum number of merged steps, as a power of two.
const DOUBLINGS_MAX: u32 = 6;
/// Minimum share of the non-empty groups that have a value.
const FILLED_MIN: f64 = 0.9;

/// A value per step, and how the steps are pooled. `read` returns the value of a histogram, or `None` if it has too few samples.
pub(crate) fn values(
    steps: &[&Histogram],
    quantile: f64,
    step_seconds: f64,
    read: impl Fn(&Histogram, f64) -> Option<f64>,
) -> (Vec<Option<f64>>, Option<Pool>) {
    let group = (0..=DOUBLINGS_MAX).map(|doublings| 1usize << doublings).find(|group| is_filled(steps, *group, quantile));
    let group = group.unwrap_or(1);
    let mut drawn: Vec<Option<f64>> = Vec::with_capacity(steps.len());
    for together in steps.chunks(group) {
        let value = match together {
            [one] => read(one, quantile),
            many => read(&merged(many), quantile),
        };
        drawn.extend(together.iter().map(|_| value));
    }
    let samples = |together: &[&Histogram]| together.iter().map(|step| step.count()).sum();
    let pool = (group > 1).then(|| Pool { seconds: step_seconds * group as f64, samples: steps.chunks(group).map(samples).collect() });
    (drawn, pool)
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
    use proptest::prelude::*;

    use super::*;
    use crate::timeline::digest::{PERCENTILES, percentile};
    use crate::timeline::{column, percentile_column};

    fn steps(counts: &[u64]) -> Vec<Histogram> {
        counts.iter().map(|count| (0..*count).fold(Histogram::new(), |mut times, _| (times.record(1_000_000), times).1)).collect()
    }

    fn drawn(counts: &[u64], quantile: f64) -> Vec<bool> {
        let steps = steps(counts);
        values(&steps.iter().collect::<Vec<_>>(), quantile, 1.0, percentile).0.iter().map(Option::is_some).collect()
    }

    #[test]
    fn a_line_of_few_samples_is_drawn_over_several_steps_and_pools_without_samples_are_gaps() {
        // Five a second are too few for a p90 of a second, and enough for one of two.
        assert_eq!(drawn(&[5; 6], 0.9), [true; 6]);
        assert_eq!(drawn(&[5, 5, 5, 0, 0, 0, 0, 0, 5, 5], 0.9)[2..9], [true, true, false, false, false, false, true]);
        assert_eq!(drawn(&[200; 3], 0.99), [true; 3]);
        let pooled = steps(&[5, 5, 5, 5, 0, 0, 5, 5]);
        let (_, pool) = values(&pooled.iter().collect::<Vec<_>>(), 0.9, 2.0, percentile);
        assert_eq!(pool, Some(Pool { seconds: 4.0, samples: vec![10, 10, 0, 10] }));
        // Never enough for a p99: fragments would be no better than an empty line.
        assert_eq!(drawn(&[1; 8], 0.99), [false; 8]);
    }

    proptest! {
        /// With and without pooling and packing: a percentile is never above the maximum of the seconds that it covers.
        #[test]
        fn no_drawn_percentile_exceeds_the_drawn_maximum_of_its_span(
            seconds in prop::collection::vec(prop::collection::vec(1_000u64..20_000_000_000, 0..14), 1..90),
            is_packed: bool,
        ) {
            let record = |values: &Vec<u64>| values.iter().fold(Histogram::new(), |mut times, value| (times.record(*value), times).1);
            let steps: Vec<Histogram> = seconds.iter().map(record).map(|step| if is_packed { step.to_packed_within(200) } else { step }).collect();
            let steps: Vec<&Histogram> = steps.iter().collect();
            let max = column("response/max", "max", steps.iter().map(|step| (!step.is_empty()).then(|| step.max() as f64 / 1e9)));
            for (name, quantile) in PERCENTILES {
                let drawn = percentile_column(name, name, quantile, &steps, 1);
                let length = drawn.pool.as_ref().map_or(1, |pool| pool.seconds as usize);
                for (pool, values) in drawn.values.chunks(length).enumerate() {
                    let most = max.values.iter().skip(pool * length).take(length).flatten().fold(0.0, |a: f64, b| a.max(*b));
                    prop_assert!(values.iter().flatten().all(|value| *value <= most), "{name}: {values:?} above {most}");
                    prop_assert!(values.iter().all(|value| *value == values[0]), "one bar per pool");
                }
            }
        }
    }
}
