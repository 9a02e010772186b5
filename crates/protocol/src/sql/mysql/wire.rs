//! Packets (MySQL, "Protocol Basics"), read in place.

use crate::failure::Failure;

/// Three bytes of length, and a sequence number.
const HEAD_BYTES: usize = 4;
/// A payload of this size or more continues in the next packet.
const PACKET_BYTES_MAX: usize = 0xff_ffff;

/// One packet of a sequence.
#[derive(Debug, Clone, Copy)]
pub(super) struct WirePacket<'a> {
    pub(super) number: u8,
    pub(super) body: &'a [u8],
    /// Offset of the next packet.
    pub(super) next: usize,
}

/// The packet that begins here. `None` while it is incomplete.
pub(super) fn packet(bytes: &[u8], at: usize) -> Result<Option<WirePacket<'_>>, Failure> {
    let Some(head) = bytes.get(at..at + HEAD_BYTES) else { return Ok(None) };
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
    if length == PACKET_BYTES_MAX {
        return Err(Failure::protocol("a row of the answer has 16 MiB or more, which is not supported"));
    }
    let next = at + HEAD_BYTES + length;
    Ok(bytes.get(at + HEAD_BYTES..next).map(|body| WirePacket { number: head[3], body, next }))
}

/// Writes a payload in as many packets as needed. The first has this number.
pub(super) fn write(body: &[u8], mut number: u8, into: &mut Vec<u8>) {
    let mut rest = body;
    loop {
        let (piece, after) = rest.split_at(rest.len().min(PACKET_BYTES_MAX));
        into.extend_from_slice(&(piece.len() as u32).to_le_bytes()[..3]);
        into.push(number);
        into.extend_from_slice(piece);
        // A full packet is followed by another one, which may be empty.
        if piece.len() < PACKET_BYTES_MAX {
            return;
        }
        (rest, number) = (after, number.wrapping_add(1));
    }
}

/// Writes a length-prefixed string.
pub(super) fn write_text(text: &[u8], into: &mut Vec<u8>) {
    let length = (text.len() as u64).to_le_bytes();
    match text.len() {
        0..=250 => into.push(length[0]),
        251..=0xffff => {
            into.push(0xfc);
            into.extend_from_slice(&length[..2]);
        }
        0x1_0000..=0xff_ffff => {
            into.push(0xfd);
            into.extend_from_slice(&length[..3]);
        }
        _ => {
            into.push(0xfe);
            into.extend_from_slice(&length);
        }
    }
    into.extend_from_slice(text);
}

/// Reads one value after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct PacketCursor<'a>(pub(super) &'a [u8]);

impl<'a> PacketCursor<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads this many bytes as a little-endian number.
    pub(super) fn number(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.take(bytes)?;
        Some(taken.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Reads a length-encoded number.
    pub(super) fn length(&mut self) -> Option<u64> {
        match self.number(1)? {
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            small @ 0..=0xfa => Some(small),
            _ => None,
        }
    }

    /// Reads a length-prefixed string.
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.length()?).ok()?;
        self.take(length)
    }

    /// Reads up to and including a zero, or to the end.
    pub(super) fn name(&mut self) -> &'a [u8] {
        let end = memchr::memchr(0, self.0).unwrap_or(self.0.len());
        let (name, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        name
    }
}

pub(super) fn malformed(what: &str) -> Failure {
    Failure::protocol(format!("this is not MySQL: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_payload_is_split_into_packets() {
        for (length, packets) in [(0, 1), (1, 1), (PACKET_BYTES_MAX - 1, 1), (PACKET_BYTES_MAX, 2), (2 * PACKET_BYTES_MAX + 3, 3)] {
            let mut wire = Vec::new();
            write(&vec![7; length], 5, &mut wire);
            assert_eq!(wire.len(), length + packets * HEAD_BYTES, "{length}");
            let last = wire.len() - HEAD_BYTES - length % PACKET_BYTES_MAX;
            let found = packet(&wire, last).unwrap().unwrap();
            assert_eq!((found.number, found.body.len(), found.next), (4 + packets as u8, length % PACKET_BYTES_MAX, wire.len()));
        }
    }

    #[test]
    fn lengths_round_trip() {
        for length in [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000] {
            let mut wire = Vec::new();
            write_text(&vec![1; length], &mut wire);
            let mut cursor = PacketCursor(&wire);
            assert_eq!((cursor.text().map(<[u8]>::len), cursor.0.len()), (Some(length), 0));
            assert_eq!(PacketCursor(&wire[..wire.len() / 2]).text().map(<[u8]>::len), None);
        }
    }
}
