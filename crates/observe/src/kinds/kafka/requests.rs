//! The requests and their responses. All are read-only: none creates a topic or joins a group.

use loadstone_wire_formats::kafka::{
    KafkaMetadata, KafkaRead, KafkaReader, KafkaRequest, LogPoint, PartitionOffset, metadata_request, offsets_request, read_metadata,
    read_offsets, read_partition_offsets,
};

/// A request, and the function that reads its response.
#[derive(Debug)]
pub(super) struct ReadRequest<T> {
    pub(super) request: KafkaRequest,
    pub(super) read: fn(&mut KafkaReader<'_>) -> KafkaRead<T>,
}

/// Kafka's error codes that the observer distinguishes.
pub(super) mod code {
    pub(in super::super) const NONE: i16 = 0;
    pub(in super::super) const UNKNOWN_TOPIC: i16 = 3;
    pub(in super::super) const INVALID_TOPIC: i16 = 17;
    pub(in super::super) const TOPIC_FORBIDDEN: i16 = 29;
    pub(in super::super) const GROUP_FORBIDDEN: i16 = 30;
}

/// A broker and its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Broker {
    pub(super) id: i32,
    /// `host:port`
    pub(super) address: String,
}

/// A consumer group, as the broker lists it that coordinates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedGroup {
    pub(super) name: String,
    /// `consumer`, or empty where offsets are committed without members.
    pub(super) protocol: String,
}

/// The brokers, and the named topics; all topics where none is named.
pub(super) fn metadata(names: &[String]) -> ReadRequest<KafkaMetadata> {
    ReadRequest { request: metadata_request(names), read: read_metadata }
}

/// The ends of the partitions that the broker leads.
pub(super) fn ends(partitions: &[(&str, Vec<i32>)]) -> ReadRequest<Vec<PartitionOffset>> {
    ReadRequest { request: offsets_request(partitions, LogPoint::End), read: read_offsets }
}

/// The groups that the broker coordinates.
pub(super) fn groups() -> ReadRequest<(i16, Vec<ListedGroup>)> {
    let read = |answer: &mut KafkaReader<'_>| {
        let error = answer.int16()?;
        Ok((error, answer.list(|answer| Ok(ListedGroup { name: answer.text()?, protocol: answer.text()? }))?))
    };
    ReadRequest { request: KafkaRequest::new(16, 0), read }
}

/// All committed offsets of a group, from its coordinator. The first value is the group's error code.
pub(super) fn committed(group: &str) -> ReadRequest<(i16, Vec<PartitionOffset>)> {
    let read = |answer: &mut KafkaReader<'_>| {
        let offsets = read_partition_offsets(answer, |answer| {
            let (partition, offset) = (answer.int32()?, answer.int64()?);
            answer.text()?; // the consumer's note
            Ok((partition, answer.int16()?, offset))
        })?;
        Ok((answer.int16()?, offsets))
    };
    let mut request = KafkaRequest::new(9, 2);
    request.body.text(group).null_list();
    ReadRequest { request, read }
}

/// The numbers of members of groups, from their coordinator; `None` for a group that does not support this request.
pub(super) fn members(groups: &[&str]) -> ReadRequest<Vec<(String, Option<usize>)>> {
    let mut request = KafkaRequest::new(15, 0);
    request.body.count(groups.len());
    groups.iter().for_each(|name| _ = request.body.text(name));
    ReadRequest { request, read: read_members }
}

fn read_members(answer: &mut KafkaReader<'_>) -> KafkaRead<Vec<(String, Option<usize>)>> {
    answer.list(|answer| {
        let (error, name, state) = (answer.int16()?, answer.text()?, answer.text()?);
        answer.text()?; // protocol type
        answer.text()?; // protocol
        let members = answer.list(|answer| {
            for _ in 0..3 {
                answer.text()?; // member, client, host
            }
            answer.block()?; // subscription
            answer.block() // assignment
        })?;
        Ok((name, (error == code::NONE && state != "Dead").then_some(members.len())))
    })
}

#[cfg(test)]
mod tests {
    use loadstone_wire_formats::kafka::MalformedKafka;
    use proptest::prelude::*;

    use super::*;

    /// Bytes as the Kafka protocol guide defines them ("OffsetFetch", version 2; "DescribeGroups", version 0).
    #[test]
    fn a_request_has_kafkas_wire_format() {
        let committed = committed("ab").request;
        assert_eq!((committed.key, committed.version), (9, 2));
        assert_eq!(committed.body.bytes, [0, 2, b'a', b'b', 255, 255, 255, 255]);
        let members = members(&["c"]).request;
        assert_eq!((members.key, members.version), (15, 0));
        assert_eq!(members.body.bytes, [0, 0, 0, 1, 0, 1, b'c']);
    }

    #[test]
    fn an_impossible_length_allocates_nothing() {
        let too_many: &[u8] = &[0, 0, 127, 255, 255, 255, 0, 1];
        assert_eq!((groups().read)(&mut KafkaReader::new(too_many)), Err(MalformedKafka));
        let truncated: &[u8] = &[0, 0, 0, 0, 0, 1, 0, 9, b'a'];
        assert_eq!((groups().read)(&mut KafkaReader::new(truncated)), Err(MalformedKafka));
    }

    proptest! {
        /// Any input is a response or an error.
        #[test]
        fn no_answer_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (committed("g").read)(&mut KafkaReader::new(&bytes));
            let _ = (members(&[]).read)(&mut KafkaReader::new(&bytes));
        }
    }
}
