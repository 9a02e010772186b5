//! The wire format: a header as one line of JSON, followed by a part of a message.

use bytes::Bytes;
use loadstone_metrics::Nanos;
use serde::{Deserialize, Serialize};

use crate::facts::AgentFacts;

/// Limit on the bytes after one header. A NATS server accepts 1 MiB by default.
pub(crate) const PART_BYTES_MAX: usize = 256 * 1024;

/// Must be equal on both sides. It contains Loadstone's version, as each version may execute a test differently, and the number of this wire format.
pub fn version() -> String {
    format!("{}/{}", env!("CARGO_PKG_VERSION"), 5)
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Of the sender: see [`version`].
    pub(crate) version: String,
    /// The run. Empty if there is none yet.
    pub(crate) run: String,
    /// The agent that sends or receives the packet.
    pub(crate) agent: String,
    pub(crate) kind: PacketKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PacketKind {
    /// From an agent without a run to controllers that look for agents.
    Announce(AgentFacts),
    /// To an agent: it is part of this run from now on.
    Claim,
    /// A part of a message, or only an acknowledgement.
    Part(MessagePart),
    /// To an agent: requests its clock, and informs it that all its seconds before `written` are on disk. `lease`: it may start load before this
    /// instant of the run. `None`: unlimited.
    Ping {
        sent: Nanos,
        written: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<Nanos>,
    },
    /// The answer to a ping.
    Pong { sent: Nanos, at: Nanos },
    /// To an agent: requests the seconds that it keeps of this run.
    Collect,
    /// The run is over for the receiver.
    Bye { why: String },
}

/// See [`ReliableLink`](crate::link::ReliableLink).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MessagePart {
    /// Number of this part in its direction. `None` if the packet only acknowledges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) number: Option<u64>,
    /// The sender has received all parts below this number.
    pub(crate) received: u64,
    /// The message continues in the next part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) goes_on: bool,
    #[serde(skip)]
    pub(crate) bytes: Bytes,
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        // Cannot fail: the header has no map with keys other than strings.
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        if let PacketKind::Part(part) = &self.kind {
            bytes.extend_from_slice(&part.bytes);
        }
        bytes
    }

    /// `None`: the packet is not one of ours.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let line = bytes.iter().position(|byte| *byte == b'\n')?;
        let mut header: Header = serde_json::from_slice(&bytes[..line]).ok()?;
        if let PacketKind::Part(part) = &mut header.kind {
            part.bytes = Bytes::copy_from_slice(&bytes[line + 1..]);
        }
        Some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_encoded_packets_are_decoded() {
        let part = MessagePart { number: Some(7), received: 3, goes_on: true, bytes: Bytes::from_static(b"a\nb") };
        let header = Header { version: version(), run: "r".into(), agent: "a".into(), kind: PacketKind::Part(part) };
        assert_eq!(Header::decode(&header.encode()), Some(header));
        for other in ["", "\n", "{}\n", "GET / HTTP/1.1\r\n"] {
            assert_eq!(Header::decode(other.as_bytes()), None, "{other:?}");
        }
    }
}
