//! The requests that are made, and what their answers say. Each is for reading: none creates a topic or joins a group.

use super::wire::{AnswerReader, KafkaRequest, MalformedAnswer, RequestWriter};

/// Kafka's error codes that are told apart.
pub(super) mod code {
    pub(in super::super) const NONE: i16 = 0;
    pub(in super::super) const UNKNOWN_TOPIC: i16 = 3;
    pub(in super::super) const INVALID_TOPIC: i16 = 17;
    pub(in super::super) const TOPIC_FORBIDDEN: i16 = 29;
    pub(in super::super) const GROUP_FORBIDDEN: i16 = 30;
}

/// In a request for offsets: the end of the partition.
const END: i64 = -1;
/// In a request for offsets: the one who asks is no broker.
const NO_REPLICA: i32 = -1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BrokerAddress {
    pub(super) id: i32,
    /// `host:port`
    pub(super) address: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Topic {
    pub(super) error: i16,
    pub(super) name: String,
    /// Kafka's own.
    pub(super) is_internal: bool,
    pub(super) partitions: Vec<Partition>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Partition {
    pub(super) number: i32,
    /// Id of a broker; negative where there is none.
    pub(super) leader: i32,
    pub(super) is_under_replicated: bool,
}

/// A consumer group, as the broker lists it that coordinates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedGroup {
    pub(super) name: String,
    /// `consumer`, or empty where offsets are committed without members.
    pub(super) protocol: String,
}

/// The offset of a partition: its end, or what a group has committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartitionOffset {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) error: i16,
    /// Negative where there is none.
    pub(super) offset: i64,
}

/// The brokers, and the named topics; all topics where none is named.
pub(super) fn metadata(names: &[String]) -> KafkaRequest<(Vec<BrokerAddress>, Vec<Topic>)> {
    let body = RequestWriter::default();
    let body = if names.is_empty() { body.no_list() } else { body.list(names.iter(), |body, name| body.text(name)) };
    // A topic that is asked for is not to be created by that.
    KafkaRequest { key: 3, version: 4, body: body.flag(false), read: read_metadata }
}

fn read_metadata(answer: &mut AnswerReader<'_>) -> Result<(Vec<BrokerAddress>, Vec<Topic>), MalformedAnswer> {
    answer.int32()?; // throttled for
    let brokers = answer.list(|answer| {
        let (id, host, port) = (answer.int32()?, answer.text()?, answer.int32()?);
        answer.text()?; // rack
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        Ok(BrokerAddress { id, address: format!("{host}:{port}") })
    })?;
    answer.text()?; // cluster
    answer.int32()?; // controller
    let topics = answer.list(|answer| {
        let (error, name, is_internal) = (answer.int16()?, answer.text()?, answer.flag()?);
        Ok(Topic { error, name, is_internal, partitions: answer.list(read_partition)? })
    })?;
    Ok((brokers, topics))
}

fn read_partition(answer: &mut AnswerReader<'_>) -> Result<Partition, MalformedAnswer> {
    answer.int16()?; // error: said by the leader as well
    let (number, leader) = (answer.int32()?, answer.int32()?);
    let (replicas, in_sync) = (answer.list(AnswerReader::int32)?, answer.list(AnswerReader::int32)?);
    Ok(Partition { number, leader, is_under_replicated: in_sync.len() < replicas.len() })
}

/// Where the partitions end, of which the broker asked is the leader.
pub(super) fn ends(partitions: &[(&str, Vec<i32>)]) -> KafkaRequest<Vec<PartitionOffset>> {
    let body = RequestWriter::default().int32(NO_REPLICA).list(partitions.iter(), |body, (topic, numbers)| {
        body.text(topic).list(numbers.iter(), |body, number| body.int32(*number).int64(END))
    });
    KafkaRequest { key: 2, version: 1, body, read: read_ends }
}

fn read_ends(answer: &mut AnswerReader<'_>) -> Result<Vec<PartitionOffset>, MalformedAnswer> {
    read_offsets(answer, |answer| {
        let (partition, error) = (answer.int32()?, answer.int16()?);
        answer.int64()?; // time
        Ok((partition, error, answer.int64()?))
    })
}

