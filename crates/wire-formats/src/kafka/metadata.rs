//! Metadata: brokers, topics, and the leaders of partitions.

use super::primitives::{KafkaRead, KafkaReader};
use super::request::KafkaRequest;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaMetadata {
    pub brokers: Vec<KafkaBrokerAddress>,
    pub topics: Vec<KafkaTopic>,
}

/// The address that a broker advertises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaBrokerAddress {
    pub id: i32,
    pub host: String,
    pub port: i32,
}

impl KafkaBrokerAddress {
    /// `host:port`, with brackets around an IPv6 address.
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaTopic {
    pub error: i16,
    pub name: String,
    /// The topic is internal to Kafka.
    pub is_internal: bool,
    pub partitions: Vec<KafkaPartition>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaPartition {
    pub number: i32,
    /// Id of the leader. Negative if there is none.
    pub leader: i32,
    pub is_under_replicated: bool,
}

/// Requests the brokers and these topics. Empty: all topics. It does not create a topic.
pub fn metadata_request<S: AsRef<str>>(topics: &[S]) -> KafkaRequest {
    let mut request = KafkaRequest::new(3, 4);
    if topics.is_empty() {
        request.body.null_list();
    } else {
        request.body.count(topics.len());
        topics.iter().for_each(|topic| _ = request.body.text(topic.as_ref()));
    }
    // Whether to create missing topics.
    request.body.flag(false);
    request
}

/// Reads the response to [`metadata_request`].
pub fn read_metadata(response: &mut KafkaReader<'_>) -> KafkaRead<KafkaMetadata> {
    response.int32()?; // throttle time
    let brokers = response.list(|response| {
        let broker = KafkaBrokerAddress { id: response.int32()?, host: response.text()?, port: response.int32()? };
        response.text()?; // rack
        Ok(broker)
    })?;
    response.text()?; // cluster
    response.int32()?; // controller
    let topics = response.list(|response| {
        let (error, name, is_internal) = (response.int16()?, response.text()?, response.flag()?);
        Ok(KafkaTopic { error, name, is_internal, partitions: response.list(read_partition)? })
    })?;
    Ok(KafkaMetadata { brokers, topics })
}

fn read_partition(response: &mut KafkaReader<'_>) -> KafkaRead<KafkaPartition> {
    response.int16()?; // error: the leader reports it, too
    let (number, leader) = (response.int32()?, response.int32()?);
    let (replicas, in_sync) = (response.list(KafkaReader::int32)?, response.list(KafkaReader::int32)?);
    Ok(KafkaPartition { number, leader, is_under_replicated: in_sync.len() < replicas.len() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes as the Kafka protocol guide defines them ("Metadata", version 4).
    #[test]
    fn a_request_names_its_topics_or_all_and_creates_none() {
        assert_eq!(metadata_request(&["ab"]).body.bytes, [0, 0, 0, 1, 0, 2, b'a', b'b', 0]);
        assert_eq!(metadata_request::<&str>(&[]).body.bytes, [255, 255, 255, 255, 0]);
    }

    #[test]
    fn a_response_has_brokers_topics_and_leaders() {
        let broker: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5, 0, 1, b'h', 0, 0, 0x23, 0x84, 255, 255];
        let cluster: &[u8] = &[255, 255, 0, 0, 0, 5];
        let topic: &[u8] = &[0, 0, 0, 1, 0, 0, 0, 1, b't', 1];
        let partition: &[u8] = &[0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 5];
        let bytes = [broker, cluster, topic, partition].concat();
        let brokers = vec![KafkaBrokerAddress { id: 5, host: "h".to_owned(), port: 9_092 }];
        assert_eq!(brokers[0].authority(), "h:9092");
        let partitions = vec![KafkaPartition { number: 2, leader: 5, is_under_replicated: true }];
        let topics = vec![KafkaTopic { error: 0, name: "t".to_owned(), is_internal: true, partitions }];
        assert_eq!(read_metadata(&mut KafkaReader::new(&bytes)), Ok(KafkaMetadata { brokers, topics }));
        assert!(read_metadata(&mut KafkaReader::new(&bytes[..bytes.len() - 1])).is_err());
    }

    proptest! {
        #[test]
        fn no_response_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read_metadata(&mut KafkaReader::new(&bytes));
        }
    }
}
