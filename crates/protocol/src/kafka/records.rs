//! Batches of records, as they are sent and stored (Kafka documentation, "Record Batch", magic 2).

use bytes::Bytes;
use loadstone_wire_formats::kafka::{KafkaRead, KafkaReader, KafkaWriter, MalformedKafka};

use super::packing::{KafkaPacking, packed, unpacked};

const MAGIC: i8 = 2;
/// The producer is unknown.
const UNKNOWN_PRODUCER: i64 = -1;
/// Bytes before the end of the batch's length field.
const PREFIX_BYTES: usize = 12;
/// Offset of the format version in a batch. It is the same in older formats.
const MAGIC_AT: usize = 16;

const LOG_TIME: i16 = 1 << 3;
const CONTROL: i16 = 1 << 5;

/// A record that is written to a topic, or was read from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KafkaRecord {
    pub key: Option<Bytes>,
    pub value: Option<Bytes>,
    pub headers: Vec<(String, Option<Bytes>)>,
    /// Milliseconds since 1970.
    pub timestamp_ms: i64,
    /// The target partition. `None`: determined by the key. For a record that was read: its partition.
    pub partition: Option<i32>,
}

/// Encodes at least one record as one batch.
///
/// # Errors
/// See [`packed`].
pub(super) fn write_batch(records: &[&KafkaRecord], packing: KafkaPacking) -> std::io::Result<Vec<u8>> {
    let begun_ms = records.first().map_or(0, |record| record.timestamp_ms);
    let latest_ms = records.iter().map(|record| record.timestamp_ms).max().unwrap_or(0);
    let last = i32::try_from(records.len().saturating_sub(1)).unwrap_or(i32::MAX);
    let mut plain = KafkaWriter::default();
    let mut one = KafkaWriter::default();
    for (place, record) in records.iter().enumerate() {
        one.bytes.clear();
        one.int8(0).variable(record.timestamp_ms - begun_ms).variable(place as i64);
        one.variable_block(record.key.as_deref()).variable_block(record.value.as_deref()).variable(record.headers.len() as i64);
        for (name, value) in &record.headers {
            one.variable_block(Some(name.as_bytes())).variable_block(value.as_deref());
        }
        plain.variable_block(Some(&one.bytes));
    }
    let mut body = KafkaWriter::default();
    body.int16(packing.number())
        .int32(last)
        .int64(begun_ms)
        .int64(latest_ms)
        .int64(UNKNOWN_PRODUCER)
        .int16(-1)
        .int32(-1)
        .count(records.len());
    body.put(&packed(packing, &plain.bytes)?);
    let mut batch = KafkaWriter::default();
    // Leader epoch, magic and checksum: 9 bytes of the length.
    batch.int64(0).count(body.bytes.len() + 9).int32(-1).int8(MAGIC).put(&crc32c::crc32c(&body.bytes).to_be_bytes()).put(&body.bytes);
    Ok(batch.bytes)
}

/// The content of a section of a partition's log.
#[derive(Debug, Default)]
pub(super) struct ReadBatches {
    /// By offset.
    pub(super) records: Vec<(i64, KafkaRecord)>,
    /// The offset from which to continue. `None` if the section contained no complete batch.
    pub(super) next: Option<i64>,
    /// Why a part of it could not be read.
    pub(super) unread: Option<String>,
}

/// Reads the records from `from` on. A batch that is cut off at the end is left for the next read, as intended by the protocol.
pub(super) fn read_batches(bytes: &[u8], from: i64) -> ReadBatches {
    let mut read = ReadBatches::default();
    let mut rest = KafkaReader::new(bytes);
    while let Ok(batch) = whole_batch(&mut rest) {
        let next = match read_batch(batch, from, &mut read.records) {
            Ok(next) => Some(next),
            Err(Unread { next, why }) => {
                read.unread = Some(why);
                next
            }
        };
        let Some(next) = next else { break };
        let behind_last = read.records.last().map_or(from, |(offset, _)| offset.saturating_add(1));
        read.next = Some(next.max(behind_last).max(read.next.unwrap_or(from)));
    }
    read
}

fn whole_batch<'a>(rest: &mut KafkaReader<'a>) -> KafkaRead<&'a [u8]> {
    let length = KafkaReader::new(rest.rest.get(8..PREFIX_BYTES).ok_or(MalformedKafka)?).int32()?;
    let length = usize::try_from(length).ok().filter(|length| *length > MAGIC_AT - PREFIX_BYTES).ok_or(MalformedKafka)?;
    rest.take(PREFIX_BYTES.checked_add(length).ok_or(MalformedKafka)?)
}

/// A batch that could not be read, and the offset after it, if known.
struct Unread {
    next: Option<i64>,
    why: String,
}

