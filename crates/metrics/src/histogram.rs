//! A mergeable histogram of nanosecond values with a bounded relative error.
//!
//! Base-2 buckets ("H2"): values below 2⁹ have a bucket each; above, every power of two is divided into 2⁸ equal buckets. A value therefore lies
//! within 2⁻⁹ (0.2 %) of its bucket's midpoint. Chunks of 256 buckets are allocated when first used, so a typical request series costs a few
//! kilobytes, and recording is a shift and an add. A histogram that is only stored is packed: two or three bytes for each used bucket.

use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// log2 of the buckets per power of two.
const BUCKETS_PER_OCTAVE_LOG2: u32 = 8;
const CHUNK_BUCKETS: usize = 1 << BUCKETS_PER_OCTAVE_LOG2;
/// Packed size up to which other histograms are merged without unpacking: half of the size of one chunk.
const PACKED_BYTES_MAX: usize = 1024;

/// Counts of nanosecond values. Merging adds counts and loses nothing.
#[derive(Clone, Default)]
pub struct Histogram {
    /// Counts by bucket. Empty while packed.
    chunks: Vec<Option<Box<[u64; CHUNK_BUCKETS]>>>,
    /// Non-empty buckets as pairs of variable-length numbers (distance from the previous bucket, count). Empty while not packed.
    packed: Box<[u8]>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

fn index_of(value: u64) -> usize {
    if value < 2 << BUCKETS_PER_OCTAVE_LOG2 {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - BUCKETS_PER_OCTAVE_LOG2;
    ((shift as usize) << BUCKETS_PER_OCTAVE_LOG2) + (value >> shift) as usize
}

/// Lowest and highest value of a bucket.
pub(crate) fn bounds_of(index: usize) -> (u64, u64) {
    if index < 2 << BUCKETS_PER_OCTAVE_LOG2 {
        return (index as u64, index as u64);
    }
    let shift = (index >> BUCKETS_PER_OCTAVE_LOG2) as u32 - 1;
    let low = ((index & (CHUNK_BUCKETS - 1)) as u64 + CHUNK_BUCKETS as u64) << shift;
    (low, low + ((1u64 << shift) - 1))
}

impl Histogram {
    /// Largest relative distance between a recorded value and the value read back for it.
    pub const RELATIVE_ERROR: f64 = 1.0 / (2 << BUCKETS_PER_OCTAVE_LOG2) as f64;

    pub fn new() -> Self {
        Self::default()
    }

    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        self.unpack();
        self.add(index_of(value_ns), count);
        if self.count == 0 || value_ns < self.min {
            self.min = value_ns;
        }
        self.max = self.max.max(value_ns);
        self.count += count;
        self.sum += u128::from(value_ns) * u128::from(count);
    }

    fn add(&mut self, index: usize, count: u64) {
        let chunk = index >> BUCKETS_PER_OCTAVE_LOG2;
        if chunk >= self.chunks.len() {
            self.chunks.resize_with(chunk + 1, || None);
        }
        self.chunks[chunk].get_or_insert_with(|| Box::new([0; CHUNK_BUCKETS]))[index & (CHUNK_BUCKETS - 1)] += count;
    }

    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        if self.packed.is_empty() {
            self.add_dense(other);
        } else {
            self.add_packed(other);
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
    }

    fn add_dense(&mut self, other: &Histogram) {
        for (index, count) in Unpacking::new(&other.packed) {
            self.add(index, count);
        }
        if other.chunks.len() > self.chunks.len() {
            self.chunks.resize_with(other.chunks.len(), || None);
        }
        for (mine, theirs) in self.chunks.iter_mut().zip(&other.chunks) {
            if let Some(theirs) = theirs {
                let mine = mine.get_or_insert_with(|| Box::new([0; CHUNK_BUCKETS]));
                for (a, b) in mine.iter_mut().zip(theirs.iter()) {
                    *a += b;
                }
            }
        }
    }

    /// Merges into a packed histogram, which stays packed while it is small.
    fn add_packed(&mut self, other: &Histogram) {
        let mut sum = Packing { bytes: Vec::with_capacity(PACKED_BYTES_MAX), last: 0 };
        let mut theirs = other.buckets().peekable();
        for (index, count) in Unpacking::new(&self.packed) {
            while let Some((before, count)) = theirs.next_if(|(theirs, _)| *theirs < index) {
                sum.push(before, count);
            }
            let same = theirs.next_if(|(theirs, _)| *theirs == index).map_or(0, |(_, count)| count);
            sum.push(index, count + same);
        }
        theirs.for_each(|(index, count)| sum.push(index, count));
        self.packed = sum.bytes.into();
        if self.packed.len() > PACKED_BYTES_MAX {
            self.unpack();
        }
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        let used = self.chunks.iter().flatten().count();
        self.packed.len()
            + self.chunks.capacity() * size_of::<Option<Box<[u64; CHUNK_BUCKETS]>>>()
            + used * size_of::<[u64; CHUNK_BUCKETS]>()
    }

    /// A packed copy for storage, as small as the values allow. Recording into it unpacks it again.
    pub fn to_packed(&self) -> Self {
        let mut packing = Packing::default();
        self.buckets().for_each(|(index, count)| packing.push(index, count));
        Self { chunks: Vec::new(), packed: packing.bytes.into(), count: self.count, sum: self.sum, min: self.min, max: self.max }
    }

    /// A packed copy of at most `buckets_max` buckets. Groups of two, four, eight, … neighbours merge until the limit holds. Use it for charts of a
    /// long run, whose steps contain more and more values. A value is read within the width of its group. Count, sum, minimum and maximum stay exact.
    pub fn to_packed_within(&self, buckets_max: usize) -> Self {
        let mut together = 1;
        while self.taken(together) > buckets_max.max(1) {
            together *= 2;
        }
        let mut coarse = Self::default();
        for (index, count) in self.buckets() {
            coarse.add((index / together * together + together / 2).min(index_of(u64::MAX)), count);
        }
        Self { count: self.count, sum: self.sum, min: self.min, max: self.max, ..coarse.to_packed() }
    }

    /// The number of groups of `together` neighbours that contain a value.
    fn taken(&self, together: usize) -> usize {
        let mut last = None;
        self.buckets().filter(|(index, _)| last.replace(index / together) != Some(index / together)).count()
    }

    /// Unpacks the histogram for merging many others into it. [`Self::to_packed`] reverses it.
    pub(crate) fn unpack(&mut self) {
        if self.packed.is_empty() {
            return;
        }
        let packed = std::mem::take(&mut self.packed);
        for (index, count) in Unpacking::new(&packed) {
            self.add(index, count);
        }
    }

    /// Empties the histogram and keeps its memory.
    pub fn clear(&mut self) {
        self.packed = Box::default();
        for chunk in self.chunks.iter_mut().flatten() {
            chunk.fill(0);
        }
        self.count = 0;
        self.sum = 0;
        self.min = 0;
        self.max = 0;
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Exact smallest value. 0 when empty.
    pub fn min(&self) -> u64 {
        self.min
    }

    /// Exact largest value. 0 when empty.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Exact sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Exact mean. `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The value at rank ⌈q·count⌉ (the nearest-rank definition: the smallest recorded value such that at least a share `q` of all values is not
    /// above it). It is read as its bucket's midpoint and clamped to the exact minimum and maximum. `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count);
        Some(self.value_at_rank(rank))
    }

    /// The value of the `rank`-th smallest recording, 1 ≤ rank ≤ count.
    pub fn value_at_rank(&self, rank: u64) -> u64 {
        if rank >= self.count {
            return self.max;
        }
        if rank <= 1 {
            return self.min;
        }
        let mut seen = 0;
        for (index, count) in self.buckets() {
            seen += count;
            if seen >= rank {
                let (low, high) = bounds_of(index);
                return (low + (high - low) / 2).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// Number of values not above `value_ns`, by whole buckets.
    pub fn count_at_or_below(&self, value_ns: u64) -> u64 {
        let last = index_of(value_ns);
        self.buckets().take_while(|(index, _)| *index <= last).map(|(_, count)| count).sum()
    }

    /// Non-empty buckets in ascending order as `(lowest value, highest value, count)`.
    pub fn bars(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.buckets().map(|(index, count)| {
            let (low, high) = bounds_of(index);
            (low, high, count)
        })
    }

    /// The used buckets in ascending order: index and count.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let dense = self.chunks.iter().enumerate().filter_map(|(chunk, counts)| counts.as_ref().map(|counts| (chunk, counts)));
        let dense = dense.flat_map(|(chunk, counts)| {
            counts
                .iter()
                .enumerate()
                .filter(|(_, count)| **count > 0)
                .map(move |(i, count)| ((chunk << BUCKETS_PER_OCTAVE_LOG2) + i, *count))
        });
        dense.chain(Unpacking::new(&self.packed))
    }
}

/// Base-128 number, low seven bits first (LEB128).
pub(crate) fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads such a number from the front. `None`: there is none, or it has more than 64 bits.
pub(crate) fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

/// The buckets of a packed histogram, in ascending order.
struct Unpacking<'a> {
    bytes: &'a [u8],
    index: usize,
}

impl<'a> Unpacking<'a> {
    fn new(packed: &'a [u8]) -> Self {
        Self { bytes: packed, index: 0 }
    }
}

impl Iterator for Unpacking<'_> {
    type Item = (usize, u64);

    fn next(&mut self) -> Option<(usize, u64)> {
        self.index += read_number(&mut self.bytes)? as usize;
        Some((self.index, read_number(&mut self.bytes)?))
    }
}

/// Packed buckets under construction.
#[derive(Default)]
struct Packing {
    bytes: Vec<u8>,
    last: usize,
}

impl Packing {
    /// The next bucket that holds a value.
    fn push(&mut self, index: usize, count: u64) {
        push_number(&mut self.bytes, (index - self.last) as u64);
        push_number(&mut self.bytes, count);
        self.last = index;
    }
}

/// A packed histogram that is being decoded.
#[derive(Default)]
pub(crate) struct PackedBuckets {
    packing: Packing,
    index: usize,
    count: u64,
}

impl PackedBuckets {
    /// Adds the next bucket. `None`: no such bucket exists.
    pub(crate) fn push(&mut self, gap: u64, count: u64) -> Option<()> {
        let index = self.index.saturating_add(usize::try_from(gap).unwrap_or(usize::MAX));
        if index > index_of(u64::MAX) {
            return None;
        }
        self.index = index;
        if count > 0 {
            self.packing.push(index, count);
        }
        self.count = self.count.checked_add(count)?;
        Some(())
    }

