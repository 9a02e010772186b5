//! How sure a number is that rests on blocks of one run.

const RESAMPLES: usize = 400;
/// Consecutive blocks that are drawn together: neighbours resemble each other.
const TOGETHER: usize = 4;

/// A bootstrap of neighbouring blocks (Künsch, "The jackknife and the bootstrap for general stationary observations", 1989). The same run always gives the
/// same.
pub(super) fn resampled<T: Copy>(blocks: &[T]) -> impl Iterator<Item = Vec<T>> + '_ {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..RESAMPLES).map(move |_| {
        let mut drawn = Vec::with_capacity(blocks.len() + TOGETHER);
        while drawn.len() < blocks.len() {
            // Xorshift (Marsaglia 2003).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let start = (state >> 11) as usize % (blocks.len() - TOGETHER + 1);
            drawn.extend_from_slice(&blocks[start..start + TOGETHER]);
        }
        drawn
    })
}
