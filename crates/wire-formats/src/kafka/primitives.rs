//! Primitive types of Kafka's protocol: numbers in network byte order, strings and lists with their lengths (Kafka protocol guide, "Protocol
//! primitive types"). Memory is allocated for received bytes, and not for declared lengths.

/// A response that ends too early or contains an invalid value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the broker's response cannot be read")]
pub struct MalformedKafka;

pub type KafkaRead<T> = Result<T, MalformedKafka>;

/// Writes one value after another.
#[derive(Debug, Default)]
pub struct KafkaWriter {
    pub bytes: Vec<u8>,
}

impl KafkaWriter {
    pub fn flag(&mut self, value: bool) -> &mut Self {
        self.put(&[u8::from(value)])
    }

    pub fn int8(&mut self, value: i8) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    pub fn int16(&mut self, value: i16) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    pub fn int32(&mut self, value: i32) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    pub fn int64(&mut self, value: i64) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    /// At most 32,767 bytes. Kafka's names have at most 249 characters.
    pub fn text(&mut self, text: &str) -> &mut Self {
        let length = text.len().min(i16::MAX as usize);
        self.int16(length as i16).put(&text.as_bytes()[..length])
    }

    pub fn null_text(&mut self) -> &mut Self {
        self.int16(-1)
    }

    pub fn block(&mut self, bytes: &[u8]) -> &mut Self {
        self.count(bytes.len()).put(bytes)
    }

    /// The number of items of a list, which follow.
    pub fn count(&mut self, items: usize) -> &mut Self {
        self.int32(i32::try_from(items).unwrap_or(i32::MAX))
    }

    /// A null list. Some requests interpret it as "all".
    pub fn null_list(&mut self) -> &mut Self {
        self.int32(-1)
    }

    /// A number of variable length: small numbers of either sign take few bytes (zigzag, as in Protocol Buffers).
    pub fn variable(&mut self, value: i64) -> &mut Self {
        let mut rest = ((value << 1) ^ (value >> 63)) as u64;
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
        self
    }

    /// Bytes with a variable-length length, or null.
    pub fn variable_block(&mut self, bytes: Option<&[u8]>) -> &mut Self {
        match bytes {
            Some(bytes) => self.variable(bytes.len() as i64).put(bytes),
            None => self.variable(-1),
        }
    }

    pub fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }
}

/// Reads one value after another. `rest` are the unread bytes.
#[derive(Debug, Clone)]
pub struct KafkaReader<'a> {
    pub rest: &'a [u8],
}

impl<'a> KafkaReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn flag(&mut self) -> KafkaRead<bool> {
        self.array::<1>().map(|[byte]| byte != 0)
    }

    pub fn int8(&mut self) -> KafkaRead<i8> {
        self.array().map(i8::from_be_bytes)
    }

    pub fn int16(&mut self) -> KafkaRead<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub fn int32(&mut self) -> KafkaRead<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn int64(&mut self) -> KafkaRead<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// Null becomes empty.
    pub fn text(&mut self) -> KafkaRead<String> {
        let length = usize::try_from(self.int16()?).unwrap_or(0);
        self.take(length).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    /// Null becomes empty.
    pub fn block(&mut self) -> KafkaRead<&'a [u8]> {
        let length = usize::try_from(self.int32()?).unwrap_or(0);
        self.take(length)
    }

    /// Null becomes empty.
    pub fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> KafkaRead<T>) -> KafkaRead<Vec<T>> {
        let mut items = Vec::new();
        for _ in 0..usize::try_from(self.int32()?).unwrap_or(0) {
            items.push(each(self)?);
        }
        Ok(items)
    }

    pub fn variable(&mut self) -> KafkaRead<i64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array::<1>()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        Err(MalformedKafka)
    }

    /// `None` for null.
    pub fn variable_block(&mut self) -> KafkaRead<Option<&'a [u8]>> {
        let length = self.variable()?;
        if length < 0 {
            return Ok(None);
        }
        self.take(usize::try_from(length).map_err(|_| MalformedKafka)?).map(Some)
    }

    fn array<const N: usize>(&mut self) -> KafkaRead<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| MalformedKafka)
    }

    pub fn take(&mut self, length: usize) -> KafkaRead<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(MalformedKafka)?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The values of the encoding's specification (Protocol Buffers, "Signed Integers").
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
