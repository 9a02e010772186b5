//! Histograms for transport: all histograms of a second as three columns of bytes, which compress better than their text.
//!
//! The text of a histogram has digits and commas for each used bucket. Here most buckets take two bytes. Similar numbers are stored together:
//! distances between buckets in one column, counts (nearly all of them small) in another. The encoding is lossless.

use crate::histogram::{Histogram, PackedBuckets, bounds_of, push_number, read_number};
use crate::snapshot::Snapshot;

/// Histograms in order, as columns of variable-length numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistogramColumns {
    /// For each histogram, the number of its buckets. If it has any, also its sum, and the offsets of its minimum and maximum within the first and
    /// the last bucket.
    pub heads: Vec<u8>,
    /// For each bucket, its distance from the previous one.
    pub gaps: Vec<u8>,
    pub counts: Vec<u8>,
}

impl HistogramColumns {
    fn push(&mut self, histogram: &Histogram) {
        let (mut buckets, mut first, mut last) = (0, None, 0);
        for (index, count) in histogram.buckets() {
            push_number(&mut self.gaps, (index - last) as u64);
            push_number(&mut self.counts, count);
            (buckets, first, last) = (buckets + 1, first.or(Some(index)), index);
        }
        push_number(&mut self.heads, buckets);
        if let Some(first) = first {
            push_number(&mut self.heads, u64::try_from(histogram.sum()).unwrap_or(u64::MAX));
            // The minimum and maximum of coarse buckets may lie outside.
            push_number(&mut self.heads, histogram.min().wrapping_sub(bounds_of(first).0));
            push_number(&mut self.heads, histogram.max().wrapping_sub(bounds_of(last).0));
        }
    }
}

/// The part of the columns that has not been read.
struct ColumnsLeft<'a> {
    heads: &'a [u8],
    gaps: &'a [u8],
    counts: &'a [u8],
}

impl ColumnsLeft<'_> {
    fn next(&mut self) -> Option<Histogram> {
        let buckets = read_number(&mut self.heads)?;
        if buckets == 0 {
            return Some(Histogram::new());
        }
        let sum = read_number(&mut self.heads)?;
        let (min, max) = (read_number(&mut self.heads)?, read_number(&mut self.heads)?);
        let (mut packed, mut first) = (PackedBuckets::default(), None);
        for _ in 0..buckets {
            packed.push(read_number(&mut self.gaps)?, read_number(&mut self.counts)?)?;
            first.get_or_insert(packed.index());
        }
        let (first, last) = (first?, packed.index());
        Some(packed.finish(sum, min.wrapping_add(bounds_of(first).0), max.wrapping_add(bounds_of(last).0)))
    }

    fn is_over(&self) -> bool {
        self.heads.is_empty() && self.gaps.is_empty() && self.counts.is_empty()
    }
}

impl Snapshot {
    /// Moves all histograms out of the snapshot.
    pub fn take_histograms(&mut self) -> HistogramColumns {
        let mut columns = HistogramColumns::default();
        self.each_histogram(|histogram| columns.push(&std::mem::take(histogram)));
        columns
    }

    /// Restores the histograms that were moved out. `None`: the columns do not match this snapshot, which must then be discarded.
    #[must_use]
    pub fn put_histograms(&mut self, columns: &HistogramColumns) -> Option<()> {
        let mut left = ColumnsLeft { heads: &columns.heads, gaps: &columns.gaps, counts: &columns.counts };
        let mut is_whole = true;
        self.each_histogram(|histogram| match left.next() {
            Some(theirs) => *histogram = theirs,
            None => is_whole = false,
        });
        (is_whole && left.is_over()).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SeriesKey, SeriesKind, SeriesSlice};
    use proptest::prelude::*;

    fn snapshot(values: &[u64]) -> Snapshot {
        let mut series = SeriesSlice::new(SeriesKey::new(SeriesKind::Request, "s", "r"));
        for (number, value) in values.iter().enumerate() {
            series.response.record(*value);
            series.phases.wait.record_n(value / 3, 1 + number as u64 % 200);
        }
        series.service = series.response.to_packed_within(5);
        Snapshot { series: vec![series], ..Snapshot::default() }
    }

    proptest! {
        #[test]
        fn histograms_round_trip_through_columns(values in proptest::collection::vec(any::<u64>().prop_map(|value| value >> (20 + value % 40)), 0..200)) {
            let whole = snapshot(&values);
            let mut sent = whole.clone();
            let columns = sent.take_histograms();
            prop_assert!(sent.series[0].response.is_empty());
            prop_assert_eq!(sent.put_histograms(&columns), Some(()));
            prop_assert_eq!(&sent, &whole);
        }

        #[test]
        fn invalid_columns_are_refused(
            heads in proptest::collection::vec(any::<u8>(), 0..60),
            gaps in proptest::collection::vec(any::<u8>(), 0..60),
            counts in proptest::collection::vec(any::<u8>(), 0..60)
        ) {
            // Decoding terminates with any result.
            let _ = snapshot(&[]).put_histograms(&HistogramColumns { heads, gaps, counts });
        }
    }

    #[test]
    fn columns_of_another_snapshot_are_refused() {
        let columns = snapshot(&[1, 2, 3_000]).take_histograms();
        let cut = |columns: &HistogramColumns| HistogramColumns { gaps: columns.gaps[1..].to_vec(), ..columns.clone() };
        assert_eq!(snapshot(&[]).put_histograms(&cut(&columns)), None);
        assert_eq!(Snapshot::default().put_histograms(&columns), None, "some are left over");
        let far = HistogramColumns { heads: vec![1, 0, 0, 0], gaps: vec![0xFF, 0xFF, 0xFF, 0x7F], counts: vec![1] };
        assert_eq!(snapshot(&[]).put_histograms(&far), None, "there is no such bucket");
    }
}
