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
mod tests {
    use std::path::Path;

    use super::*;

    /// Calls the function of a target with its seeds, cut and changed in many ways. Fuzzing goes on from the same seeds.
    fn damaged(target: &str, read: fn(&[u8])) {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
        let mut random = 0x9e37_79b9_u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % below
        };
        for seed in std::fs::read_dir(seeds).unwrap() {
            let seed = std::fs::read(seed.unwrap().path()).unwrap();
            read(&seed);
            for _ in 0..300 {
                let mut bytes = seed.clone();
                for _ in 0..=next(3) {
                    let at = next(bytes.len());
                    match next(4) {
                        0 => bytes.truncate(at.max(1)),
                        1 => bytes[at] = next(256) as u8,
                        2 => bytes[at] = b"\0\xff\"'<>[]{}(),;:%\\\n09-"[next(21)],
                        _ => drop(bytes.splice(at..at, seed[next(seed.len())..].iter().copied().take(20).collect::<Vec<_>>())),
                    }
                }
                read(&bytes);
            }
        }
    }

    #[test]
    fn damaged_packets_end_with_an_error() {
        damaged("packets", packets);
    }
}
