//! The values of Gatling's binary log: Java's `DataOutput` (big-endian), and strings as the JVM stores them.

use std::borrow::Cow;

/// Longest string. Bytes.
const STRING_BYTES_MAX: i32 = 4 << 20;

/// Why a value cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BytesError {
    /// The rest has not been written yet.
    Incomplete,
    /// No Gatling writes this.
    Invalid,
}

/// A cursor over bytes.
pub(super) struct LogBytes<'a>(pub(super) &'a [u8]);

impl<'a> LogBytes<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], BytesError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(BytesError::Incomplete)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BytesError> {
        self.take(N)?.try_into().map_err(|_| BytesError::Invalid)
    }

    pub(super) fn byte(&mut self) -> Result<u8, BytesError> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn flag(&mut self) -> Result<bool, BytesError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(BytesError::Invalid),
        }
    }

    pub(super) fn int(&mut self) -> Result<i32, BytesError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(super) fn long(&mut self) -> Result<i64, BytesError> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// A number of things, at most `max`.
    pub(super) fn count(&mut self, max: i32) -> Result<usize, BytesError> {
        let count = self.int()?;
        if (0..=max).contains(&count) { Ok(count as usize) } else { Err(BytesError::Invalid) }
    }

    /// Length, bytes, and unless it is empty, the JVM's coder: 0 for Latin-1, 1 for UTF-16 in the machine's order (JEP 254).
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, BytesError> {
        let length = self.count(STRING_BYTES_MAX)?;
        if length == 0 {
            return Ok(Cow::Borrowed(""));
        }
        let value = self.take(length)?;
        match self.byte()? {
            0 if value.is_ascii() => std::str::from_utf8(value).map(Cow::Borrowed).map_err(|_| BytesError::Invalid),
            0 => Ok(value.iter().map(|byte| char::from(*byte)).collect::<String>().into()),
            1 => {
                let units: Vec<u16> = value.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
                Ok(String::from_utf16_lossy(&units).into())
            }
            _ => Err(BytesError::Invalid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_both_coders_are_read() {
        assert_eq!(LogBytes(&[0, 0, 0, 2, b'a', 0xe9, 0]).string().unwrap(), "aé");
        assert_eq!(LogBytes(&[0, 0, 0, 2, 0xac, 0x20, 1]).string().unwrap(), "€");
        assert_eq!(LogBytes(&[0, 0, 0, 0]).string().unwrap(), "");
        assert_eq!(LogBytes(&[0, 0, 0, 9, b'a']).string(), Err(BytesError::Incomplete));
        assert_eq!(LogBytes(&[0xff, 0, 0, 9, b'a']).string(), Err(BytesError::Invalid));
    }
}
