//! Decodes the header blocks of responses.

use bytes::Bytes;

use super::table::{DynamicTable, ENTRY_BYTES, STATIC, TableEntry};
use super::{InvalidBlock, TABLE_BYTES_DEFAULT, huffman, read_integer};
use crate::token::is_token;

/// Each block is compared with this many earlier ones of its connection.
const KNOWN_BLOCKS_MAX: usize = 4;
/// A longer block is always decoded.
const KNOWN_BYTES_MAX: usize = 512;

/// Fields that HTTP/2 does not allow, because they belong to a connection of HTTP/1.1 (RFC 9113, section 8.2.2).
const OF_CONNECTION: [&[u8]; 5] = [b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];

/// The fields of a response's head, or of its trailers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DecodedBlock {
    /// `:status`.
    pub(crate) status: Option<u16>,
    /// `name:value` lines in order, each with its line feed, after an empty first line.
    pub(crate) lines: Bytes,
    /// Names and values, without `:status`. Bytes.
    pub(crate) bytes: u64,
    pub(crate) sets_cookies: bool,
    pub(crate) content_length: Option<u64>,
    /// It violates RFC 9113, section 8.2 or 8.3.
    pub(crate) malformed: bool,
    /// Its fields are longer than the limit. `lines` has those before.
    pub(crate) too_large: bool,
}

#[derive(Debug)]
struct KnownBlock {
    encoded: Vec<u8>,
    effect: BlockEffect,
    decoded: DecodedBlock,
}

/// How a block and the table depend on each other.
#[derive(Debug, Default)]
struct BlockEffect {
    /// The state of the table in which the block was decoded, if it refers to the table's entries.
    generation: Option<u64>,
    /// Entries that the block adds.
    added: Vec<TableEntry>,
    /// The block changes the table's limit, and is not known again.
    resizes: bool,
}

/// The server's half of a connection's compression.
#[derive(Debug)]
pub(crate) struct Decoder {
    table: DynamicTable,
    /// The latest blocks, the last used first. A server sends the same few heads again and again, except for the second in their `date`.
    known: Vec<KnownBlock>,
    /// Limit on the fields of a block, counted as in RFC 9113, section 6.5.2. Bytes.
    fields_bytes_max: usize,
    /// Literals of the current field.
    name: Vec<u8>,
    value: Vec<u8>,
}

/// A field's representation (section 6).
enum Representation {
    Indexed(usize),
    /// The index of its name, or 0, and whether it is added to the table.
    Literal(usize, bool),
    TableSize(usize),
}

impl Decoder {
    pub(crate) fn new(fields_bytes_max: usize) -> Self {
        let table = DynamicTable::new(TABLE_BYTES_DEFAULT);
        Self { table, known: Vec::new(), fields_bytes_max, name: Vec::new(), value: Vec::new() }
    }

    /// # Errors
    /// The connection cannot continue.
    pub(crate) fn decode(&mut self, encoded: &[u8]) -> Result<DecodedBlock, InvalidBlock> {
        let generation = self.table.generation();
        let is_same = |known: &KnownBlock| known.encoded == encoded && known.effect.generation.is_none_or(|of| of == generation);
        if let Some(at) = self.known.iter().position(is_same) {
            self.known[..=at].rotate_right(1);
            let known = &self.known[0];
            known.effect.added.iter().for_each(|entry| self.table.insert(entry.clone()));
            return Ok(known.decoded.clone());
        }
        let (decoded, effect) = self.decode_anew(encoded)?;
        if !effect.resizes && encoded.len() <= KNOWN_BYTES_MAX {
            self.known.truncate(KNOWN_BLOCKS_MAX - 1);
            self.known.insert(0, KnownBlock { encoded: encoded.to_vec(), effect, decoded: decoded.clone() });
        }
        Ok(decoded)
    }

