//! Kafka's wire format, as far as the requests in [`super::requests`] need it: numbers in network byte order, texts and lists that say their length.
//!
//! Of each request a version is used that Kafka 0.11 and 4 both speak (KIP-896 says which ones stay), before lengths became variable (KIP-482).

/// An answer that ends too soon or holds what cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its answer could not be read")]
pub(super) struct MalformedAnswer;

/// A request, and how its answer is read.
#[derive(Debug)]
pub(super) struct KafkaRequest<T> {
    pub(super) key: i16,
    pub(super) version: i16,
    pub(super) body: RequestWriter,
    pub(super) read: fn(&mut AnswerReader<'_>) -> Result<T, MalformedAnswer>,
}

#[derive(Debug, Default)]
pub(super) struct RequestWriter {
    pub(super) bytes: Vec<u8>,
}

impl RequestWriter {
    pub(super) fn flag(self, value: bool) -> Self {
        self.put(&[u8::from(value)])
    }

    pub(super) fn int16(self, value: i16) -> Self {
        self.put(&value.to_be_bytes())
    }

    pub(super) fn int32(self, value: i32) -> Self {
        self.put(&value.to_be_bytes())
    }

    pub(super) fn int64(self, value: i64) -> Self {
        self.put(&value.to_be_bytes())
    }

    /// At most 32,767 bytes; Kafka's names have at most 249 characters.
    pub(super) fn text(self, text: &str) -> Self {
        let length = i16::try_from(text.len()).unwrap_or(i16::MAX);
        self.int16(length).put(&text.as_bytes()[..usize::from(length.unsigned_abs())])
    }

    pub(super) fn list<I: ExactSizeIterator>(self, items: I, each: impl Fn(Self, I::Item) -> Self) -> Self {
        let length = i32::try_from(items.len()).unwrap_or(i32::MAX);
        items.fold(self.int32(length), each)
    }

    /// In place of a list: all there are.
    pub(super) fn no_list(self) -> Self {
        self.int32(-1)
    }

    fn put(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }
}

/// What of an answer has not been read.
pub(super) struct AnswerReader<'a> {
    rest: &'a [u8],
}

impl<'a> AnswerReader<'a> {
    pub(super) fn new(answer: &'a [u8]) -> Self {
        Self { rest: answer }
    }

    pub(super) fn flag(&mut self) -> Result<bool, MalformedAnswer> {
        self.array::<1>().map(|[byte]| byte != 0)
    }

    pub(super) fn int16(&mut self) -> Result<i16, MalformedAnswer> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn int32(&mut self) -> Result<i32, MalformedAnswer> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn int64(&mut self) -> Result<i64, MalformedAnswer> {
        self.array().map(i64::from_be_bytes)
    }

    /// Empty where there is none.
    pub(super) fn text(&mut self) -> Result<String, MalformedAnswer> {
        let length = usize::try_from(self.int16()?).unwrap_or(0);
        self.take(length).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    pub(super) fn skip_bytes(&mut self) -> Result<(), MalformedAnswer> {
        let length = usize::try_from(self.int32()?).unwrap_or(0);
        self.take(length).map(drop)
    }

    /// Empty where there is none. Room is made for what comes, not for what is announced.
    pub(super) fn list<T>(&mut self, each: impl Fn(&mut Self) -> Result<T, MalformedAnswer>) -> Result<Vec<T>, MalformedAnswer> {
        let length = usize::try_from(self.int32()?).unwrap_or(0);
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(each(self)?);
        }
        Ok(items)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MalformedAnswer> {
        self.take(N)?.try_into().map_err(|_| MalformedAnswer)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], MalformedAnswer> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(MalformedAnswer)?;
        self.rest = rest;
        Ok(taken)
    }
}
