//! Kafka: writes records to a topic's partitions, and reads records as they are written.
//!
//! Read [`KafkaClient`] first: a producer for one user. [`KafkaTail`] follows a topic from its end. Both reach brokers through `brokers`. `calls`
//! defines the requests, in the format of `loadstone_wire_formats::kafka`, and `records` defines batches of records. Uses [`raw`](crate::raw)
//! connections. Deliberately absent: consumer groups, transactions, retries.

mod address;
mod brokers;
mod calls;
mod client;
mod link;
mod packing;
mod partitioning;
mod records;
mod refusal;
mod scram;
mod tail;

pub use address::{KafkaAddress, KafkaAddressError};
pub use calls::{KafkaAcks, KafkaWriting};
pub use client::{KafkaClient, KafkaExchange, KafkaPlace};
pub use packing::KafkaPacking;
pub use records::KafkaRecord;
pub use refusal::{KafkaProblem, KafkaRefusal};
pub use scram::KafkaMechanism;
pub use tail::{KafkaReadRecord, KafkaTail};

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    use super::records::read_batches;

    /// The number of records in a section of a partition's log, and the offset from which reading would continue.
    pub(crate) fn batches(bytes: &[u8]) -> (usize, Option<i64>) {
        let read = read_batches(bytes, 0);
        (read.records.len(), read.next)
    }
}
