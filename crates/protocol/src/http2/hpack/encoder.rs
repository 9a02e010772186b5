//! Encodes the header blocks of requests.

use super::table::{DynamicTable, FoundField, TableEntry};
use super::{TABLE_BYTES_DEFAULT, huffman, write_integer};

/// Heads whose blocks are known, apart from their paths.
const KNOWN_HEADS_MAX: usize = 4;

/// Fields whose value mostly differs from request to request, or is secret. They are not added to the table.
const NOT_INDEXED: [&str; 9] =
    ["age", "authorization", "content-length", "cookie", "etag", "if-modified-since", "if-none-match", "location", "set-cookie"];

/// The client's half of a connection's compression.
#[derive(Debug)]
pub(crate) struct Encoder {
    table: DynamicTable,
    /// The smallest and the last limit that the server has set and no block has stated.
    resized: Option<(usize, usize)>,
    /// The latest heads, the last used first. A user mostly sends the same few heads with different paths.
    known: Vec<EncodedHead>,
}

#[derive(Debug)]
struct EncodedHead {
    /// All but the path, see [`EncodedHead::fixed`].
    fixed: Vec<u8>,
    /// State of the table, which the block did not change.
    generation: u64,
    /// The block before the path and behind it.
    before: Vec<u8>,
    behind: Vec<u8>,
}

/// A head to encode.
pub(crate) trait HeadFields {
    /// Bytes that are the same for two heads only if all fields are, apart from `:path`.
    fn fixed(&self) -> &[u8];
    /// `None`: it has no `:path`.
    fn path(&self) -> Option<&str>;
    /// The fields in order, without `:path`, which follows the other fields whose names begin with a colon.
    fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])>;
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Self { table: DynamicTable::new(TABLE_BYTES_DEFAULT), resized: None, known: Vec::new() }
    }

    /// The server's SETTINGS_HEADER_TABLE_SIZE. A larger table than the default is not used.
    pub(crate) fn limit(&mut self, bytes_max: usize) {
        let bytes_max = bytes_max.min(TABLE_BYTES_DEFAULT);
        let smallest = self.resized.map_or(bytes_max, |(smallest, _)| smallest.min(bytes_max));
        if bytes_max != self.table.bytes_max() || self.resized.is_some() {
            self.resized = Some((smallest, bytes_max));
        }
        self.table.limit(bytes_max);
    }

    /// Appends the block of a request's head. `added`: a field behind the others that is not part of the head.
    pub(crate) fn encode(&mut self, head: &impl HeadFields, added: Option<(&str, &str)>, into: &mut Vec<u8>) {
        self.write_limits(into);
        let generation = self.table.generation();
        if let Some(at) = self.known.iter().position(|known| known.generation == generation && known.fixed == head.fixed()) {
            self.known[..=at].rotate_right(1);
            let known = &self.known[0];
            into.extend_from_slice(&known.before);
            write_path(head.path(), into);
            into.extend_from_slice(&known.behind);
        } else {
            let mut known = EncodedHead { fixed: head.fixed().to_vec(), generation, before: Vec::new(), behind: Vec::new() };
            for (name, value) in head.fields() {
                let part = if name.first() == Some(&b':') { &mut known.before } else { &mut known.behind };
                self.write_field(name, value, part);
            }
            into.extend_from_slice(&known.before);
            write_path(head.path(), into);
            into.extend_from_slice(&known.behind);
            if self.table.generation() == generation {
                self.known.truncate(KNOWN_HEADS_MAX - 1);
                self.known.insert(0, known);
            }
        }
        if let Some((name, value)) = added {
            write_literal(FoundField::Nothing, 0, 4, (name.as_bytes(), value.as_bytes()), into);
        }
    }

    /// Appends the block of a request's trailers.
    pub(crate) fn encode_trailers<'a>(&mut self, fields: impl Iterator<Item = (&'a [u8], &'a [u8])>, into: &mut Vec<u8>) {
        self.write_limits(into);
        fields.for_each(|field| write_literal(FoundField::Nothing, 0, 4, field, into));
    }

    /// States limits that the server has changed (section 4.2).
    fn write_limits(&mut self, into: &mut Vec<u8>) {
        let Some((smallest, last)) = self.resized.take() else { return };
        if smallest < last {
            write_integer(into, 0x20, 5, smallest);
        }
        write_integer(into, 0x20, 5, last);
    }

    fn write_field(&mut self, name: &[u8], value: &[u8], into: &mut Vec<u8>) {
        let found = self.table.find(name, value);
        if let FoundField::Both(index) = found {
            write_integer(into, 0x80, 7, index);
        } else if NOT_INDEXED.iter().any(|not_indexed| not_indexed.as_bytes() == name) {
            write_literal(found, 0, 4, (name, value), into);
        } else {
            write_literal(found, 0x40, 6, (name, value), into);
            self.table.insert(TableEntry::new(name, value));
        }
    }
}

