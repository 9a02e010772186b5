//! The step length for a line of percentiles. If a second has too few samples for a percentile (a slow system, a low rate), the line would consist of
//! fragments. Neighbouring steps are then pooled, and each pool is one bar.

use loadstone_metrics::Histogram;

use super::digest::percentile;
use crate::view::Pool;

/// Maximum number of merged steps, as a power of two.
const DOUBLINGS_MAX: u32 = 6;
/// Minimum share of the non-empty groups that have a value.
const FILLED_MIN: f64 = 0.9;

/// One percentile over time.
pub(crate) struct PooledLine {
    quantile: f64,
    /// Steps that are merged for each value.
    group: usize,
    /// One value per step.
    pub(crate) values: Vec<Option<f64>>,
}

impl PooledLine {
    fn of(steps: &[&Histogram], quantile: f64, group: usize) -> Self {
        let mut values: Vec<Option<f64>> = Vec::with_capacity(steps.len());
        for together in steps.chunks(group) {
            let value = match together {
                [one] => percentile(one, quantile),
                many => percentile(&merged(many), quantile),
            };
            values.extend(together.iter().map(|_| value));
        }
        Self { quantile, group, values }
    }

    pub(crate) fn pool(&self, steps: &[&Histogram], step_seconds: f64) -> Option<Pool> {
        let samples = |together: &[&Histogram]| together.iter().map(|step| step.count()).sum();
        (self.group > 1)
            .then(|| Pool { seconds: step_seconds * self.group as f64, samples: steps.chunks(self.group).map(samples).collect() })
    }

    fn is_above(&self, higher: &PooledLine) -> bool {
        self.values.iter().zip(&higher.values).any(|(mine, theirs)| mine.zip(*theirs).is_some_and(|(mine, theirs)| mine > theirs))
    }
}

/// Percentiles in ascending order of rank. Each pools as few steps as it can. A step in which a lower rank would be drawn above a higher one, because their
/// pools differ, gives both the longer pool. `known`: the values of single steps, if they were read before.
pub(crate) fn lines(steps: &[&Histogram], quantiles: &[f64], known: impl Fn(usize) -> Option<Vec<Option<f64>>>) -> Vec<PooledLine> {
    let line = |(index, quantile): (usize, &f64)| {
        let group = (0..=DOUBLINGS_MAX).map(|doublings| 1usize << doublings).find(|group| is_filled(steps, *group, *quantile)).unwrap_or(1);
        match known(index).filter(|_| group == 1) {
            Some(values) => PooledLine { quantile: *quantile, group, values },
            None => PooledLine::of(steps, *quantile, group),
        }
    };
    let mut drawn: Vec<PooledLine> = quantiles.iter().enumerate().map(line).collect();
    // Equal pools have percentiles in order. Each turn lengthens a pool, so this ends.
    while let Some((low, high)) = first_crossing(&drawn) {
        let group = drawn[low].group.max(drawn[high].group);
        for index in [low, high] {
            if drawn[index].group < group {
                drawn[index] = PooledLine::of(steps, drawn[index].quantile, group);
            }
        }
    }
    drawn
}