/// The groups that the broker asked coordinates.
pub(super) fn groups() -> KafkaRequest<(i16, Vec<ListedGroup>)> {
    let read = |answer: &mut AnswerReader<'_>| {
        let error = answer.int16()?;
        Ok((error, answer.list(|answer| Ok(ListedGroup { name: answer.text()?, protocol: answer.text()? }))?))
    };
    KafkaRequest { key: 16, version: 0, body: RequestWriter::default(), read }
}

/// All that a group has committed, asked of its coordinator. The first is the error of the group.
pub(super) fn committed(group: &str) -> KafkaRequest<(i16, Vec<PartitionOffset>)> {
    let read = |answer: &mut AnswerReader<'_>| {
        let offsets = read_offsets(answer, |answer| {
            let (partition, offset) = (answer.int32()?, answer.int64()?);
            answer.text()?; // the consumer's note
            Ok((partition, answer.int16()?, offset))
        })?;
        Ok((answer.int16()?, offsets))
    };
    KafkaRequest { key: 9, version: 2, body: RequestWriter::default().text(group).no_list(), read }
}

/// How many members groups have, asked of their coordinator: `None` for a group that it does not know by this request.
pub(super) fn members(groups: &[&str]) -> KafkaRequest<Vec<(String, Option<usize>)>> {
    let body = RequestWriter::default().list(groups.iter(), |body, name| body.text(name));
    KafkaRequest { key: 15, version: 0, body, read: read_members }
}

fn read_members(answer: &mut AnswerReader<'_>) -> Result<Vec<(String, Option<usize>)>, MalformedAnswer> {
    answer.list(|answer| {
        let (error, name, state) = (answer.int16()?, answer.text()?, answer.text()?);
        answer.text()?; // protocol type
        answer.text()?; // protocol
        let members = answer.list(|answer| {
            for _ in 0..3 {
                answer.text()?; // member, client, host
            }
            answer.skip_bytes()?; // subscription
            answer.skip_bytes() // assignment
        })?;
        Ok((name, (error == code::NONE && state != "Dead").then_some(members.len())))
    })
}

/// Topics with partitions, each of which is read by `each`: its number, its error and its offset.
fn read_offsets(
    answer: &mut AnswerReader<'_>,
    each: impl Fn(&mut AnswerReader<'_>) -> Result<(i32, i16, i64), MalformedAnswer>,
) -> Result<Vec<PartitionOffset>, MalformedAnswer> {
    let topics = answer.list(|answer| {
        let topic = answer.text()?;
        answer.list(|answer| {
            let (partition, error, offset) = each(answer)?;
            Ok(PartitionOffset { topic: topic.clone(), partition, error, offset })
        })
    })?;
    Ok(topics.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_is_written_as_kafka_reads_it() {
        let asked = ends(&[("ab", vec![1])]);
        let wanted: &[u8] =
            &[255, 255, 255, 255, 0, 0, 0, 1, 0, 2, b'a', b'b', 0, 0, 0, 1, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 255];
        assert_eq!((asked.key, asked.version, asked.body.bytes.as_slice()), (2, 1, wanted));
        assert_eq!(metadata(&[]).body.bytes, [255, 255, 255, 255, 0]);
    }

    #[test]
    fn a_length_that_cannot_be_makes_no_room() {
        let announces_too_much: &[u8] = &[0, 0, 127, 255, 255, 255, 0, 1];
        assert_eq!((groups().read)(&mut AnswerReader::new(announces_too_much)), Err(MalformedAnswer));
        let lacks_its_text: &[u8] = &[0, 0, 0, 0, 0, 1, 0, 9, b'a'];
        assert_eq!((groups().read)(&mut AnswerReader::new(lacks_its_text)), Err(MalformedAnswer));
    }

    proptest! {
        /// Whatever comes is an answer or an error.
        #[test]
        fn no_answer_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (metadata(&[]).read)(&mut AnswerReader::new(&bytes));
            let _ = (ends(&[]).read)(&mut AnswerReader::new(&bytes));
            let _ = (committed("g").read)(&mut AnswerReader::new(&bytes));
            let _ = (members(&[]).read)(&mut AnswerReader::new(&bytes));
        }
    }
}
