//! The position in a ring of the bytes between two monotonic pointers.

use std::ops::Range;

/// The one or two parts of a ring of `ring` bytes between `tail` and `head`. `None` if their distance is larger than the ring.
pub(super) fn spans(tail: u64, head: u64, ring: usize) -> Option<[Range<usize>; 2]> {
    let waiting = usize::try_from(head.checked_sub(tail)?).ok().filter(|waiting| *waiting <= ring)?;
    if waiting == 0 {
        return Some([0..0, 0..0]);
    }
    let begin = (tail % ring as u64) as usize;
    let first = waiting.min(ring - begin);
    Some([begin..begin + first, 0..waiting - first])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_beyond_the_end_goes_on_at_the_beginning() {
        assert_eq!(spans(0, 24, 64), Some([0..24, 0..0]));
        assert_eq!(spans(128 + 48, 128 + 48 + 40, 64), Some([48..64, 0..24]));
        assert_eq!(spans(10, 74, 64), Some([10..64, 0..10]));
        assert_eq!(spans(64, 64, 64), Some([0..0, 0..0]));
        assert_eq!((spans(0, 65, 64), spans(8, 0, 64), spans(0, 8, 0)), (None, None, None));
    }

    proptest::proptest! {
        /// Bytes written one after the other come out in their order.
        #[test]
        fn a_ring_gives_back_what_was_written(tail in 0_u64..10_000, waiting in 0_usize..=64) {
            let mut ring = [0_u8; 64];
            let written: Vec<u8> = (0..waiting).map(|number| number as u8 + 1).collect();
            for (number, byte) in written.iter().enumerate() {
                ring[(tail as usize + number) % 64] = *byte;
            }
            let parts = spans(tail, tail + waiting as u64, 64).unwrap();
            let read: Vec<u8> = parts.iter().flat_map(|part| ring[part.clone()].to_vec()).collect();
            proptest::prop_assert_eq!(read, written);
        }
    }
}
