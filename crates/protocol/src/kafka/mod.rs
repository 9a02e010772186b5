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
    use super::KafkaMechanism;
    use super::KafkaPacking;
    use super::calls;
    use super::records::read_batches;
    use super::scram::Scram;

    /// Every response of a broker.
    pub(crate) fn answers(bytes: &[u8]) {
        let _ = calls::read_metadata(bytes);
        let _ = calls::read_offsets(bytes);
        let _ = calls::read_produced(bytes, KafkaPacking::Plain);
        let _ = calls::read_produced(bytes, KafkaPacking::Zstd);
        let _ = calls::read_sasl_handshake(bytes);
        let _ = calls::read_sasl_authenticate(bytes);
        for partition in calls::read_fetched(bytes).unwrap_or_default() {
            batches(partition.log);
        }
    }

    /// The messages of a broker in a login with SCRAM. Without its nonce, no input is accepted, so every second one begins with it.
    pub(crate) fn login(bytes: &[u8]) {
        let Some(hash) = KafkaMechanism::ScramSha256.hash() else { return };
        let mut scram = Scram::new(hash, "ann", "hush", "nonce".to_owned());
        let answer = if bytes.len().is_multiple_of(2) { bytes.to_vec() } else { [b"r=nonce", bytes].concat() };
        assert!(scram.verify(bytes).is_err(), "a proof before any challenge");
        // A broker may demand up to a million rounds, which is slow and tests nothing here.
        if answer.windows(3).all(|window| !window.iter().all(u8::is_ascii_digit)) {
            let _ = scram.prove(&answer);
        }
        assert!(scram.verify(bytes).is_err(), "a proof by chance");
    }

    /// The number of records in a section of a partition's log, and the offset from which reading would continue.
    pub(crate) fn batches(bytes: &[u8]) -> (usize, Option<i64>) {
        let read = read_batches(bytes, 0);
        (read.records.len(), read.next)
    }
}
