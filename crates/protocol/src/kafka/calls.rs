//! Requests to brokers, and their responses.
//!
//! Each request uses a version that both Kafka 0.11 (for SASL 1.0) and 4 support (KIP-896 lists those that remain), from before lengths became
//! variable (KIP-482).

use super::packing::KafkaPacking;
use super::wire::{KafkaRead, KafkaReader, KafkaWriter};

/// The client is not a broker.
const NO_REPLICA: i32 = -1;
/// Fetches: how long a broker waits for new records, and the limits on its response, in total and per partition.
const FETCH_WAIT_MAX_MS: i32 = 500;
const FETCH_BYTES_MAX: i32 = 16 << 20;
const PARTITION_BYTES_MAX: i32 = 1 << 20;

/// The replicas that must have a record before its producer is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KafkaAcks {
    /// None: there is no response.
    None,
    /// The partition's leader.
    Leader,
    /// All in-sync replicas.
    All,
}

/// A request, as written after its header.
#[derive(Debug)]
pub(super) struct KafkaCall {
    pub(super) key: i16,
    pub(super) version: i16,
    pub(super) body: KafkaWriter,
    pub(super) is_answered: bool,
}

impl KafkaCall {
    fn new(key: i16, version: i16) -> Self {
        Self { key, version, body: KafkaWriter::default(), is_answered: true }
    }
}

/// Requests the brokers, and the leaders of a topic's partitions. It does not create the topic.
pub(super) fn metadata(topic: &str) -> KafkaCall {
    let mut call = KafkaCall::new(3, 4);
    call.body.count(1).text(topic).int8(0);
    call
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BrokerPlace {
    pub(super) id: i32,
    pub(super) host: String,
    pub(super) port: i32,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct TopicPlaces {
    pub(super) brokers: Vec<BrokerPlace>,
    pub(super) error: i16,
    /// Number of a partition, and the id of its leader. The id is negative if there is none.
    pub(super) leaders: Vec<(i32, i32)>,
}

pub(super) fn read_metadata(answer: &[u8]) -> KafkaRead<TopicPlaces> {
    let mut answer = KafkaReader::new(answer);
    answer.int32()?; // throttle time
    let brokers = answer.list(|answer| {
        let place = BrokerPlace { id: answer.int32()?, host: answer.text()?, port: answer.int32()? };
        answer.text()?; // rack
        Ok(place)
    })?;
    answer.text()?; // cluster
    answer.int32()?; // controller
    let topics = answer.list(|answer| {
        let error = answer.int16()?;
        answer.text()?; // name
        answer.int8()?; // whether it is internal to Kafka
        let leaders = answer.list(|answer| {
            answer.int16()?; // error: the leader reports it, too
            let (number, leader) = (answer.int32()?, answer.int32()?);
            answer.list(KafkaReader::int32)?; // replicas
            answer.list(KafkaReader::int32)?; // in-sync replicas
            Ok((number, leader))
        })?;
        Ok((error, leaders))
    })?;
    let (error, leaders) = topics.into_iter().next().unwrap_or_default();
    Ok(TopicPlaces { brokers, error, leaders })
}

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KafkaWriting {
    pub acks: KafkaAcks,
    pub packing: KafkaPacking,
}

/// Brokers only accept zstd from clients that declare support for it (KIP-110), with a version whose request is the same and whose response has one
/// more number.
fn produce_version(packing: KafkaPacking) -> i16 {
    if packing == KafkaPacking::Zstd { 7 } else { 3 }
}

/// Writes a batch to each of these partitions. The broker must lead them.
pub(super) fn produce(topic: &str, writing: KafkaWriting, timeout_ms: i32, batches: &[(i32, Vec<u8>)]) -> KafkaCall {
    let mut call = KafkaCall::new(0, produce_version(writing.packing));
    let acks_wanted = match writing.acks {
        KafkaAcks::None => 0,
        KafkaAcks::Leader => 1,
        KafkaAcks::All => -1,
    };
    call.is_answered = writing.acks != KafkaAcks::None;
    call.body.no_text().int16(acks_wanted).int32(timeout_ms).count(1).text(topic).count(batches.len());
    for (partition, batch) in batches {
        call.body.int32(*partition).block(batch);
    }
    call
}

/// The result of one partition in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartitionAnswer {
    pub(super) partition: i32,
    pub(super) error: i16,
    /// Offset of the first record, or the requested offset.
    pub(super) offset: i64,
}

pub(super) fn read_produced(answer: &[u8], packing: KafkaPacking) -> KafkaRead<Vec<PartitionAnswer>> {
    of_topic(&mut KafkaReader::new(answer), |answer| {
        let produced = PartitionAnswer { partition: answer.int32()?, error: answer.int16()?, offset: answer.int64()? };
        answer.int64()?; // log append time
        if produce_version(packing) >= 5 {
            answer.int64()?; // log start offset
        }
        Ok(produced)
    })
}

/// A position in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogPoint {
    Beginning,
    End,
}

