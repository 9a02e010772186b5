//! The body of a request: pieces of shared bytes, so that a large file is sent without a copy of it.

use std::rc::Rc;

use bytes::Bytes;

/// The body of a request. A clone shares its bytes.
#[derive(Debug, Clone, Default)]
pub struct SharedBody {
    pieces: BodyPieces,
    len: usize,
}

#[derive(Debug, Clone)]
enum BodyPieces {
    One(Bytes),
    Several(Rc<[Bytes]>),
}

impl Default for BodyPieces {
    fn default() -> Self {
        Self::One(Bytes::new())
    }
}

impl SharedBody {
    /// One piece after the other.
    pub fn of_pieces(pieces: Vec<Bytes>) -> Self {
        let len = pieces.iter().map(Bytes::len).sum();
        Self { pieces: BodyPieces::Several(pieces.into()), len }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn pieces(&self) -> &[Bytes] {
        match &self.pieces {
            BodyPieces::One(bytes) => std::slice::from_ref(bytes),
            BodyPieces::Several(pieces) => pieces,
        }
    }

    /// A copy of its bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.pieces().concat()
    }

    /// The two slices that follow the first `offset` bytes. Both are empty at the end.
    pub(crate) fn slices_after(&self, mut offset: usize) -> (&[u8], &[u8]) {
        let mut rest = self.pieces();
        while let [piece, after @ ..] = rest
            && piece.len() <= offset
        {
            offset -= piece.len();
            rest = after;
        }
        let first = rest.first().map(|piece| &piece[offset..]).unwrap_or_default();
        (first, rest.get(1).map(|piece| &piece[..]).unwrap_or_default())
    }
}

impl<T: Into<Bytes>> From<T> for SharedBody {
    fn from(bytes: T) -> Self {
        let bytes = bytes.into();
        Self { len: bytes.len(), pieces: BodyPieces::One(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slices_after_each_offset_are_the_rest() {
        let pieces = ["", "ab", "", "cde", "f", ""].map(Bytes::from);
        let body = SharedBody::of_pieces(pieces.to_vec());
        assert_eq!((body.len(), body.to_vec().as_slice()), (6, &b"abcdef"[..]));
        for offset in 0..=6 {
            let (mut at, mut read) = (offset, Vec::new());
            while at < 6 {
                let (first, second) = body.slices_after(at);
                assert!(!first.is_empty(), "{offset}");
                read.extend_from_slice(first);
                read.extend_from_slice(second);
                at = offset + read.len();
            }
            assert_eq!(read, b"abcdef"[offset..], "{offset}");
        }
        assert_eq!(body.slices_after(6), (&b""[..], &b""[..]));
        assert_eq!(SharedBody::from("xy").slices_after(1).0, b"y");
        assert!(SharedBody::default().is_empty());
    }
}
