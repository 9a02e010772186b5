//! The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B).
//!
//! The code is canonical: codes of the same length ascend with their symbols, and each length continues where the one before ended. So the lengths
//! define it.

use super::InvalidBlock;

/// Length of each byte's code in bits, and last that of the end of a string, which is never written.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

const LENGTH_MAX: usize = 30;
const SYMBOLS: usize = LENGTHS.len();
const END: usize = SYMBOLS - 1;

/// Codes up to this length are decoded by one look-up. Header values mostly have shorter ones.
const QUICK_BITS: usize = 8;

const CODE: Code = Code::canonical();

struct Code {
    codes: [u32; SYMBOLS],
    /// Symbols by their codes.
    symbols: [u16; SYMBOLS],
    /// By length: the first code, and its place in `symbols`.
    first: [u32; LENGTH_MAX + 2],
    place: [u16; LENGTH_MAX + 2],
    /// By the next bits: the symbol, and the length of its code, or 0 if it is longer.
    quick: [(u8, u8); 1 << QUICK_BITS],
}

impl Code {
    #[expect(clippy::cast_possible_truncation, reason = "a symbol below 256 is a byte, and there are 257 of them")]
    const fn canonical() -> Self {
        let mut code = Self {
            codes: [0; SYMBOLS],
            symbols: [0; SYMBOLS],
            first: [0; LENGTH_MAX + 2],
            place: [0; LENGTH_MAX + 2],
            quick: [(0, 0); 1 << QUICK_BITS],
        };
        let (mut next, mut placed, mut length) = (0u32, 0usize, 1usize);
        while length <= LENGTH_MAX {
            code.first[length] = next;
            code.place[length] = placed as u16;
            let mut symbol = 0;
            while symbol < SYMBOLS {
                if LENGTHS[symbol] as usize == length {
                    code.codes[symbol] = next;
                    code.symbols[placed] = symbol as u16;
                    if length <= QUICK_BITS {
                        let mut tail = 0;
                        while tail < 1 << (QUICK_BITS - length) {
                            code.quick[((next as usize) << (QUICK_BITS - length)) + tail] = (symbol as u8, length as u8);
                            tail += 1;
                        }
                    }
                    next += 1;
                    placed += 1;
                }
                symbol += 1;
            }
            next <<= 1;
            length += 1;
        }
        code.place[LENGTH_MAX + 1] = placed as u16;
        code
    }
}

/// Bytes that the text takes in this code.
pub(super) fn encoded_len(text: &[u8]) -> usize {
    text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum::<usize>().div_ceil(8)
}

pub(super) fn encode(text: &[u8], into: &mut Vec<u8>) {
    let (mut bits, mut held) = (0u64, 0u32);
    for byte in text {
        let length = u32::from(LENGTHS[usize::from(*byte)]);
        bits = bits << length | u64::from(CODE.codes[usize::from(*byte)]);
        held += length;
        while held >= 8 {
            held -= 8;
            into.push((bits >> held).to_le_bytes()[0]);
        }
    }
    if held > 0 {
        // Filled with ones, the start of the end's code.
        into.push((bits << (8 - held)).to_le_bytes()[0] | 0xff >> held);
    }
}

/// Appends the text.
///
/// # Errors
/// It contains the end, or its last byte is not filled with up to seven ones.
pub(super) fn decode(encoded: &[u8], into: &mut Vec<u8>) -> Result<(), InvalidBlock> {
    into.reserve(encoded.len() * 8 / 5);
    // The next bits, from the highest on. Behind the end, they are zeros.
    let (mut bits, mut held) = (0u64, 0u32);
    let mut rest = encoded.iter();
    loop {
        if held < LENGTH_MAX as u32 {
            while held <= u64::BITS - 8 {
                let Some(byte) = rest.next() else { break };
                bits |= u64::from(*byte) << (u64::BITS - 8 - held);
                held += 8;
            }
        }
        let quick = CODE.quick[(bits >> (u64::BITS as usize - QUICK_BITS)) as usize];
        let (symbol, length) = if quick.1 == 0 { longer(bits) } else { (u16::from(quick.0), u32::from(quick.1)) };
        if length > held {
            let filling = !(u64::MAX >> held);
            return if held < 8 && bits == filling { Ok(()) } else { Err(InvalidBlock) };
        }
        let Ok(byte) = u8::try_from(symbol) else { return Err(InvalidBlock) };
        into.push(byte);
        bits <<= length;
        held -= length;
    }
}

/// The symbol of a code that the look-up does not have, and its length.
#[cold]
fn longer(bits: u64) -> (u16, u32) {
    for length in QUICK_BITS + 1..=LENGTH_MAX {
        let count = CODE.place[length + 1] - CODE.place[length];
        let at = (bits >> (u64::BITS as usize - length)).wrapping_sub(u64::from(CODE.first[length]));
        if at < u64::from(count) {
            return (CODE.symbols[usize::from(CODE.place[length]) + at as usize], length as u32);
        }
    }
    // Behind the end only: the code is complete, so that other bits start with a code.
    (END as u16, LENGTH_MAX as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_complete() {
        let sum: u64 = LENGTHS.iter().map(|length| 1 << (LENGTH_MAX - usize::from(*length))).sum();
        assert_eq!(sum, 1 << LENGTH_MAX);
        // Rows of appendix B.
        for (symbol, code) in
            [(0, 0x1ff8), (32, 0x14), (60, 0x7ffc), (90, 0xfd), (127, 0x0fff_fffc), (249, 0x0fff_fffe), (END, 0x3fff_ffff)]
        {
            assert_eq!(CODE.codes[symbol], code, "{symbol}");
        }
    }

    /// RFC 7541, appendix C.4 and C.6.
    #[test]
    fn texts_of_the_specification() {
        for (text, encoded) in [
            ("www.example.com", &[0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff][..]),
            ("no-cache", &[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]),
            ("302", &[0x64, 0x02]),
            ("", &[]),
        ] {
            let (mut written, mut read) = (Vec::new(), Vec::new());
            encode(text.as_bytes(), &mut written);
            assert_eq!((&*written, encoded_len(text.as_bytes())), (encoded, encoded.len()), "{text}");
            decode(encoded, &mut read).unwrap();
            assert_eq!(read, text.as_bytes());
        }
    }

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        for start in 0..all.len() {
            let (mut written, mut read) = (Vec::new(), Vec::new());
            encode(&all[start..], &mut written);
            decode(&written, &mut read).unwrap();
            assert_eq!(read, &all[start..]);
        }
    }

    #[test]
    fn a_wrong_end_is_refused() {
        // The end itself; eight ones; zeros as filling; a code that is cut off.
        for bad in [&[0xff, 0xff, 0xff, 0xff][..], &[0x07, 0xff], &[0b0001_1000], &[0xff, 0xc0]] {
            assert_eq!(decode(bad, &mut Vec::new()), Err(InvalidBlock), "{bad:02x?}");
        }
    }
}
