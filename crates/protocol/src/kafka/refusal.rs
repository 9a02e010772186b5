//! Errors that brokers return, by the codes of Kafka's protocol.

use loadstone_metrics::Outcome;

use crate::failure::Failure;

/// Codes with special handling (Kafka protocol guide, "Error codes").
pub(super) const OFFSET_OUT_OF_RANGE: i16 = 1;
pub(super) const UNKNOWN_PARTITION: i16 = 3;
pub(super) const NO_LEADER: i16 = 5;

/// Names as in Kafka's own clients, for codes that producers and readers outside groups can receive.
const NAMES: [(i16, &str); 40] = [
    (-1, "UNKNOWN_SERVER_ERROR"),
    (1, "OFFSET_OUT_OF_RANGE"),
    (2, "CORRUPT_MESSAGE"),
    (3, "UNKNOWN_TOPIC_OR_PARTITION"),
    (4, "INVALID_FETCH_SIZE"),
    (5, "LEADER_NOT_AVAILABLE"),
    (6, "NOT_LEADER_OR_FOLLOWER"),
    (7, "REQUEST_TIMED_OUT"),
    (8, "BROKER_NOT_AVAILABLE"),
    (9, "REPLICA_NOT_AVAILABLE"),
    (10, "MESSAGE_TOO_LARGE"),
    (13, "NETWORK_EXCEPTION"),
    (17, "INVALID_TOPIC_EXCEPTION"),
    (18, "RECORD_LIST_TOO_LARGE"),
    (19, "NOT_ENOUGH_REPLICAS"),
    (20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
    (21, "INVALID_REQUIRED_ACKS"),
    (29, "TOPIC_AUTHORIZATION_FAILED"),
    (31, "CLUSTER_AUTHORIZATION_FAILED"),
    (32, "INVALID_TIMESTAMP"),
    (33, "UNSUPPORTED_SASL_MECHANISM"),
    (34, "ILLEGAL_SASL_STATE"),
    (35, "UNSUPPORTED_VERSION"),
    (41, "NOT_CONTROLLER"),
    (42, "INVALID_REQUEST"),
    (43, "UNSUPPORTED_FOR_MESSAGE_FORMAT"),
    (44, "POLICY_VIOLATION"),
    (45, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    (54, "SECURITY_DISABLED"),
    (55, "OPERATION_NOT_ATTEMPTED"),
    (56, "KAFKA_STORAGE_ERROR"),
    (58, "SASL_AUTHENTICATION_FAILED"),
    (72, "LISTENER_NOT_FOUND"),
    (74, "FENCED_LEADER_EPOCH"),
    (75, "UNKNOWN_LEADER_EPOCH"),
    (76, "UNSUPPORTED_COMPRESSION_TYPE"),
    (78, "OFFSET_NOT_AVAILABLE"),
    (87, "INVALID_RECORD"),
    (89, "THROTTLING_QUOTA_EXCEEDED"),
    (100, "UNKNOWN_TOPIC_ID"),
];

/// A broker's error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaRefusal {
    pub code: i16,
    /// The subject of the error, such as `partition 3 of orders`.
    pub about: String,
}

impl KafkaRefusal {
    pub(super) fn new(code: i16, about: impl Into<String>) -> Self {
        Self { code, about: about.into() }
    }

    /// Such as `NOT_ENOUGH_REPLICAS`, or the code's number if it has no name here.
    pub fn name(&self) -> String {
        let known = NAMES.iter().find(|(code, _)| *code == self.code);
        known.map_or_else(|| self.code.to_string(), |(_, name)| (*name).to_owned())
    }

    /// The complete message.
    pub fn text(&self) -> String {
        format!("{} ({}): {}", self.name(), self.code, self.about)
    }
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KafkaProblem {
    /// There is no response.
    Failed(Failure),
    /// The broker returned an error.
    Refused(KafkaRefusal),
}

impl From<Failure> for KafkaProblem {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<KafkaRefusal> for KafkaProblem {
    fn from(refusal: KafkaRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl KafkaProblem {
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Failed(failure) => failure.outcome,
            Self::Refused(_) => Outcome::Status,
        }
    }

    /// The complete message.
    pub fn text(&self) -> String {
        match self {
            Self::Failed(failure) => failure.message.clone(),
            Self::Refused(refusal) => refusal.text(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_shown_by_name_or_by_number() {
        assert_eq!(KafkaRefusal::new(19, "partition 0 of orders").text(), "NOT_ENOUGH_REPLICAS (19): partition 0 of orders");
        assert_eq!(KafkaRefusal::new(1234, "x").name(), "1234");
        assert!(NAMES.is_sorted_by_key(|(code, _)| *code), "each code once");
    }
}
