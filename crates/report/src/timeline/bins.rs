//! Logarithmic bins for the heat map and the distribution.

use metrics::Histogram;

use crate::view::HeatMap;

/// Bins whose edges lie evenly on a logarithmic axis.
#[derive(Debug)]
pub(crate) struct Bins {
    /// Ascending, one more than there are bins. Seconds.
    edges: Vec<f64>,
}

/// Bins of the heat map: ten per factor of ten, each a quarter higher than the one before.
const HEAT_PER_DECADE: i32 = 10;
/// Bins of the distribution.
const DISTRIBUTION_PER_DECADE: i32 = 25;
/// Shorter times than this share the lowest bin. Seconds.
const FLOOR: f64 = 1e-6;

impl Bins {
    /// Bins that cover all values of `times`; none when it is empty.
    fn covering(times: &Histogram, per_decade: i32) -> Self {
        if times.is_empty() {
            return Self { edges: Vec::new() };
        }
        let exponent = |ns: u64| (ns as f64 / 1e9).max(FLOOR).log10() * f64::from(per_decade);
        // A hair to each side, so that rounding of the logarithm leaves no value outside.
        let first = (exponent(times.min()) - 1e-6).floor() as i32;
        let last = ((exponent(times.max()) + 1e-6).floor() as i32 + 1).max(first + 1);
        Self { edges: (first..=last).map(|e| edge(e, per_decade)).collect() }
    }

    fn index(&self, seconds: f64) -> usize {
        self.edges.partition_point(|edge| *edge <= seconds).saturating_sub(1).min(self.edges.len().saturating_sub(2))
    }

    /// `(bin, count)` of the non-empty bins, ascending. A bucket of the histogram goes whole into the bin of its midpoint.
    fn fill(&self, times: &Histogram) -> Vec<(usize, u64)> {
        let mut filled: Vec<(usize, u64)> = Vec::new();
        for (low, high, count) in times.bars() {
            let midpoint = (low + (high - low) / 2).clamp(times.min(), times.max());
            let bin = self.index(midpoint as f64 / 1e9);
            match filled.last_mut() {
                Some((last, total)) if *last == bin => *total += count,
                _ => filled.push((bin, count)),
            }
        }
        filled
    }
}

fn edge(exponent: i32, per_decade: i32) -> f64 {
    super::round(10f64.powf(f64::from(exponent) / f64::from(per_decade)))
}

/// The heat map of the steps' response times; `all` is their sum.
pub(crate) fn heat_map<'a>(all: &Histogram, steps: impl Iterator<Item = &'a Histogram>) -> HeatMap {
    let bins = Bins::covering(all, HEAT_PER_DECADE);
    let steps = steps.map(|step| bins.fill(step).into_iter().flat_map(|(bin, count)| [bin as u64, count]).collect()).collect();
    HeatMap { edges: bins.edges, steps }
}

/// `(from seconds, to seconds, count)` of every bin between the smallest and the largest value.
pub(crate) fn distribution(all: &Histogram) -> Vec<(f64, f64, u64)> {
    let bins = Bins::covering(all, DISTRIBUTION_PER_DECADE);
    let mut bars: Vec<(f64, f64, u64)> = bins.edges.windows(2).map(|edges| (edges[0], edges[1], 0)).collect();
    bins.fill(all).into_iter().for_each(|(bin, count)| bars[bin].2 += count);
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_known_set_lands_in_known_bins() {
        let mut times = Histogram::new();
        times.record_n(1_500_000, 3);
        times.record_n(150_000_000, 2);
        let heat = heat_map(&times, std::iter::once(&times));
        assert_eq!((heat.edges[0], *heat.edges.last().unwrap()), (0.001_258_9, 0.158_49));
        assert_eq!(heat.steps, vec![vec![0, 3, 20, 2]]);
        assert_eq!(distribution(&Histogram::new()), vec![]);
    }

    proptest! {
        #[test]
        fn every_value_is_counted_once_and_within_the_edges(values in proptest::collection::vec(0u64..100_000_000_000, 1..200)) {
            let mut times = Histogram::new();
            values.iter().for_each(|value| times.record(*value));
            let bars = distribution(&times);
            prop_assert_eq!(bars.iter().map(|bar| bar.2).sum::<u64>(), values.len() as u64);
            prop_assert!(bars.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].0 < pair[0].1));
            let largest = *values.iter().max().unwrap() as f64 / 1e9;
            prop_assert!(bars.last().unwrap().1 >= largest * 0.9999);
        }
    }
}
