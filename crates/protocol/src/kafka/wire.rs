//! Kafka's wire format, as far as `calls` and `records` need it: numbers in network byte order, texts and lists that say their length (Kafka protocol guide,
//! "Protocol primitive types"). No room is made for what is only announced.

use crate::failure::Failure;

/// An answer that ends too soon or holds what cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnreadableKafka;

impl From<UnreadableKafka> for Failure {
    fn from(UnreadableKafka: UnreadableKafka) -> Self {
        Self::protocol("the broker's answer could not be read")
    }
}

pub(super) type KafkaRead<T> = Result<T, UnreadableKafka>;

#[derive(Debug, Default)]
pub(super) struct KafkaWriter {
    pub(super) bytes: Vec<u8>,
}

impl KafkaWriter {
    pub(super) fn int8(&mut self, value: i8) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    pub(super) fn int16(&mut self, value: i16) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    pub(super) fn int32(&mut self, value: i32) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    pub(super) fn int64(&mut self, value: i64) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    /// At most 32,767 bytes; Kafka's names have at most 249 characters.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let length = text.len().min(i16::MAX as usize);
        self.int16(length as i16).put(&text.as_bytes()[..length])
    }

    pub(super) fn no_text(&mut self) -> &mut Self {
        self.int16(-1)
    }

    pub(super) fn block(&mut self, bytes: &[u8]) -> &mut Self {
        self.count(bytes.len()).put(bytes)
    }

    /// How many items of a list follow.
    pub(super) fn count(&mut self, items: usize) -> &mut Self {
        self.int32(i32::try_from(items).unwrap_or(i32::MAX))
    }

    /// Of variable length, small numbers of either sign in few bytes (zigzag, as in Protocol Buffers).
    pub(super) fn variable(&mut self, value: i64) -> &mut Self {
        let mut rest = ((value << 1) ^ (value >> 63)) as u64;
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
        self
    }

    /// Bytes behind their length of variable length, or that there are none.
    pub(super) fn variable_block(&mut self, bytes: Option<&[u8]>) -> &mut Self {
        match bytes {
            Some(bytes) => self.variable(bytes.len() as i64).put(bytes),
            None => self.variable(-1),
        }
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }
}

/// What of some bytes has not been read.
#[derive(Debug, Clone)]
pub(super) struct KafkaReader<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> KafkaReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn int8(&mut self) -> KafkaRead<i8> {
        self.array().map(i8::from_be_bytes)
    }

    pub(super) fn int16(&mut self) -> KafkaRead<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn int32(&mut self) -> KafkaRead<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn int64(&mut self) -> KafkaRead<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// Empty where there is none.
    pub(super) fn text(&mut self) -> KafkaRead<String> {
        let length = usize::try_from(self.int16()?).unwrap_or(0);
        self.take(length).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    /// Empty where there are none.
    pub(super) fn block(&mut self) -> KafkaRead<&'a [u8]> {
        let length = usize::try_from(self.int32()?).unwrap_or(0);
        self.take(length)
    }

    /// Empty where there is none.
    pub(super) fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> KafkaRead<T>) -> KafkaRead<Vec<T>> {
        let mut items = Vec::new();
        for _ in 0..usize::try_from(self.int32()?).unwrap_or(0) {
            items.push(each(self)?);
        }
        Ok(items)
    }

    pub(super) fn variable(&mut self) -> KafkaRead<i64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array::<1>()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        Err(UnreadableKafka)
    }

    /// `None` where there are none.
    pub(super) fn variable_block(&mut self) -> KafkaRead<Option<&'a [u8]>> {
        let length = self.variable()?;
        if length < 0 {
            return Ok(None);
        }
        self.take(usize::try_from(length).map_err(|_| UnreadableKafka)?).map(Some)
    }

    fn array<const N: usize>(&mut self) -> KafkaRead<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| UnreadableKafka)
    }

    pub(super) fn take(&mut self, length: usize) -> KafkaRead<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(UnreadableKafka)?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The values of the encoding's own description (Protocol Buffers, "Signed Integers").
    #[test]
    fn variable_length_numbers_use_zigzag() {
        for (value, bytes) in
            [(0, &[0_u8][..]), (-1, &[1]), (1, &[2]), (-2, &[3]), (150, &[0xac, 0x02]), (0x7fff_ffff, &[0xfe, 0xff, 0xff, 0xff, 0x0f])]
        {
            let mut writer = KafkaWriter::default();
            writer.variable(value);
            assert_eq!(writer.bytes, bytes, "{value}");
        }
    }

    proptest! {
        #[test]
        fn variable_length_numbers_round_trip(value in any::<i64>()) {
            let mut writer = KafkaWriter::default();
            writer.variable(value);
            prop_assert_eq!(KafkaReader::new(&writer.bytes).variable(), Ok(value));
        }
    }
}
