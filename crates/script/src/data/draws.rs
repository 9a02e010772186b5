//! Random draws that a run can repeat.
//!
//! The run's seed and a few numbers identify a stream, so that draws depend neither on other users nor on the number of cores. xoshiro256++
//! is fast and passes the usual test batteries. It is not suitable for secrets.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// One stream of random draws.
#[derive(Debug, Clone)]
pub(crate) struct Draws(Xoshiro256PlusPlus);

/// The owner of a stream. Streams of different owners differ even if their numbers are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DrawStream {
    /// Closed load: the first, second, … iteration of a user of a leaf of the load tree.
    Iteration { leaf: u32, user: u64, iteration: u64 },
    /// Open load: an arrival of a leaf. The user that takes it depends on timing.
    Arrival { leaf: u32, number: u64 },
    /// Draws outside any user: module code, `Math.random`.
    Realm { number: u64 },
    /// The order of a shuffled feeder.
    Shuffle { feeder: u64 },
}

impl Draws {
    pub(crate) fn new(seed: u64, stream: DrawStream) -> Self {
        let parts = match stream {
            DrawStream::Iteration { leaf, user, iteration } => [1 << 32 | u64::from(leaf), user, iteration],
            DrawStream::Realm { number } => [2 << 32, number, 0],
            DrawStream::Shuffle { feeder } => [3 << 32, feeder, 0],
            DrawStream::Arrival { leaf, number } => [4 << 32 | u64::from(leaf), number, 0],
        };
        Self(Xoshiro256PlusPlus::seed_from_u64(parts.iter().fold(mix(seed), |state, part| mix(state ^ mix(*part)))))
    }

    /// 64 uniformly distributed bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// At least 0 and below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number below `end`, each equally likely; 0 when `end` is 0. Lemire's method (ACM TOMACS 29, 2019).
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        if end == 0 {
            return 0;
        }
        let mut product = u128::from(self.bits()) * u128::from(end);
        if (product as u64) < end {
            let threshold = end.wrapping_neg() % end;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(end);
            }
        }
        (product >> 64) as u64
    }

    /// Standard normal distribution (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Exponential distribution of mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    /// A version 4 UUID in its usual form (RFC 9562).
    pub(crate) fn uuid(&mut self) -> String {
        let high = self.bits() & !0xf000 | 0x4000;
        let low = self.bits() & !(0b11 << 62) | 0b10 << 62;
        let digits = format!("{high:016x}{low:016x}");
        format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
    }

    /// Puts items into an order drawn at random (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

/// SplitMix64's finaliser: neighbouring inputs yield unrelated outputs.
pub(super) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn user(seed: u64, leaf: u32, user: u64, iteration: u64) -> u64 {
        Draws::new(seed, DrawStream::Iteration { leaf, user, iteration }).bits()
    }

    /// The numbers of rand_xoshiro 0.7: an update of the library must not change what a seed repeats.
    #[test]
    fn a_seed_draws_the_same_numbers_in_every_version() {
        let mut draws = Draws(Xoshiro256PlusPlus::seed_from_u64(7));
        assert_eq!(
            [draws.bits(), draws.bits(), draws.bits()],
            [1_021_219_803_524_665_661, 3_174_977_118_032_272_916, 13_236_943_193_235_544_178]
        );
    }

    #[test]
    fn streams_repeat_and_differ() {
        assert_eq!(user(7, 0, 3, 1), user(7, 0, 3, 1));
        let mut seen = HashSet::new();
        for seed in 0..4 {
            for leaf in 0..4 {
                for number in 0..20 {
                    for iteration in 0..20 {
                        assert!(seen.insert(user(seed, leaf, number, iteration)));
                    }
                    assert!(seen.insert(Draws::new(seed, DrawStream::Arrival { leaf, number }).bits()));
                }
            }
            for number in 0..20 {
                assert!(seen.insert(Draws::new(seed, DrawStream::Realm { number }).bits()));
                assert!(seen.insert(Draws::new(seed, DrawStream::Shuffle { feeder: number }).bits()));
            }
        }
    }

    #[test]
    fn whole_numbers_are_equally_likely() {
        let mut draws = Draws::new(1, DrawStream::Realm { number: 0 });
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[draws.below(7) as usize] += 1;
        }
        // χ² with 6 degrees of freedom exceeds 22.5 once in 1,000 seeds; the seed is fixed.
        let chi2: f64 = counts.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi2 < 22.5, "{counts:?}");
        assert_eq!(draws.below(1), 0);
        assert_eq!(draws.below(0), 0);
    }

    #[test]
    fn shuffling_keeps_every_item_and_reaches_every_order() {
        let mut orders = HashSet::new();
        for feeder in 0..200 {
            let mut items = [1, 2, 3, 4];
            Draws::new(1, DrawStream::Shuffle { feeder }).shuffle(&mut items);
            let mut sorted = items;
            sorted.sort_unstable();
            assert_eq!(sorted, [1, 2, 3, 4]);
            orders.insert(items);
        }
        assert_eq!(orders.len(), 24);
    }

    #[test]
    fn uuids_have_their_version_and_variant() {
        let mut draws = Draws::new(1, DrawStream::Realm { number: 0 });
        for _ in 0..100 {
            let uuid = draws.uuid();
            let bytes = uuid.as_bytes();
            assert_eq!(uuid.len(), 36);
            assert_eq!((bytes[8], bytes[13], bytes[18], bytes[23]), (b'-', b'-', b'-', b'-'));
            assert_eq!(bytes[14], b'4');
            assert!(b"89ab".contains(&bytes[19]), "{uuid}");
        }
    }
}