/// Reads a batch. Returns the offset after it.
fn read_batch(batch: &[u8], from: i64, into: &mut Vec<(i64, KafkaRecord)>) -> Result<i64, Unread> {
    let mut head = KafkaReader::new(batch);
    let first = head.int64().unwrap_or_default();
    if batch.get(MAGIC_AT).copied() != Some(MAGIC as u8) {
        return Err(Unread { next: first.checked_add(1), why: "records in the format used before Kafka 0.11 cannot be read".to_owned() });
    }
    let broken = |next| Unread { next, why: "a batch of records is corrupt".to_owned() };
    let parts = head.take(9).and_then(|_| Ok((head.take(4)?, head.rest)));
    let (checksum, checked) = parts.map_err(|_| broken(None))?;
    if crc32c::crc32c(checked).to_be_bytes() != checksum {
        return Err(broken(None));
    }
    let BatchHead { attributes, last, begun_ms, latest_ms, count } = BatchHead::read(&mut head).map_err(|_| broken(None))?;
    let next = first.checked_add(i64::from(last)).and_then(|last| last.checked_add(1)).ok_or_else(|| broken(None))?;
    if attributes & CONTROL != 0 {
        return Ok(next);
    }
    let packing =
        KafkaPacking::of(attributes).map_err(|number| format!("records compressed with the unknown codec {number} cannot be read"));
    let unpacked = packing.and_then(|packing| unpacked(packing, head.rest)).map_err(|why| Unread { next: Some(next), why })?;
    let mut rest = KafkaReader::new(&unpacked);
    for _ in 0..count {
        let (offset, mut record) = read_record(&mut rest, first, begun_ms).map_err(|_| broken(Some(next)))?;
        if attributes & LOG_TIME != 0 {
            record.timestamp_ms = latest_ms;
        }
        // A batch arrives whole, even if the read begins within it.
        if offset >= from {
            into.push((offset, record));
        }
    }
    Ok(next)
}

struct BatchHead {
    attributes: i16,
    /// Offset of the last record, relative to the first.
    last: i32,
    begun_ms: i64,
    latest_ms: i64,
    count: i32,
}

impl BatchHead {
    fn read(head: &mut KafkaReader<'_>) -> KafkaRead<Self> {
        let (attributes, last, begun_ms, latest_ms) = (head.int16()?, head.int32()?, head.int64()?, head.int64()?);
        head.take(8 + 2 + 4)?; // producer id, producer epoch, base sequence
        Ok(Self { attributes, last, begun_ms, latest_ms, count: head.int32()? })
    }
}

fn read_record(rest: &mut KafkaReader<'_>, first: i64, begun_ms: i64) -> KafkaRead<(i64, KafkaRecord)> {
    let owned = |bytes: Option<&[u8]>| bytes.map(Bytes::copy_from_slice);
    let mut own = KafkaReader::new(rest.variable_block()?.ok_or(MalformedKafka)?);
    own.int8()?; // attributes (unused)
    let (after_ms, place) = (own.variable()?, own.variable()?);
    let (key, value) = (own.variable_block()?, own.variable_block()?);
    let mut headers = Vec::new();
    for _ in 0..own.variable()? {
        let name = own.variable_block()?.ok_or(MalformedKafka)?;
        headers.push((String::from_utf8_lossy(name).into_owned(), owned(own.variable_block()?)));
    }
    let offset = first.checked_add(place).ok_or(MalformedKafka)?;
    let record =
        KafkaRecord { key: owned(key), value: owned(value), headers, timestamp_ms: begun_ms.saturating_add(after_ms), partition: None };
    Ok((offset, record))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(key: Option<&str>, value: Option<&str>, headers: &[(&str, Option<&str>)], timestamp_ms: i64) -> KafkaRecord {
        let owned = |text: Option<&str>| text.map(|text| Bytes::copy_from_slice(text.as_bytes()));
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), owned(*value))).collect();
        KafkaRecord { key: owned(key), value: owned(value), headers, timestamp_ms, partition: None }
    }

    /// The tests against a real broker check that brokers accept such batches, and others are read.
    #[test]
    fn a_batch_round_trips_and_is_read_from_the_middle() {
        let records = [
            record(Some("k"), Some("grün"), &[("a", Some("1")), ("a", None)], 1_000),
            record(None, None, &[], 900),
            record(None, Some(""), &[], 5_000),
        ];
        let batch = write_batch(&records.each_ref(), KafkaPacking::Plain).unwrap();
        let read = read_batches(&batch, 0);
        let expected: Vec<(i64, KafkaRecord)> = (0..).zip(records.iter().cloned()).collect();
        assert_eq!((read.records, read.next, read.unread), (expected.clone(), Some(3), None));
        assert_eq!(read_batches(&batch, 2).records, expected[2..]);
        // A second batch that is cut off remains for the next read.
        let two = [batch.as_slice(), &batch[..batch.len() - 1]].concat();
        assert_eq!((read_batches(&two, 0).records.len(), read_batches(&batch[..20], 0).next), (3, None));
    }

    #[test]
    fn an_unreadable_batch_is_reported_and_skipped_if_its_end_is_known() {
        let mut batch = write_batch(&[&record(None, Some("x"), &[], 0)], KafkaPacking::Plain).unwrap();
        let end = batch.len() - 1;
        batch[end] ^= 1;
        let broken = read_batches(&batch, 0);
        assert_eq!((broken.next, broken.unread.as_deref()), (None, Some("a batch of records is corrupt")));
        batch[MAGIC_AT] = 1;
        let old = read_batches(&batch, 0);
        assert_eq!((old.next, old.records.len()), (Some(1), 0));
        assert!(old.unread.unwrap().contains("before Kafka 0.11"));
    }

    proptest! {
        /// Also with a valid checksum, which random bytes would not have.
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            crate::fuzzing::kafka(&bytes);
        }
    }
}