    fn decode_anew(&mut self, mut rest: &[u8]) -> Result<(DecodedBlock, BlockEffect), InvalidBlock> {
        let (before, mut effect) = (self.table.generation(), BlockEffect::default());
        let mut block = BlockBuilder { lines: vec![b'\n'], size: 0, size_max: self.fields_bytes_max, block: DecodedBlock::default() };
        let mut may_resize = true;
        while !rest.is_empty() {
            match representation(&mut rest)? {
                Representation::TableSize(bytes) if may_resize && bytes <= TABLE_BYTES_DEFAULT => {
                    self.table.limit(bytes);
                    effect.resizes = true;
                    continue;
                }
                Representation::TableSize(_) => return Err(InvalidBlock),
                Representation::Indexed(index) => {
                    let (name, value) = self.table.get(index).ok_or(InvalidBlock)?;
                    block.add(name, value);
                    effect.refers_to(index, before);
                }
                Representation::Literal(index, added) => {
                    self.name.clear();
                    self.value.clear();
                    match index {
                        0 => read_text(&mut rest, &mut self.name)?,
                        _ => self.name.extend_from_slice(self.table.get(index).ok_or(InvalidBlock)?.0),
                    }
                    effect.refers_to(index, before);
                    read_text(&mut rest, &mut self.value)?;
                    block.add(&self.name, &self.value);
                    if added {
                        let entry = TableEntry::new(&self.name, &self.value);
                        self.table.insert(entry.clone());
                        effect.added.push(entry);
                    }
                }
            }
            may_resize = false;
        }
        Ok((block.build(), effect))
    }
}

impl BlockEffect {
    fn refers_to(&mut self, index: usize, generation: u64) {
        if index > STATIC.len() {
            self.generation = Some(generation);
        }
    }
}

fn representation(rest: &mut &[u8]) -> Result<Representation, InvalidBlock> {
    let first = *rest.first().ok_or(InvalidBlock)?;
    Ok(match first {
        0x80.. => Representation::Indexed(read_integer(rest, 7)?),
        0x40.. => Representation::Literal(read_integer(rest, 6)?, true),
        0x20.. => Representation::TableSize(read_integer(rest, 5)?),
        _ => Representation::Literal(read_integer(rest, 4)?, false),
    })
}

fn read_text(rest: &mut &[u8], into: &mut Vec<u8>) -> Result<(), InvalidBlock> {
    let is_huffman = rest.first().ok_or(InvalidBlock)? & 0x80 != 0;
    let length = read_integer(rest, 7)?;
    let (text, behind) = rest.split_at_checked(length).ok_or(InvalidBlock)?;
    *rest = behind;
    if is_huffman {
        return huffman::decode(text, into);
    }
    into.extend_from_slice(text);
    Ok(())
}

struct BlockBuilder {
    lines: Vec<u8>,
    size: usize,
    size_max: usize,
    block: DecodedBlock,
}

impl BlockBuilder {
    fn add(&mut self, name: &[u8], value: &[u8]) {
        self.size += name.len() + value.len() + ENTRY_BYTES;
        if self.size > self.size_max {
            self.block.too_large = true;
            return;
        }
        if name.first() == Some(&b':') {
            let status = (name == b":status" && self.lines.len() == 1).then(|| status_of(value)).flatten();
            self.block.malformed |= status.is_none() || self.block.status.is_some();
            self.block.status = status;
            return;
        }
        let is_forbidden = OF_CONNECTION.contains(&name) || name == b"te" && value != b"trailers";
        let is_valid =
            is_token(name) && !name.iter().any(u8::is_ascii_uppercase) && !value.iter().any(|byte| matches!(byte, 0 | b'\n' | b'\r'));
        if is_forbidden || !is_valid {
            self.block.malformed = true;
            return;
        }
        match name {
            b"set-cookie" => self.block.sets_cookies = true,
            b"content-length" => {
                let length = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                let length = length.and_then(|text| text.parse::<u64>().ok());
                self.block.malformed |= length.is_none() || self.block.content_length.is_some_and(|known| Some(known) != length);
                self.block.content_length = length;
            }
            _ => {}
        }
        self.block.bytes += (name.len() + value.len()) as u64;
        for part in [name, b":", value, b"\n"] {
            self.lines.extend_from_slice(part);
        }
    }

    fn build(self) -> DecodedBlock {
        let lines = if self.lines.len() == 1 { Bytes::new() } else { self.lines.into() };
        DecodedBlock { lines, ..self.block }
    }
}

