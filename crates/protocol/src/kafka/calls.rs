//! Requests to brokers, and their responses.
//!
//! `loadstone_wire_formats::kafka` has the format, the choice of versions, and the requests that other clients send, too. SASL needs Kafka 1.0.

use loadstone_wire_formats::kafka::{
    KafkaBrokerAddress, KafkaMetadata, KafkaRead, KafkaReader, KafkaRequest, LogPoint, MalformedKafka, PartitionOffset, metadata_request,
    offsets_request,
};

use super::packing::KafkaPacking;
use crate::failure::Failure;

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

/// A request, and whether it has a response.
#[derive(Debug)]
pub(super) struct KafkaCall {
    pub(super) request: KafkaRequest,
    pub(super) is_answered: bool,
}

impl KafkaCall {
    fn new(key: i16, version: i16) -> Self {
        KafkaRequest::new(key, version).into()
    }
}

impl From<KafkaRequest> for KafkaCall {
    fn from(request: KafkaRequest) -> Self {
        Self { request, is_answered: true }
    }
}

impl From<MalformedKafka> for Failure {
    fn from(malformed: MalformedKafka) -> Self {
        Self::protocol(malformed.to_string())
    }
}

/// Requests the brokers, and the leaders of a topic's partitions. It does not create the topic.
pub(super) fn metadata(topic: &str) -> KafkaCall {
    metadata_request(&[topic]).into()
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct TopicPlaces {
    pub(super) brokers: Vec<KafkaBrokerAddress>,
    pub(super) error: i16,
    /// Number of a partition, and the id of its leader. The id is negative if there is none.
    pub(super) leaders: Vec<(i32, i32)>,
}

pub(super) fn read_metadata(answer: &[u8]) -> KafkaRead<TopicPlaces> {
    let KafkaMetadata { brokers, topics } = loadstone_wire_formats::kafka::read_metadata(&mut KafkaReader::new(answer))?;
    let topic = topics.into_iter().next();
    let error = topic.as_ref().map_or(0, |topic| topic.error);
    let partitions = topic.map(|topic| topic.partitions).unwrap_or_default();
    Ok(TopicPlaces { brokers, error, leaders: partitions.iter().map(|partition| (partition.number, partition.leader)).collect() })
}

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KafkaWriting {
    pub acks: KafkaAcks,
    pub packing: KafkaPacking,
}

/// Brokers only accept zstd from clients that declare support for it (KIP-110). Clients do so with a version whose request is the same and whose
/// response has one more number.
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
    call.request.body.null_text().int16(acks_wanted).int32(timeout_ms).count(1).text(topic).count(batches.len());
    for (partition, batch) in batches {
        call.request.body.int32(*partition).block(batch);
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

/// Requests offsets in partitions. The broker must lead them.
pub(super) fn offsets(topic: &str, partitions: &[i32], point: LogPoint) -> KafkaCall {
    offsets_request(&[(topic, partitions.to_vec())], point).into()
}

pub(super) fn read_offsets(answer: &[u8]) -> KafkaRead<Vec<PartitionOffset>> {
    loadstone_wire_formats::kafka::read_offsets(&mut KafkaReader::new(answer))
}

/// Requests the records from these offsets on, as soon as there are any. The broker must lead the partitions.
pub(super) fn fetch(topic: &str, from: &[(i32, i64)]) -> KafkaCall {
    let mut call = KafkaCall::new(1, 4);
    // Includes records of open transactions.
    let uncommitted = 0;
    call.request
        .body
        .int32(NO_REPLICA)
        .int32(FETCH_WAIT_MAX_MS)
        .int32(1)
        .int32(FETCH_BYTES_MAX)
        .int8(uncommitted)
        .count(1)
        .text(topic)
        .count(from.len());
    for (partition, offset) in from {
        call.request.body.int32(*partition).int64(*offset).int32(PARTITION_BYTES_MAX);
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
    call.request.body.text(mechanism);
    call
}

/// Sends a message of the mechanism.
pub(super) fn sasl_authenticate(message: &[u8]) -> KafkaCall {
    let mut call = KafkaCall::new(36, 0);
    call.request.body.block(message);
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
        let offsets = offsets("ab", &[1], LogPoint::End);
        let wanted: &[u8] =
            &[255, 255, 255, 255, 0, 0, 0, 1, 0, 2, b'a', b'b', 0, 0, 0, 1, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 255];
        assert_eq!((offsets.request.key, offsets.request.version, offsets.request.body.bytes.as_slice()), (2, 1, wanted));
        let written = produce("t", KafkaWriting { acks: KafkaAcks::All, packing: KafkaPacking::Plain }, 5, &[(2, vec![9])]);
        let wanted: &[u8] = &[255, 255, 255, 255, 0, 0, 0, 5, 0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 9];
        assert_eq!(written.request.body.bytes, wanted);
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
