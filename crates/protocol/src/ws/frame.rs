//! Frames that a client sends (RFC 6455, section 5.2).

/// The type of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xa => Self::Pong,
            _ => return None,
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xa,
        }
    }

    pub(crate) fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// Appends a complete, masked frame.
pub(crate) fn write(out: &mut Vec<u8>, opcode: Opcode, compressed: bool, payload: &[u8], mask: [u8; 4]) {
    out.push(0x80 | u8::from(compressed) << 6 | opcode.bits());
    match payload.len() {
        length @ 0..126 => out.push(0x80 | length as u8),
        length @ 126..65536 => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
    let start = out.len();
    out.extend_from_slice(payload);
    apply(mask, &mut out[start..]);
}

/// Masks in place, eight bytes at a time.
fn apply(mask: [u8; 4], bytes: &mut [u8]) {
    let wide = u64::from(u32::from_ne_bytes(mask)) * 0x0000_0001_0000_0001;
    let (words, tail) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, mask) in tail.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_match_the_examples_of_the_standard() {
        // RFC 6455, section 5.7: a single-frame masked text message.
        let mut out = Vec::new();
        write(&mut out, Opcode::Text, false, b"Hello", [0x37, 0xfa, 0x21, 0x3d]);
        assert_eq!(out, [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]);
        for (length, head) in [(125, vec![0x82, 0xfd]), (126, vec![0x82, 0xfe, 0, 126]), (65536, vec![0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0])]
        {
            let mut out = Vec::new();
            write(&mut out, Opcode::Binary, false, &vec![0; length], [0; 4]);
            assert_eq!((&out[..head.len()], out.len()), (&head[..], head.len() + 4 + length));
        }
    }

    #[test]
    fn masking_twice_restores_the_bytes() {
        for length in 0..40u8 {
            let plain: Vec<u8> = (0..length).collect();
            let mut masked = plain.clone();
            apply([1, 2, 3, 4], &mut masked);
            for (at, byte) in masked.iter().enumerate() {
                assert_eq!(*byte, plain[at] ^ [1, 2, 3, 4][at % 4]);
            }
        }
    }
}
