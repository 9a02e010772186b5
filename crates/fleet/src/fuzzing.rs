//! The functions that the fuzz targets call. Each reads arbitrary bytes as what other participants publish on the bus.
//!
//! Behind the feature `fuzzing` and in this crate's own tests, so that no parser becomes part of the crate's public API.

use bytes::Bytes;

use crate::link::ReliableLink;
use crate::message::{ToAgent, ToController, packed_text, unpack};
use crate::packet::{Header, MessagePart, PacketKind};
use crate::signed_bus;

/// A packet: signed, and as the part of a message.
pub fn packets(input: &[u8]) {
    assert!(!signed_bus::is_verified(input), "a signature by chance");
    if let Some(header) = Header::decode(input) {
        assert_eq!(Header::decode(&header.encode()), Some(header.clone()));
        if let PacketKind::Part(part) = header.kind {
            received(part);
        }
    }
    let bytes = Bytes::copy_from_slice(input);
    received(MessagePart { number: Some(0), received: 0, goes_on: false, bytes });
    // Most inputs are not compressed, and JSON is where the structure is.
    let packed = packed_text(input);
    let _ = (ToController::unpack(&packed), unpack::<ToAgent>(&packed));
}

fn received(part: MessagePart) {
    for message in ReliableLink::default().receive(part) {
        let _ = (ToController::unpack(&message), unpack::<ToAgent>(&message));
    }
}

#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::damaged;
    use super::*;

    #[test]
    fn damaged_packets_end_with_an_error() {
        damaged("packets", packets);
    }
}
