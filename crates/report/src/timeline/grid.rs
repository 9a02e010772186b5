//! Lines of percentiles. If a second has too few samples for a percentile (a slow system, a low rate), the line would consist of fragments. Neighbouring
//! steps are then pooled until they have enough, and each pool is one bar: short where much ends, long where little does.

use std::ops::Range;

use loadstone_metrics::Histogram;

use super::digest::percentile;
use crate::view::Pool;

/// Minimum number of steps without samples that interrupt a line, and how many times the usual distance between two steps with samples they must be.
const PAUSE_STEPS_MIN: usize = 3;
const PAUSE_DISTANCES: usize = 3;

/// One percentile over time.
pub(crate) struct PooledLine {
    quantile: f64,
    /// Steps that are merged for each value. They cover all steps.
    pools: Vec<Range<usize>>,
    /// One value per step.
    pub(crate) values: Vec<Option<f64>>,
}

impl PooledLine {
    fn of(steps: &[&Histogram], quantile: f64, pools: Vec<Range<usize>>) -> Self {
        let mut line = Self { quantile, pools: Vec::new(), values: vec![None; steps.len()] };
        pools.iter().for_each(|pool| line.fill(steps, pool.clone()));
        line.pools = pools;
        line
    }

    fn fill(&mut self, steps: &[&Histogram], pool: Range<usize>) {
        let value = match &steps[pool.clone()] {
            [one] => percentile(one, self.quantile),
            many => percentile(&merged(many), self.quantile),
        };
        self.values[pool].fill(value);
    }

    /// Length and samples of each pool; `None` if every step has its own value.
    pub(crate) fn pools(&self, steps: &[&Histogram], step_seconds: f64) -> Option<Vec<Pool>> {
        let pool = |range: &Range<usize>| Pool {
            seconds: step_seconds * range.len() as f64,
            samples: steps[range.clone()].iter().map(|step| step.count()).sum(),
        };
        (!is_single(&self.pools)).then(|| self.pools.iter().map(pool).collect())
    }

    fn pool_at(&self, step: usize) -> Range<usize> {
        self.pools[self.pools.partition_point(|pool| pool.end <= step)].clone()
    }

    /// Makes one pool of a range that no pool of the line crosses.
    fn unite(&mut self, steps: &[&Histogram], range: Range<usize>) {
        self.fill(steps, range.clone());
        let first = self.pools.partition_point(|pool| pool.end <= range.start);
        let end = self.pools.partition_point(|pool| pool.start < range.end);
        self.pools.splice(first..end, [range]);
    }
}

/// Percentiles in ascending order of rank. Each pools as few steps as it can. Where a lower rank would be drawn above a higher one, because their pools
/// differ, both have the same pool. `known`: the values of single steps, if they were read before.
pub(crate) fn lines(steps: &[&Histogram], quantiles: &[f64], known: impl Fn(usize) -> Option<Vec<Option<f64>>>) -> Vec<PooledLine> {
    let pause = pause_steps(steps);
    let line = |(index, quantile): (usize, &f64)| {
        let pools = pools(steps, *quantile, pause);
        match known(index).filter(|_| is_single(&pools)) {
            Some(values) => PooledLine { quantile: *quantile, pools, values },
            None => PooledLine::of(steps, *quantile, pools),
        }
    };
    let mut drawn: Vec<PooledLine> = quantiles.iter().enumerate().map(line).collect();
    // Equal pools have percentiles in order. Each turn lessens the number of pools, so this ends.
    while let Some((low, high, step)) = first_crossing(&drawn) {
        let range = united(&drawn[low], &drawn[high], step);
        drawn[low].unite(steps, range.clone());
        drawn[high].unite(steps, range);
    }
    drawn
}

/// The shortest pools with enough samples: at least one is expected beyond the quantile. What is left before a pause joins the pool before it.
fn pools(steps: &[&Histogram], quantile: f64, pause: usize) -> Vec<Range<usize>> {
    let is_enough = |count: u64| count as f64 * (1.0 - quantile) >= 1.0 - 1e-9;
    let mut pools: Vec<Range<usize>> = Vec::new();
    let mut open: Option<Range<usize>> = None;
    // Whether the last pool has enough samples and no pause after it.
    let mut joins = false;
    let mut step = 0;
    while step < steps.len() {
        let empty = steps[step..].iter().take_while(|each| each.is_empty()).count();
        if empty >= pause || step + empty == steps.len() || (step == 0 && empty > 0) {
            close(&mut pools, open.take(), joins);
            pools.extend((step..step + empty).map(|each| each..each + 1));
            (joins, step) = (false, step + empty);
            continue;
        }
        let pool = open.take().map_or(step..step + empty + 1, |pool| pool.start..step + empty + 1);
        step = pool.end;
        if is_enough(steps[pool.clone()].iter().map(|each| each.count()).sum()) {
            pools.push(pool);
            joins = true;
        } else {
            open = Some(pool);
        }
    }
    close(&mut pools, open, joins);
    pools
}

fn close(pools: &mut Vec<Range<usize>>, rest: Option<Range<usize>>, joins: bool) {
    let Some(rest) = rest else { return };
    match pools.last_mut().filter(|_| joins) {
        Some(last) => last.end = rest.end,
        None => pools.push(rest),
    }
}

