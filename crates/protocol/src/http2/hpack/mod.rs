//! HPACK: header compression for HTTP/2 (RFC 7541).
//!
//! Own code, because no maintained library offers it apart from a whole HTTP/2 connection, and because the same few header blocks make up a load:
//! a block that came or went before is compared, not decoded or encoded again ([`Decoder`], [`Encoder`]).

mod decoder;
mod encoder;
mod huffman;
mod table;

pub(crate) use decoder::{DecodedBlock, Decoder};
pub(crate) use encoder::{Encoder, HeadFields};

/// Default limit on the dynamic table (RFC 9113, section 6.5.2, SETTINGS_HEADER_TABLE_SIZE). Bytes.
pub(crate) const TABLE_BYTES_DEFAULT: usize = 4096;

/// The block is not HPACK. The connection cannot continue, because the tables of both sides differ from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidBlock;

/// Reads an integer with a prefix of `bits` bits at the start of `bytes` (section 5.1), and advances behind it.
fn read_integer(bytes: &mut &[u8], bits: u32) -> Result<usize, InvalidBlock> {
    let (first, rest) = bytes.split_first().ok_or(InvalidBlock)?;
    *bytes = rest;
    let most = (1usize << bits) - 1;
    let mut value = usize::from(*first) & most;
    if value < most {
        return Ok(value);
    }
    // Four bytes hold more than any length or index that a block may have.
    for shift in [0, 7, 14, 21] {
        let (byte, rest) = bytes.split_first().ok_or(InvalidBlock)?;
        *bytes = rest;
        value += usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(InvalidBlock)
}

/// Appends an integer with a prefix of `bits` bits. `flags`: the bits before the prefix.
fn write_integer(into: &mut Vec<u8>, flags: u8, bits: u32, value: usize) {
    let most = (1usize << bits) - 1;
    if value < most {
        into.push(flags | value.to_le_bytes()[0]);
        return;
    }
    into.push(flags | most.to_le_bytes()[0]);
    let mut rest = value - most;
    while rest >= 0x80 {
        into.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    into.push(rest.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541, appendix C.1.
    #[test]
    fn integers_have_a_prefix() {
        for (bits, value, bytes) in [(5, 10, &[10][..]), (5, 1337, &[31, 154, 10]), (8, 42, &[42]), (7, 127, &[127, 0])] {
            let mut written = Vec::new();
            write_integer(&mut written, 0, bits, value);
            assert_eq!(written, bytes);
            assert_eq!(read_integer(&mut &written[..], bits), Ok(value));
        }
        for bad in [&[][..], &[31], &[31, 0x80], &[31, 0xff, 0xff, 0xff, 0xff, 0]] {
            assert_eq!(read_integer(&mut &*bad, 5), Err(InvalidBlock), "{bad:?}");
        }
    }
}