/// Requests offsets in partitions. The broker must lead them.
pub(super) fn offsets(topic: &str, partitions: &[i32], point: LogPoint) -> KafkaCall {
    let mut call = KafkaCall::new(2, 1);
    let point = match point {
        LogPoint::Beginning => -2,
        LogPoint::End => -1,
    };
    call.body.int32(NO_REPLICA).count(1).text(topic).count(partitions.len());
    for partition in partitions {
        call.body.int32(*partition).int64(point);
    }
    call
}

pub(super) fn read_offsets(answer: &[u8]) -> KafkaRead<Vec<PartitionAnswer>> {
    of_topic(&mut KafkaReader::new(answer), |answer| {
        let (partition, error) = (answer.int32()?, answer.int16()?);
        answer.int64()?; // timestamp
        Ok(PartitionAnswer { partition, error, offset: answer.int64()? })
    })
}

/// Requests the records from these offsets on, as soon as there are any. The broker must lead the partitions.
pub(super) fn fetch(topic: &str, from: &[(i32, i64)]) -> KafkaCall {
    let mut call = KafkaCall::new(1, 4);
    // Includes records of open transactions.
    let uncommitted = 0;
    call.body
        .int32(NO_REPLICA)
        .int32(FETCH_WAIT_MAX_MS)
        .int32(1)
        .int32(FETCH_BYTES_MAX)
        .int8(uncommitted)
        .count(1)
        .text(topic)
        .count(from.len());
    for (partition, offset) in from {
        call.body.int32(*partition).int64(*offset).int32(PARTITION_BYTES_MAX);
    }
    call
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct FetchedPartition<'a> {
    pub(super) partition: i32,
    pub(super) error: i16,
    /// Batches. The last one may be cut off.
    pub(super) log: &'a [u8],
}

pub(super) fn read_fetched(answer: &[u8]) -> KafkaRead<Vec<FetchedPartition<'_>>> {
    let mut answer = KafkaReader::new(answer);
    answer.int32()?; // throttle time
    of_topic(&mut answer, |answer| {
        let (partition, error) = (answer.int32()?, answer.int16()?);
        answer.int64()?; // high watermark
        answer.int64()?; // last stable offset
        answer.list(|answer| Ok((answer.int64()?, answer.int64()?)))?; // aborted transactions
        Ok(FetchedPartition { partition, error, log: answer.block()? })
    })
}

/// Announces a login with this mechanism.
pub(super) fn sasl_handshake(mechanism: &str) -> KafkaCall {
    let mut call = KafkaCall::new(17, 1);
    call.body.text(mechanism);
    call
}

/// Sends a message of the mechanism.
pub(super) fn sasl_authenticate(message: &[u8]) -> KafkaCall {
    let mut call = KafkaCall::new(36, 0);
    call.body.block(message);
    call
}

/// Error code, and the supported mechanisms.
pub(super) fn read_sasl_handshake(answer: &[u8]) -> KafkaRead<(i16, Vec<String>)> {
    let mut answer = KafkaReader::new(answer);
    Ok((answer.int16()?, answer.list(KafkaReader::text)?))
}

/// Error code, the broker's error message, and its message of the mechanism.
pub(super) fn read_sasl_authenticate(answer: &[u8]) -> KafkaRead<(i16, String, Vec<u8>)> {
    let mut answer = KafkaReader::new(answer);
    Ok((answer.int16()?, answer.text()?, answer.block()?.to_vec()))
}

/// The partitions of the single requested topic.
fn of_topic<'a, T>(answer: &mut KafkaReader<'a>, mut each: impl FnMut(&mut KafkaReader<'a>) -> KafkaRead<T>) -> KafkaRead<Vec<T>> {
    let topics = answer.list(|answer| {
        answer.text()?; // name
        answer.list(&mut each)
    })?;
    Ok(topics.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_has_kafkas_wire_format() {
        let asked = offsets("ab", &[1], LogPoint::End);
        let wanted: &[u8] =
            &[255, 255, 255, 255, 0, 0, 0, 1, 0, 2, b'a', b'b', 0, 0, 0, 1, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 255];
        assert_eq!((asked.key, asked.version, asked.body.bytes.as_slice()), (2, 1, wanted));
        let written = produce("t", KafkaWriting { acks: KafkaAcks::All, packing: KafkaPacking::Plain }, 5, &[(2, vec![9])]);
        let wanted: &[u8] = &[255, 255, 255, 255, 0, 0, 0, 5, 0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 9];
        assert_eq!(written.body.bytes, wanted);
    }

    #[test]
    fn an_impossible_length_allocates_nothing() {
        assert!(read_sasl_handshake(&[0, 0, 127, 255, 255, 255, 0, 1]).is_err());
    }

    proptest! {
        /// Any bytes yield a response or an error.
        #[test]
        fn no_answer_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read_metadata(&bytes);
            let _ = read_produced(&bytes, KafkaPacking::Plain);
            let _ = read_produced(&bytes, KafkaPacking::Zstd);
            let _ = read_offsets(&bytes);
            let _ = read_fetched(&bytes);
            let _ = read_sasl_handshake(&bytes);
            let _ = read_sasl_authenticate(&bytes);
        }
    }
}
