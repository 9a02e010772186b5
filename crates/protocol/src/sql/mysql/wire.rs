//! Packets (MySQL, "Protocol Basics"), read where they lie.

use crate::failure::Failure;

/// Three bytes of length, and a number.
const HEAD_BYTES: usize = 4;
/// What has as many bytes, or more, goes on in the next packet.
const PACKET_BYTES_MAX: usize = 0xff_ffff;

/// One packet among others.
#[derive(Debug, Clone, Copy)]
pub(super) struct WirePacket<'a> {
    pub(super) number: u8,
    pub(super) body: &'a [u8],
    /// Where the next one begins.
    pub(super) next: usize,
}

/// The packet that begins here; `None` while it is not whole.
pub(super) fn packet(bytes: &[u8], at: usize) -> Result<Option<WirePacket<'_>>, Failure> {
    let Some(head) = bytes.get(at..at + HEAD_BYTES) else { return Ok(None) };
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
    if length == PACKET_BYTES_MAX {
        return Err(Failure::protocol("a row of the answer has 16 MiB or more, which is not supported"));
    }
    let next = at + HEAD_BYTES + length;
    Ok(bytes.get(at + HEAD_BYTES..next).map(|body| WirePacket { number: head[3], body, next }))
}

/// Writes what is to be said, in as many packets as it takes; the first has this number.
pub(super) fn write(body: &[u8], mut number: u8, into: &mut Vec<u8>) {
    let mut rest = body;
    loop {
        let (piece, after) = rest.split_at(rest.len().min(PACKET_BYTES_MAX));
        into.extend_from_slice(&(piece.len() as u32).to_le_bytes()[..3]);
        into.push(number);
        into.extend_from_slice(piece);
        // A full one says that there is more, if only an empty one.
        if piece.len() < PACKET_BYTES_MAX {
            return;
        }
        (rest, number) = (after, number.wrapping_add(1));
    }
}

/// Writes a length, and what has it.
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

    /// So many bytes as a number, of which the first is the least.
    pub(super) fn number(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.take(bytes)?;
        Some(taken.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A number that says itself how many bytes it has.
    pub(super) fn length(&mut self) -> Option<u64> {
        match self.number(1)? {
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            small @ 0..=0xfa => Some(small),
            _ => None,
        }
    }

    /// A length, and what has it.
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.length()?).ok()?;
        self.take(length)
    }

    /// Up to a zero, which is taken, too, or to the end.
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
    fn what_is_long_goes_in_several_packets() {
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
    fn lengths_are_read_as_they_are_written() {
        for length in [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000] {
            let mut wire = Vec::new();
            write_text(&vec![1; length], &mut wire);
            let mut cursor = PacketCursor(&wire);
            assert_eq!((cursor.text().map(<[u8]>::len), cursor.0.len()), (Some(length), 0));
            assert_eq!(PacketCursor(&wire[..wire.len() / 2]).text().map(<[u8]>::len), None);
        }
    }
}
