//! permessage-deflate (RFC 7692) without context takeover: all connections of a worker share one pair of windows.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::failure::Failure;
use crate::network::Network;

/// The end of a flush, which messages omit (RFC 7692, section 7.2.1).
const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];

/// Growth of the output per step. Bytes.
const STEP_BYTES: usize = 16 * 1024;

/// The windows. Each message starts with an empty one.
#[derive(Debug)]
pub(crate) struct Deflate {
    compress: Compress,
    decompress: Decompress,
}

impl Default for Deflate {
    fn default() -> Self {
        Self { compress: Compress::new(Compression::fast(), false), decompress: Decompress::new(false) }
    }
}

/// The windows that all WebSockets of one network share. Created at their first use.
#[derive(Debug, Default)]
pub(crate) struct SharedDeflate(RefCell<Option<Box<Deflate>>>);

impl SharedDeflate {
    pub(crate) fn of(network: &Network) -> Rc<Self> {
        network.state(|_| Self::default())
    }

    /// The borrow must end before the caller yields.
    pub(crate) fn borrow(&self) -> RefMut<'_, Deflate> {
        RefMut::map(self.0.borrow_mut(), |deflate| &mut **deflate.get_or_insert_default())
    }
}

impl Deflate {
    pub(crate) fn pack(&mut self, message: &[u8]) -> Result<Vec<u8>, Failure> {
        self.compress.reset();
        let mut packed = Vec::with_capacity(message.len() / 2 + 64);
        loop {
            let at = self.compress.total_in() as usize;
            self.compress
                .compress_vec(&message[at..], &mut packed, FlushCompress::Sync)
                .map_err(|_| Failure::unsendable("the message could not be compressed"))?;
            // Remaining capacity means that the flush is complete.
            if self.compress.total_in() as usize == message.len() && packed.len() < packed.capacity() {
                break;
            }
            packed.reserve(STEP_BYTES);
        }
        if packed.ends_with(&TAIL) {
            packed.truncate(packed.len() - TAIL.len());
        }
        Ok(packed)
    }

    /// Appends the omitted end to `packed`. The result is at most `bytes_max` long, otherwise an error.
    pub(crate) fn unpack(&mut self, packed: &mut Vec<u8>, bytes_max: usize) -> Result<Vec<u8>, UnpackError> {
        packed.extend_from_slice(&TAIL);
        self.decompress.reset(false);
        let mut plain = Vec::with_capacity((packed.len() * 3).min(bytes_max.saturating_add(1)).max(64));
        loop {
            let (read, written) = (self.decompress.total_in(), self.decompress.total_out());
            let status = self
                .decompress
                .decompress_vec(&packed[read as usize..], &mut plain, FlushDecompress::Sync)
                .map_err(|_| UnpackError::Malformed)?;
            if plain.len() > bytes_max {
                return Err(UnpackError::TooLarge);
            }
            if status == Status::StreamEnd {
                return Ok(plain);
            }
            // The decompressor may delay output while there is capacity. It is finished only when a step yields nothing.
            if plain.len() < plain.capacity() && self.decompress.total_out() == written {
                let all_read = self.decompress.total_in() as usize == packed.len();
                if all_read {
                    return Ok(plain);
                }
                if self.decompress.total_in() == read {
                    return Err(UnpackError::Malformed);
                }
            }
            if plain.len() == plain.capacity() {
                plain.reserve(STEP_BYTES);
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UnpackError {
    Malformed,
    TooLarge,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_standard_are_decompressed() {
        // RFC 7692, section 7.2.3: "Hello" with a fixed-Huffman block, without compression, and over two blocks.
        for packed in [
            vec![0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00],
            vec![0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00],
            vec![0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00],
        ] {
            let mut packed = packed;
            assert_eq!(Deflate::default().unpack(&mut packed, 100).unwrap(), b"Hello");
        }
    }

    #[test]
    fn bombs_and_garbage_are_refused() {
        let mut deflate = Deflate::default();
        let mut bomb = deflate.pack(&vec![0; 5_000_000]).unwrap();
        assert!(bomb.len() < 30_000);
        assert_eq!(deflate.unpack(&mut bomb, 100_000), Err(UnpackError::TooLarge));
        assert_eq!(deflate.unpack(&mut vec![0xff; 100], 100_000), Err(UnpackError::Malformed));
    }

    proptest! {
        #[test]
        fn compression_round_trips(message in proptest::collection::vec(0u8..4, 0..70_000)) {
            let mut deflate = Deflate::default();
            let mut packed = deflate.pack(&message).unwrap();
            prop_assert_eq!(deflate.unpack(&mut packed, message.len()).unwrap(), message);
        }
    }
}
