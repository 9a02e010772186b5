//! Finds the end of an answer in a stream of bytes.

use memchr::memmem;

use crate::failure::Failure;

/// Finds the end of an answer. It is called again with the same bytes and further ones appended, so it remembers what it has examined.
pub(crate) trait AnswerFraming {
    /// The answer's length once it is whole.
    ///
    /// # Errors
    /// The bytes cannot be an answer.
    fn whole(&mut self, bytes: &[u8]) -> Result<Option<usize>, Failure>;

    /// Whether the end of the connection is the end of the answer.
    fn ends_with_connection(&self) -> bool {
        false
    }
}

/// The end of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadUntil {
    /// After the bytes that have arrived first.
    Arrival,
    /// After the first occurrence of these bytes. Not empty.
    Delimiter(Vec<u8>),
    /// After this many bytes.
    Length(usize),
    /// When the peer closes.
    Close,
}

/// The search state of a [`ReadUntil`].
pub(super) struct UntilSearch<'a> {
    until: &'a ReadUntil,
    /// There is no delimiter before this offset.
    searched: usize,
}

impl<'a> UntilSearch<'a> {
    pub(super) fn new(until: &'a ReadUntil) -> Self {
        Self { until, searched: 0 }
    }
}

impl AnswerFraming for UntilSearch<'_> {
    fn whole(&mut self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        Ok(match self.until {
            ReadUntil::Arrival => (!bytes.is_empty()).then_some(bytes.len()),
            ReadUntil::Length(length) => (bytes.len() >= *length).then_some(*length),
            ReadUntil::Close => None,
            ReadUntil::Delimiter(delimiter) => {
                let found = memmem::find(&bytes[self.searched..], delimiter).map(|at| self.searched + at + delimiter.len());
                // A delimiter may begin in the last bytes.
                self.searched = bytes.len().saturating_sub(delimiter.len() - 1);
                found
            }
        })
    }

    fn ends_with_connection(&self) -> bool {
        *self.until == ReadUntil::Close
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// For any division into pieces, the answer ends where a search in all bytes finds the delimiter.
        #[test]
        fn a_delimiter_is_found_across_pieces(text in "[ab\r\n]{0,40}", delimiter in "[ab\r\n]{1,3}", piece in 1usize..5) {
            let (until, bytes) = (ReadUntil::Delimiter(delimiter.clone().into_bytes()), text.as_bytes());
            let mut search = UntilSearch::new(&until);
            let ends: Vec<usize> = (0..=bytes.len()).step_by(piece).chain([bytes.len()]).collect();
            let found = ends.into_iter().find_map(|end| search.whole(&bytes[..end]).unwrap());
            prop_assert_eq!(found, text.find(&delimiter).map(|at| at + delimiter.len()));
        }
    }
}
