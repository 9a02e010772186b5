//! Kafka's wire format: its primitive types, the framing of requests, and the requests that several clients send.
//!
//! Read [`KafkaWriter`] and [`KafkaReader`] first, then [`KafkaRequest`]. Each request uses a version that both Kafka 0.11 and 4 support (KIP-896
//! lists those that remain), from before lengths became variable (KIP-482). None creates a topic or joins a group. Deliberately absent: connections,
//! and requests that only one client sends.

mod metadata;
mod offsets;
mod primitives;
mod request;

pub use metadata::{KafkaBrokerAddress, KafkaMetadata, KafkaPartition, KafkaTopic, metadata_request, read_metadata};
pub use offsets::{LogPoint, PartitionOffset, offsets_request, read_offsets, read_partition_offsets};
pub use primitives::{KafkaRead, KafkaReader, KafkaWriter, MalformedKafka};
pub use request::KafkaRequest;
