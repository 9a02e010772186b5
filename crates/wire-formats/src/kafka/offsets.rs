//! Offsets of partitions: the beginning or the end of their logs.

use std::sync::Arc;

use super::primitives::{KafkaRead, KafkaReader};
use super::request::KafkaRequest;

/// The client is not a broker.
const NO_REPLICA: i32 = -1;

/// A position in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogPoint {
    Beginning,
    End,
}

/// The offset of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionOffset {
    /// Shared by all partitions of the topic: a name may be long, and a response may have many partitions.
    pub topic: Arc<str>,
    pub partition: i32,
    pub error: i16,
    /// Negative if there is none.
    pub offset: i64,
}

/// Requests offsets in partitions, by topic. The broker must lead them.
pub fn offsets_request(partitions: &[(&str, Vec<i32>)], point: LogPoint) -> KafkaRequest {
    let mut request = KafkaRequest::new(2, 1);
    let timestamp = match point {
        LogPoint::Beginning => -2,
        LogPoint::End => -1,
    };
    request.body.int32(NO_REPLICA).count(partitions.len());
    for (topic, numbers) in partitions {
        request.body.text(topic).count(numbers.len());
        numbers.iter().for_each(|number| _ = request.body.int32(*number).int64(timestamp));
    }
    request
}

/// Reads the response to [`offsets_request`].
pub fn read_offsets(response: &mut KafkaReader<'_>) -> KafkaRead<Vec<PartitionOffset>> {
    read_partition_offsets(response, |response| {
        let (partition, error) = (response.int32()?, response.int16()?);
        response.int64()?; // timestamp
        Ok((partition, error, response.int64()?))
    })
}

/// Reads topics with partitions. `each` reads the number, the error and the offset of a partition.
pub fn read_partition_offsets(
    response: &mut KafkaReader<'_>,
    each: impl Fn(&mut KafkaReader<'_>) -> KafkaRead<(i32, i16, i64)>,
) -> KafkaRead<Vec<PartitionOffset>> {
    let topics = response.list(|response| {
        let topic: Arc<str> = response.text()?.into();
        response.list(|response| {
            let (partition, error, offset) = each(response)?;
            Ok(PartitionOffset { topic: Arc::clone(&topic), partition, error, offset })
        })
    })?;
    Ok(topics.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::primitives::MalformedKafka;
    use super::*;

    /// Bytes as the Kafka protocol guide defines them ("ListOffsets", version 1).
    #[test]
    fn a_request_has_kafkas_wire_format() {
        let request = offsets_request(&[("ab", vec![1])], LogPoint::End);
        let body: &[u8] =
            &[255, 255, 255, 255, 0, 0, 0, 1, 0, 2, b'a', b'b', 0, 0, 0, 1, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 255];
        assert_eq!((request.key, request.version, request.body.bytes.as_slice()), (2, 1, body));
    }

    /// 12 MiB with a long name once took 1 GiB of memory for every 32,768 partitions.
    #[test]
    fn all_partitions_of_a_topic_share_its_name() {
        let name = [b'a'; 300];
        let partition = [0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
        let response = [&[0, 0, 0, 1, 1, 44], &name[..], &[0, 0, 0, 2], &partition, &partition].concat();
        let offsets = read_offsets(&mut KafkaReader::new(&response)).unwrap();
        assert_eq!((offsets.len(), offsets[1].partition, offsets[1].offset), (2, 7, 9));
        assert!(Arc::ptr_eq(&offsets[0].topic, &offsets[1].topic));
    }

    #[test]
    fn an_impossible_length_allocates_nothing() {
        let too_many: &[u8] = &[127, 255, 255, 255, 0, 1];
        assert_eq!(read_offsets(&mut KafkaReader::new(too_many)), Err(MalformedKafka));
        let truncated: &[u8] = &[0, 0, 0, 1, 0, 9, b'a'];
        assert_eq!(read_offsets(&mut KafkaReader::new(truncated)), Err(MalformedKafka));
    }

    proptest! {
        #[test]
        fn no_response_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read_offsets(&mut KafkaReader::new(&bytes));
        }
    }
}