/// How many steps without samples interrupt a line.
fn pause_steps(steps: &[&Histogram]) -> usize {
    let filled: Vec<usize> = (0..steps.len()).filter(|step| !steps[*step].is_empty()).collect();
    let mut distances: Vec<usize> = filled.windows(2).map(|pair| pair[1] - pair[0]).collect();
    distances.sort_unstable();
    let usual = distances.get(distances.len() / 2).copied().unwrap_or(1);
    PAUSE_STEPS_MIN.max(PAUSE_DISTANCES * usual)
}

fn is_single(pools: &[Range<usize>]) -> bool {
    pools.iter().all(|pool| pool.len() == 1)
}

/// Two lines of different pools, the lower rank first, and a step in which they are drawn in the wrong order.
fn first_crossing(drawn: &[PooledLine]) -> Option<(usize, usize, usize)> {
    let mut pairs = (0..drawn.len()).flat_map(|low| (low + 1..drawn.len()).map(move |high| (low, high)));
    pairs.find_map(|(low, high)| {
        let values = drawn[low].values.iter().zip(&drawn[high].values);
        let mut above = values.enumerate().filter(|(_, (low, high))| low.zip(**high).is_some_and(|(low, high)| low > high));
        let step = above.find(|(step, _)| drawn[low].pool_at(*step) != drawn[high].pool_at(*step))?.0;
        Some((low, high, step))
    })
}

/// The shortest range around a step that no pool of either line crosses.
fn united(one: &PooledLine, other: &PooledLine, step: usize) -> Range<usize> {
    let mut range = step..step + 1;
    loop {
        let ends = [one, other].map(|line| line.pool_at(range.start).start..line.pool_at(range.end - 1).end);
        let wider = ends[0].start.min(ends[1].start)..ends[0].end.max(ends[1].end);
        if wider == range {
            return range;
        }
        range = wider;
    }
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
        assert_eq!(drawn(&[5, 5, 5, 0, 0, 0, 0, 0, 5, 5], 0.9)[2..9], [true, false, false, false, false, false, true]);
        // A request every third second: its usual distance is no pause.
        assert_eq!(drawn(&[0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0], 0.5), [vec![false], vec![true; 10], vec![false; 3]].concat());
        assert_eq!(drawn(&[200; 3], 0.99), [true; 3]);
        let pooled = steps(&[5, 5, 5, 5, 0, 0, 5, 5]);
        let pooled: Vec<&Histogram> = pooled.iter().collect();
        let pool = |seconds| Pool { seconds, samples: 10 };
        assert_eq!(lines(&pooled, &[0.9], |_| None)[0].pools(&pooled, 2.0), Some(vec![pool(4.0), pool(4.0), pool(8.0)]));
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
        assert_eq!(lengths(&drawn), [[2], [2]]);
        assert!(drawn[0].values.iter().zip(&drawn[1].values).all(|(median, p95)| median <= p95));
        // Without a crossing, each rank has the shortest pool that it can have.
        let steady = [record(&[1_000_000; 8]), record(&[1_000_000; 8]), record(&[1_000_000; 8]), record(&[1_000_000; 8])];
        let drawn = lines(&steady.iter().collect::<Vec<_>>(), &[0.5, 0.95], |_| None);
        assert_eq!(lengths(&drawn), [vec![1; 4], vec![4]]);
    }

    fn lengths(drawn: &[PooledLine]) -> Vec<Vec<usize>> {
        drawn.iter().map(|line| line.pools.iter().map(Range::len).collect()).collect()
    }

    /// A ramp from a request per second, whose last seconds have little: most of it has a bar per second, and the rise is visible.
    #[test]
    fn a_ramp_has_long_pools_only_where_little_ends() {
        let second = |(count, time): (u64, u64)| (0..count).fold(Histogram::new(), |mut all, _| (all.record(time * 1_000_000), all).1);
        let steps: Vec<Histogram> = (1..=30).map(|number| (number, number * 10)).chain([(1, 400), (1, 500)]).map(second).collect();
        let steps: Vec<&Histogram> = steps.iter().collect();
        let drawn = lines(&steps, &[0.5, 0.95], |_| None);
        for (line, first) in lengths(&drawn).iter().zip([2, 6]) {
            assert!(line[0] >= first && line[8..line.len() - 1].iter().all(|length| *length == 1), "{line:?}");
        }
        assert!(drawn[0].values[29] > Some(0.25), "{:?}", drawn[0].values);
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
                let single = vec![Pool { seconds: 1.0, samples: 0 }; steps.len()];
                let mut from = 0;
                for pool in drawn.pools.as_ref().unwrap_or(&single) {
                    let range = from..from + pool.seconds as usize;
                    let most = max.values[range.clone()].iter().flatten().fold(0.0, |a: f64, b| a.max(*b));
                    let values = &drawn.values[range.clone()];
                    prop_assert!(values.iter().flatten().all(|value| *value <= most), "{}: {values:?} above {most}", drawn.label);
                    prop_assert!(values.iter().all(|value| *value == values[0]), "one bar per pool");
                    from = range.end;
                }
                prop_assert_eq!(from, steps.len());
            }
        }
    }
}