/// The index of `:path: /`, whose name all paths use.
const PATH_INDEX: usize = 4;

fn write_path(path: Option<&str>, into: &mut Vec<u8>) {
    match path {
        None => {}
        Some("/") => write_integer(into, 0x80, 7, PATH_INDEX),
        Some("/index.html") => write_integer(into, 0x80, 7, PATH_INDEX + 1),
        Some(path) => write_literal(FoundField::Name(PATH_INDEX), 0, 4, (b":path", path.as_bytes()), into),
    }
}

fn write_literal(found: FoundField, flags: u8, bits: u32, (name, value): (&[u8], &[u8]), into: &mut Vec<u8>) {
    match found {
        FoundField::Name(index) | FoundField::Both(index) => write_integer(into, flags, bits, index),
        FoundField::Nothing => {
            into.push(flags);
            write_text(name, into);
        }
    }
    write_text(value, into);
}

/// In the shorter form.
fn write_text(text: &[u8], into: &mut Vec<u8>) {
    let encoded_len = huffman::encoded_len(text);
    if encoded_len < text.len() {
        write_integer(into, 0x80, 7, encoded_len);
        huffman::encode(text, into);
    } else {
        write_integer(into, 0, 7, text.len());
        into.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its path, its other fields, and the last of their values.
    struct Head(&'static str, &'static [(&'static str, &'static str)]);

    impl HeadFields for Head {
        fn fixed(&self) -> &[u8] {
            self.1.last().map_or(b"", |(_, value)| value.as_bytes())
        }

        fn path(&self) -> Option<&str> {
            Some(self.0)
        }

        fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
            self.1.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        }
    }

    fn encoded(encoder: &mut Encoder, head: &Head) -> Vec<u8> {
        let mut block = Vec::new();
        encoder.encode(head, None, &mut block);
        block
    }

    const EXAMPLE: [(&str, &str); 3] = [(":method", "GET"), (":scheme", "http"), (":authority", "www.example.com")];

    /// RFC 7541, appendix C.4.1, and its fields by their indices afterwards.
    #[test]
    fn a_repeated_head_is_short() {
        let mut encoder = Encoder::new();
        let first = [0x82, 0x86, 0x84, 0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        // The specification has the path in front of the authority.
        let fields = |block: &[u8]| block.iter().fold(0u32, |sum, byte| sum + u32::from(*byte));
        assert_eq!(fields(&encoded(&mut encoder, &Head("/", &EXAMPLE))), fields(&first));
        for _ in 0..3 {
            assert_eq!(encoded(&mut encoder, &Head("/", &EXAMPLE)), [0x82, 0x86, 0xbe, 0x84]);
            assert_eq!(encoded(&mut encoder, &Head("/a", &EXAMPLE)), [0x82, 0x86, 0xbe, 4, 2, b'/', b'a']);
        }
        assert_eq!(encoder.known.len(), 1);
        // Another field moves the index.
        encoded(&mut encoder, &Head("/", &[(":method", "PUT"), (":scheme", "http"), ("x-a", "1")]));
        assert_eq!(encoded(&mut encoder, &Head("/", &EXAMPLE)), [0x82, 0x86, 0xc0, 0x84]);
    }

    #[test]
    fn a_smaller_table_is_announced_once() {
        let mut encoder = Encoder::new();
        encoded(&mut encoder, &Head("/", &EXAMPLE));
        encoder.limit(0);
        encoder.limit(100);
        let again = encoded(&mut encoder, &Head("/", &EXAMPLE));
        assert_eq!(again[..6], [0x20, 0x3f, 69, 0x82, 0x86, 0x41]);
        assert_eq!(encoded(&mut encoder, &Head("/", &EXAMPLE)), [0x82, 0x86, 0xbe, 0x84]);
        encoder.limit(100_000);
        assert_eq!(encoded(&mut encoder, &Head("/", &EXAMPLE))[..3], [0x3f, 0xe1, 0x1f]);
    }

    #[test]
    fn secrets_are_not_added_to_the_table() {
        let mut encoder = Encoder::new();
        let head = Head("/", &[(":method", "GET"), (":scheme", "http"), ("authorization", "x"), ("content-length", "12")]);
        let first = encoded(&mut encoder, &head);
        assert_eq!((first.len(), encoded(&mut encoder, &head)), (3 + 4 + 5, first));
    }
}
