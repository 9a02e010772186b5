//! Logarithmic bins for the heat map and the distribution.

use loadstone_metrics::Histogram;

use crate::view::HeatMap;

/// Bins of the heat map: ten per factor of ten, each about a quarter higher than the previous one.
pub(crate) const HEAT_PER_DECADE: i32 = 10;
/// Bins of the distribution.
const DISTRIBUTION_PER_DECADE: i32 = 25;
/// Shorter times than this share the lowest bin. Seconds.
const FLOOR: f64 = 1e-6;

/// `(bin, count)` of the non-empty bins, ascending. Bin *b* reaches from 10^(*b*/`per_decade`) seconds to the start of the next one. A whole bucket
/// of the histogram goes into the bin of its midpoint.
pub(crate) fn counts(times: &Histogram, per_decade: i32) -> Vec<(i32, u64)> {
    let mut filled: Vec<(i32, u64)> = Vec::new();
    for (low, high, count) in times.bars() {
        let midpoint = (low + (high - low) / 2).clamp(times.min(), times.max());
        let bin = bin_of(midpoint, per_decade);
        match filled.last_mut() {
            Some((last, total)) if *last == bin => *total += count,
            _ => filled.push((bin, count)),
        }
    }
    filled
}

fn bin_of(ns: u64, per_decade: i32) -> i32 {
    let exponent = (ns as f64 / 1e9).max(FLOOR).log10() * f64::from(per_decade);
    // Slightly larger, so that a value on an edge is above it despite rounding of the logarithm.
    (exponent + 1e-9).floor() as i32
}

fn edge(bin: i32, per_decade: i32) -> f64 {
    super::round(10f64.powf(f64::from(bin) / f64::from(per_decade)))
}

/// First and last bin with a count.
fn range(counts: &[(i32, u64)]) -> Option<(i32, i32)> {
    Some((counts.first()?.0, counts.last()?.0))
}

/// The heat map of steps whose counts use [`HEAT_PER_DECADE`].
pub(crate) fn heat_map<'a>(steps: impl Iterator<Item = &'a [(i32, u64)]> + Clone) -> HeatMap {
    let reach = |(a, b): (i32, i32), (c, d): (i32, i32)| (a.min(c), b.max(d));
    let Some((first, last)) = steps.clone().filter_map(range).reduce(reach) else {
        return HeatMap { edges: Vec::new(), steps: steps.map(|_| Vec::new()).collect() };
    };
    let from_first = |counts: &[(i32, u64)]| counts.iter().flat_map(|(bin, count)| [(bin - first) as u64, *count]).collect();
    HeatMap { edges: (first..=last + 1).map(|bin| edge(bin, HEAT_PER_DECADE)).collect(), steps: steps.map(from_first).collect() }
}

/// `(from seconds, to seconds, count)` of every bin between the smallest and the largest value.
pub(crate) fn distribution(all: &Histogram) -> Vec<(f64, f64, u64)> {
    let counts = counts(all, DISTRIBUTION_PER_DECADE);
    let Some((first, last)) = range(&counts) else { return Vec::new() };
    let bar = |bin| (edge(bin, DISTRIBUTION_PER_DECADE), edge(bin + 1, DISTRIBUTION_PER_DECADE), 0);
    let mut bars: Vec<(f64, f64, u64)> = (first..=last).map(bar).collect();
    counts.into_iter().for_each(|(bin, count)| bars[(bin - first) as usize].2 += count);
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
        let counts = counts(&times, HEAT_PER_DECADE);
        let heat = heat_map(std::iter::once(counts.as_slice()));
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
            // A value is read back as the midpoint of its bucket, which may be lower by the error of the histogram.
            prop_assert!(bars.last().unwrap().1 >= largest * (1.0 - Histogram::RELATIVE_ERROR) * 0.9999);
        }
    }
}
