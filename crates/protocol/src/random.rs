//! SplitMix64 (Steele, Lea, Flood 2014). For masks, keys and ids without security requirements.

/// Distance between two states.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number for a state.
pub(crate) fn mix(state: u64) -> u64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
