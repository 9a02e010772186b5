//! Random numbers for permutations and resamples. The seed is fixed, so that the same run always gives the same findings.

/// Xorshift with shifts 13, 7 and 17 (Marsaglia, "Xorshift RNGs", 2003).
pub(crate) struct Xorshift(u64);

impl Xorshift {
    /// A generator that always gives the same numbers.
    pub(crate) fn fixed() -> Self {
        Self::seeded(0x9e37_79b9_7f4a_7c15)
    }

    /// `seed` must not be 0, which the generator would never leave.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// 53 bits: the lowest bits of the state are the least random.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }
}
