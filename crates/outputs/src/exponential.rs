//! Histograms with exponential buckets, as Prometheus (native histograms) and OpenTelemetry have them.
//!
//! At scale 4, bucket `i` holds values above 2^((i−1)/16) up to 2^(i/16) seconds (Prometheus' index; OpenTelemetry counts from one less), so
//! buckets are 4.4 % wide. Our own are 0.4 % wide; each goes as a whole to where its middle lies.

use std::collections::BTreeMap;

use loadstone_metrics::Histogram;

/// Buckets per power of two: 2 to this.
pub(crate) const SCALE: i32 = 4;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Exponential {
    /// Values of 0.
    pub(crate) zero: u64,
    /// Count by index as Prometheus numbers them; none is 0.
    pub(crate) buckets: BTreeMap<i32, u64>,
    pub(crate) count: u64,
    pub(crate) sum_seconds: f64,
}

impl Exponential {
    pub(crate) fn of(histogram: &Histogram) -> Self {
        let mut out = Self { count: histogram.count(), sum_seconds: histogram.sum() as f64 / 1e9, ..Self::default() };
        for (low, high, count) in histogram.bars() {
            if high == 0 {
                out.zero += count;
            } else {
                let middle_seconds = (low as f64 + (high - low) as f64 / 2.0) / 1e9;
                *out.buckets.entry(index(middle_seconds)).or_default() += count;
            }
        }
        out
    }
}

fn index(seconds: f64) -> i32 {
    (seconds.log2() * f64::from(1 << SCALE)).ceil() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_the_bucket_it_was_counted_in() {
        let mut histogram = Histogram::new();
        let values: [u64; 6] = [900, 1_000_000, 12_345_678, 1_000_000_000, 1_030_000_000, 61_000_000_000];
        for value in values {
            histogram.record(value);
        }
        histogram.record(0);
        let exponential = Exponential::of(&histogram);
        assert_eq!((exponential.zero, exponential.count), (1, 7));
        assert_eq!(exponential.buckets.values().sum::<u64>() + exponential.zero, 7);
        for value in values {
            let seconds = value as f64 / 1e9;
            let error = Histogram::RELATIVE_ERROR;
            let held =
                exponential.buckets.keys().any(|i| bounds(*i).0 * (1.0 - error) < seconds && seconds <= bounds(*i).1 * (1.0 + error));
            assert!(held, "{value}: {:?}", exponential.buckets);
        }
    }

    fn bounds(index: i32) -> (f64, f64) {
        (2f64.powf(f64::from(index - 1) / 16.0), 2f64.powf(f64::from(index) / 16.0))
    }
}