/// Three digits.
fn status_of(value: &[u8]) -> Option<u16> {
    let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = *value else { return None };
    Some([a, b, c].into_iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter_map(|digit| char::from(digit).to_digit(16)).map(|digit| digit as u8).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    /// RFC 7541, appendix C.6: three responses over one connection, with Huffman codes, and evictions in a table of 256 bytes.
    #[test]
    fn responses_of_the_specification() {
        let mut decoder = Decoder::new(10_000);
        decoder.table.limit(256);
        let date = |second: u8| format!("date:Mon, 21 Oct 2013 20:13:2{second} GMT\n");
        let location = "location:https://www.example.com\n";
        let private = "cache-control:private\n";
        let first = "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3";
        let third = "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5\
                     291f9587316065c003ed4ee5b1063d5007";
        let cookie = "set-cookie:foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n";
        for (encoded, status, lines) in [
            (first, 302, format!("\n{private}{}{location}", date(1))),
            ("4883640effc1c0bf", 307, format!("\n{private}{}{location}", date(1))),
            (third, 200, format!("\n{private}{}{location}content-encoding:gzip\n{cookie}", date(2))),
        ] {
            let decoded = decoder.decode(&hex(encoded)).unwrap();
            assert_eq!((decoded.status, &decoded.lines[..], decoded.malformed), (Some(status), lines.as_bytes(), false));
            assert_eq!(decoded.sets_cookies, status == 200);
        }
    }

    #[test]
    fn a_known_block_is_decoded_like_an_unknown_one() {
        let literal = |name: u8, value: u8| vec![0x88, 0x40, 1, name, 1, value];
        let indexed = |index: u8| vec![0x88, 0x80 | index];
        // Fields that are added; then fields by their indices, which later additions move; a block that refers to what it adds.
        let mut blocks = vec![literal(b'a', b'1'), indexed(62), indexed(62), literal(b'b', b'2'), indexed(62), indexed(63), indexed(63)];
        blocks.extend([literal(b'a', b'1'), indexed(62), indexed(64), [literal(b'c', b'3'), vec![0xbe]].concat(), indexed(62)]);
        let mut decoder = Decoder::new(10_000);
        for round in 0..3 {
            for (at, block) in blocks.iter().enumerate() {
                let known = decoder.decode(block).unwrap();
                // The same blocks for a decoder that knows none.
                let mut anew = Decoder::new(10_000);
                let all = blocks.iter().cycle().take(round * blocks.len() + at + 1);
                let decoded = all.map(|block| anew.decode_anew(block).unwrap().0).last().unwrap();
                assert_eq!(known, decoded, "{round}, {at}");
            }
        }
        assert_eq!(decoder.known.len(), KNOWN_BLOCKS_MAX);
    }

    #[test]
    fn blocks_that_http2_does_not_allow() {
        let literal =
            |name: &str, value: &str| [&[0, name.len() as u8][..], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat();
        let decode = |fields: &[Vec<u8>]| Decoder::new(200).decode(&fields.concat()).unwrap();
        let ok = vec![0x88];
        for (name, value) in [
            ("Upper", ""),
            ("a b", ""),
            ("", ""),
            ("connection", "close"),
            ("te", "gzip"),
            ("a", "b\nc"),
            ("a", "\0"),
            (":path", "/"),
            (":status", "200"),
            (":status", "20"),
            ("content-length", "-1"),
            ("content-length", ""),
        ] {
            assert!(decode(&[ok.clone(), literal(name, value)]).malformed, "{name}: {value:?}");
        }
        let two = [literal("content-length", "1"), literal("content-length", "2")].concat();
        assert!(decode(&[ok.clone(), two]).malformed && decode(&[literal("a", "b"), ok.clone()]).malformed);
        let fine = decode(&[ok.clone(), literal("te", "trailers"), literal("content-length", "7")]);
        assert_eq!((fine.malformed, fine.content_length, fine.too_large), (false, Some(7), false));
        assert!(decode(&[ok, literal("a", "0123456789").repeat(5)]).too_large);
    }

    #[test]
    fn what_is_not_hpack_is_refused() {
        // An index that does not exist, a text that is cut off, a table above its limit, a new limit after a field.
        for bad in [&[0x80][..], &[0xff, 0x00], &[0xbe], &[0x00, 5, b'a'], &[0x3f, 0xe2, 0x1f], &[0x88, 0x20], &[0x00, 0x81, 0xfe]] {
            assert_eq!(Decoder::new(100).decode(bad), Err(InvalidBlock), "{bad:02x?}");
        }
        assert_eq!(Decoder::new(100).decode(&[0x20, 0x3f, 0xe1, 0x1f, 0x88]).unwrap().status, Some(200));
    }
}