    /// The last bucket.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn finish(self, sum: u64, min: u64, max: u64) -> Histogram {
        Histogram { chunks: Vec::new(), packed: self.packing.bytes.into(), count: self.count, sum: u128::from(sum), min, max }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Histogram({} values, {}..{} ns)", self.count, self.min, self.max)
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (self.count, self.sum, self.min, self.max) == (other.count, other.sum, other.min, other.max) && self.buckets().eq(other.buckets())
    }
}

/// Serialized as a flat list `[sum, min, max, index, count, gap, count, gap, count, …]`. The first index is absolute; later ones are distances from
/// the previous bucket. An empty histogram is `[]`. The sum is a float above 2⁵³.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        if self.count > 0 {
            list.serialize_element(&u64::try_from(self.sum).unwrap_or(u64::MAX))?;
            list.serialize_element(&self.min)?;
            list.serialize_element(&self.max)?;
            let mut previous = 0;
            for (index, count) in self.buckets() {
                list.serialize_element(&((index - previous) as u64))?;
                list.serialize_element(&count)?;
                previous = index;
            }
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Histogram;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a histogram: [sum, min, max, index, count, gap, count, …]")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Histogram, A::Error> {
                use serde::de::Error;
                let Some(sum) = list.next_element::<u64>()? else { return Ok(Histogram::new()) };
                let short = || A::Error::custom("a histogram is incomplete: it ends inside a bucket");
                let min = list.next_element()?.ok_or_else(short)?;
                let max = list.next_element()?.ok_or_else(short)?;
                let mut packed = PackedBuckets::default();
                while let Some(gap) = list.next_element()? {
                    let count = list.next_element()?.ok_or_else(short)?;
                    let pushed = packed.push(gap, count);
                    pushed.ok_or_else(|| A::Error::custom("a histogram's bucket index is out of range"))?;
                }
                Ok(packed.finish(sum, min, max))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_bucket_holds_its_bounds() {
        for index in 0..index_of(u64::MAX) {
            let (low, high) = bounds_of(index);
            assert_eq!((index_of(low), index_of(high)), (index, index));
            assert_eq!(index_of(high + 1), index + 1);
        }
    }

    #[test]
    fn nearest_rank_on_a_known_list() {
        let mut histogram = Histogram::new();
        (1..=100).for_each(|value| histogram.record(value));
        for (q, value) in [(0.0, 1), (0.01, 1), (0.5, 50), (0.501, 51), (0.9, 90), (0.99, 99), (1.0, 100)] {
            assert_eq!(histogram.quantile(q), Some(value), "q {q}");
        }
        assert_eq!(histogram.mean(), Some(50.5));
        assert_eq!(Histogram::new().quantile(0.5), None);
    }

    proptest! {
        /// All values lie in one power of two, whose 256 buckets become 32 groups of eight. A value moves to the middle of its group, and may move
        /// further within these eight when a merged histogram is packed again.
        #[test]
        fn a_limited_packing_is_less_exact_and_loses_no_value(
            mut values in proptest::collection::vec(1u64 << 20..2 << 20, 200..600), q in 0.0f64..1.0, cut in 0usize..200
        ) {
            let packed = |values: &[u64]| {
                let mut histogram = Histogram::new();
                values.iter().for_each(|value| histogram.record(*value));
                histogram.to_packed_within(50)
            };
            let mut merged = packed(&values[..cut]);
            merged.merge(&packed(&values[cut..]));
            let merged = merged.to_packed_within(50);
            prop_assert!(merged.bars().count() <= 50);
            prop_assert_eq!(merged.bars().map(|(_, _, count)| count).sum::<u64>(), values.len() as u64);
            prop_assert_eq!((merged.count(), merged.sum()), (values.len() as u64, values.iter().map(|value| u128::from(*value)).sum()));
            values.sort_unstable();
            prop_assert_eq!((merged.min(), merged.max()), (values[0], values[values.len() - 1]));
            let truth = values[((q * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1] as f64;
            let read = merged.quantile(q).unwrap() as f64;
            prop_assert!((read - truth).abs() <= truth * 8.5 / 256.0, "{read} vs {truth}");
        }

        #[test]
        fn quantiles_are_within_the_stated_error_of_the_sorted_list(
            mut values in proptest::collection::vec(0u64..100_000_000_000, 1..400), q in 0.0f64..1.0
        ) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|value| histogram.record(*value));
            values.sort_unstable();
            let truth = values[((q * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1] as f64;
            let read = histogram.quantile(q).unwrap() as f64;
            prop_assert!((read - truth).abs() <= truth * Histogram::RELATIVE_ERROR + 1.0, "{read} vs {truth}");
        }

        #[test]
        fn merging_equals_recording_together_in_any_order(
            a in proptest::collection::vec(any::<u32>(), 0..100), b in proptest::collection::vec(any::<u32>(), 0..100)
        ) {
            let fill = |values: &[u32]| { let mut h = Histogram::new(); values.iter().for_each(|v| h.record(u64::from(*v))); h };
            let (mut ab, mut ba) = (fill(&a), fill(&b));
            ab.merge(&fill(&b));
            ba.merge(&fill(&a));
            prop_assert_eq!(&ab, &ba);
            prop_assert_eq!(&ab, &fill(&[a, b].concat()));
        }

        #[test]
        fn packing_changes_nothing(
            a in proptest::collection::vec(any::<u64>(), 0..100), b in proptest::collection::vec(any::<u32>(), 1..100)
        ) {
            let mut dense = Histogram::new();
            a.iter().for_each(|v| dense.record(*v));
            let mut packed = dense.to_packed();
            prop_assert_eq!(&packed, &dense);
            prop_assert_eq!(packed.quantile(0.7), dense.quantile(0.7));
            let mut other = Histogram::new();
            b.iter().for_each(|v| { other.record(u64::from(*v)); packed.record(u64::from(*v)); });
            let mut merged = dense.to_packed();
            merged.merge(&other.to_packed());
            prop_assert_eq!(&merged, &packed);
            dense.merge(&other);
            prop_assert_eq!(&merged, &dense);
        }

        #[test]
        fn merging_into_a_packed_one_is_exact_however_large_it_grows(
            values in proptest::collection::vec(any::<u32>(), 1..2000), cut in 0usize..2000
        ) {
            let fill = |values: &[u32]| { let mut h = Histogram::new(); values.iter().for_each(|v| h.record(u64::from(*v))); h };
            let (first, rest) = values.split_at(cut.min(values.len()));
            let mut merged = fill(first).to_packed();
            rest.chunks(7).for_each(|some| merged.merge(&fill(some)));
            prop_assert_eq!(&merged, &fill(&values));
            prop_assert!(merged.packed.len() <= PACKED_BYTES_MAX || !first.is_empty() && rest.is_empty());
        }

        #[test]
        fn text_form_round_trips(values in proptest::collection::vec(any::<u32>(), 0..100)) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|v| histogram.record(u64::from(*v)));
            let text = serde_json::to_string(&histogram).unwrap();
            prop_assert_eq!(histogram, serde_json::from_str::<Histogram>(&text).unwrap());
        }

        #[test]
        fn agrees_with_hdrhistogram(values in proptest::collection::vec(1u64..10_000_000_000, 100..500)) {
            let mut ours = Histogram::new();
            let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 20_000_000_000, 3).unwrap();
            for value in values { ours.record(value); theirs.record(value).unwrap(); }
            for q in [0.5, 0.9, 0.99] {
                let (a, b) = (ours.quantile(q).unwrap() as f64, theirs.value_at_quantile(q) as f64);
                prop_assert!((a - b).abs() <= b * 0.003 + 1.0, "q {q}: {a} vs {b}");
            }
        }
    }
}