/// Two lines of different pools, the lower rank first, that are drawn in the wrong order somewhere.
fn first_crossing(drawn: &[PooledLine]) -> Option<(usize, usize)> {
    let pairs = (0..drawn.len()).flat_map(|low| (low + 1..drawn.len()).map(move |high| (low, high)));
    pairs.into_iter().find(|(low, high)| drawn[*low].group != drawn[*high].group && drawn[*low].is_above(&drawn[*high]))
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
    use crate::timeline::digest::PERCENTILES;
    use crate::timeline::{column, percentile_columns};

    fn steps(counts: &[u64]) -> Vec<Histogram> {
        counts.iter().map(|count| (0..*count).fold(Histogram::new(), |mut times, _| (times.record(1_000_000), times).1)).collect()
    }

    fn drawn(counts: &[u64], quantile: f64) -> Vec<bool> {
        let steps = steps(counts);
        lines(&steps.iter().collect::<Vec<_>>(), &[quantile], |_| None)[0].values.iter().map(Option::is_some).collect()
    }

    #[test]
    fn a_line_of_few_samples_is_drawn_over_several_steps_and_pools_without_samples_are_gaps() {
        // Five a second are too few for a p90 of a second, and enough for one of two.
        assert_eq!(drawn(&[5; 6], 0.9), [true; 6]);
        assert_eq!(drawn(&[5, 5, 5, 0, 0, 0, 0, 0, 5, 5], 0.9)[2..9], [true, true, false, false, false, false, true]);
        assert_eq!(drawn(&[200; 3], 0.99), [true; 3]);
        let pooled = steps(&[5, 5, 5, 5, 0, 0, 5, 5]);
        let pooled: Vec<&Histogram> = pooled.iter().collect();
        assert_eq!(lines(&pooled, &[0.9], |_| None)[0].pool(&pooled, 2.0), Some(Pool { seconds: 4.0, samples: vec![10, 10, 0, 10] }));
        // Never enough for a p99: fragments would be no better than an empty line.
        assert_eq!(drawn(&[1; 8], 0.99), [false; 8]);
    }

    #[test]
    fn a_median_that_would_exceed_the_pooled_p95_has_the_same_pool() {
        // A run of one second whose last requests end late: the second step alone has too few samples for a p95.
        let record = |times: &[u64]| times.iter().fold(Histogram::new(), |mut all, time| (all.record(*time), all).1);
        let steps = [record(&[1_000_000; 200]), record(&[50_000_000; 4])];
        let steps: Vec<&Histogram> = steps.iter().collect();
        let drawn = lines(&steps, &[0.5, 0.95], |_| None);
        assert_eq!(drawn.iter().map(|line| line.group).collect::<Vec<_>>(), [2, 2]);
        assert!(drawn[0].values.iter().zip(&drawn[1].values).all(|(median, p95)| median <= p95));
        // Without a crossing, each rank has the shortest pool that it can have.
        let steady = [record(&[1_000_000; 8]), record(&[1_000_000; 8]), record(&[1_000_000; 8]), record(&[1_000_000; 8])];
        let drawn = lines(&steady.iter().collect::<Vec<_>>(), &[0.5, 0.95], |_| None);
        assert_eq!(drawn.iter().map(|line| line.group).collect::<Vec<_>>(), [1, 4]);
    }

    proptest! {
        /// With and without pooling and packing: a percentile is never above the maximum of the seconds that it covers, nor above a higher rank.
        #[test]
        fn no_drawn_percentile_exceeds_the_drawn_maximum_of_its_span(
            seconds in prop::collection::vec(prop::collection::vec(1_000u64..20_000_000_000, 0..14), 1..90),
            is_packed: bool,
        ) {
            let record = |values: &Vec<u64>| values.iter().fold(Histogram::new(), |mut times, value| (times.record(*value), times).1);
            let steps: Vec<Histogram> = seconds.iter().map(record).map(|step| if is_packed { step.to_packed_within(200) } else { step }).collect();
            let steps: Vec<&Histogram> = steps.iter().collect();
            let max = column("response/max", "max", steps.iter().map(|step| (!step.is_empty()).then(|| step.max() as f64 / 1e9)));
            let columns = percentile_columns("response", &PERCENTILES, &steps, 1, |_| None);
            for (rank, lower) in columns.iter().enumerate() {
                for higher in &columns[rank + 1..] {
                    let both = lower.values.iter().zip(&higher.values).filter_map(|(a, b)| a.zip(*b));
                    prop_assert!(both.clone().all(|(a, b)| a <= b), "{} above {}", lower.label, higher.label);
                }
            }
            for drawn in columns {
                let length = drawn.pool.as_ref().map_or(1, |pool| pool.seconds as usize);
                for (pool, values) in drawn.values.chunks(length).enumerate() {
                    let most = max.values.iter().skip(pool * length).take(length).flatten().fold(0.0, |a: f64, b| a.max(*b));
                    prop_assert!(values.iter().flatten().all(|value| *value <= most), "{}: {values:?} above {most}", drawn.label);
                    prop_assert!(values.iter().all(|value| *value == values[0]), "one bar per pool");
                }
            }
        }
    }
}
