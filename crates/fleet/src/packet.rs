//! What travels: a header as one line of JSON, and behind it a part of a message.

use bytes::Bytes;
use loadstone_metrics::Nanos;
use serde::{Deserialize, Serialize};

use crate::facts::AgentFacts;

/// Most bytes behind one header: a NATS server takes 1 MiB unless it is set otherwise.
pub(crate) const PART_MAX: usize = 256 * 1024;

/// What both sides must have in common: Loadstone's version, as either may have changed what a test does, and the number of this wire format.
pub fn version() -> String {
    format!("{}/{}", env!("CARGO_PKG_VERSION"), 3)
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Of the sender, see [`version`].
    pub(crate) version: String,
    /// The run; empty where there is none yet.
    pub(crate) run: String,
    /// The agent that sends, or is sent to.
    pub(crate) agent: String,
    pub(crate) kind: PacketKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PacketKind {
    /// From an agent that has no run to whoever looks for one.
    Announce(AgentFacts),
    /// To an agent: it is part of this run from now on.
    Claim,
    /// MessagePart of a message, or only that so much has arrived.
    Part(MessagePart),
    /// To an agent: what does its clock say? And all its seconds before this one are on disk. `lease`: it may start load before this instant of the
    /// run; `None`: without end.
    Ping {
        sent: Nanos,
        written: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<Nanos>,
    },
    /// Its answer.
    Pong { sent: Nanos, at: Nanos },
    /// To an agent: give what it keeps of this run.
    Collect,
    /// The run is over for the receiver.
    Bye { why: String },
}

/// See [`ReliableLink`](crate::link::ReliableLink).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MessagePart {
    /// Number of this part in its direction; `None` where only `received` is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) number: Option<u64>,
    /// The sender has received all parts below this.
    pub(crate) received: u64,
    /// The message goes on in the next part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) goes_on: bool,
    #[serde(skip)]
    pub(crate) bytes: Bytes,
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        // Cannot fail: no map of it has keys other than text.
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        if let PacketKind::Part(part) = &self.kind {
            bytes.extend_from_slice(&part.bytes);
        }
        bytes
    }

    /// `None`: it is not one of ours.
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
    fn what_was_encoded_is_decoded_and_nothing_else() {
        let part = MessagePart { number: Some(7), received: 3, goes_on: true, bytes: Bytes::from_static(b"a\nb") };
        let header = Header { version: version(), run: "r".into(), agent: "a".into(), kind: PacketKind::Part(part) };
        assert_eq!(Header::decode(&header.encode()), Some(header));
        for other in ["", "\n", "{}\n", "GET / HTTP/1.1\r\n"] {
            assert_eq!(Header::decode(other.as_bytes()), None, "{other:?}");
        }
    }
}
