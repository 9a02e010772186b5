//! The static table and the dynamic table (RFC 7541, section 2.3 and appendix A).

use std::collections::VecDeque;
use std::rc::Rc;

/// Names and values, from index 1.
#[rustfmt::skip]
pub(super) const STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"), (":scheme", "http"),
    (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
    (":status", "404"), (":status", "500"), ("accept-charset", ""), ("accept-encoding", "gzip, deflate"), ("accept-language", ""),
    ("accept-ranges", ""), ("accept", ""), ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""),
    ("cache-control", ""), ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""), ("expect", ""),
    ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
    ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""),
    ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
];

/// What an entry counts beyond its name and value (section 4.1). Bytes.
pub(super) const ENTRY_BYTES: usize = 32;

/// A field in one buffer, which known blocks share.
#[derive(Debug, Clone)]
pub(super) struct TableEntry {
    bytes: Rc<[u8]>,
    name_bytes: usize,
}

impl TableEntry {
    pub(super) fn new(name: &[u8], value: &[u8]) -> Self {
        Self { bytes: [name, value].concat().into(), name_bytes: name.len() }
    }

    fn size(&self) -> usize {
        self.bytes.len() + ENTRY_BYTES
    }

    pub(super) fn name(&self) -> &[u8] {
        &self.bytes[..self.name_bytes]
    }

    pub(super) fn value(&self) -> &[u8] {
        &self.bytes[self.name_bytes..]
    }
}

/// The fields that one side has added, the newest first.
#[derive(Debug)]
pub(super) struct DynamicTable {
    entries: VecDeque<TableEntry>,
    bytes: usize,
    bytes_max: usize,
    /// Changes with each entry that comes or goes.
    generation: u64,
}

impl DynamicTable {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { entries: VecDeque::new(), bytes: 0, bytes_max, generation: 0 }
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    pub(super) fn limit(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
        self.generation += 1;
        self.evict(0);
    }

    pub(super) fn insert(&mut self, entry: TableEntry) {
        self.generation += 1;
        self.evict(entry.size());
        // An entry that does not fit empties the table (section 4.4).
        if entry.size() <= self.bytes_max {
            self.bytes += entry.size();
            self.entries.push_front(entry);
        }
    }

    /// Makes room for `more` bytes.
    fn evict(&mut self, more: usize) {
        while self.bytes + more > self.bytes_max {
            let Some(oldest) = self.entries.pop_back() else { return };
            self.bytes -= oldest.size();
        }
    }

    /// Name and value at an index of both tables.
    pub(super) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let at = index.checked_sub(1)?;
        if let Some((name, value)) = STATIC.get(at) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        self.entries.get(at - STATIC.len()).map(|entry| (entry.name(), entry.value()))
    }

    /// The index of this field, or of its name.
    pub(super) fn find(&self, name: &[u8], value: &[u8]) -> FoundField {
        let mut found = FoundField::Nothing;
        let fixed = STATIC.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        for (at, (known, known_value)) in fixed.chain(self.entries.iter().map(|entry| (entry.name(), entry.value()))).enumerate() {
            if known != name {
                continue;
            }
            if known_value == value {
                return FoundField::Both(at + 1);
            }
            if found == FoundField::Nothing {
                found = FoundField::Name(at + 1);
            }
        }
        found
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundField {
    Both(usize),
    Name(usize),
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entries_leave() {
        let mut table = DynamicTable::new(2 * (ENTRY_BYTES + 2));
        for value in ["1", "2", "3"] {
            table.insert(TableEntry::new(b"a", value.as_bytes()));
        }
        assert_eq!((table.get(62), table.get(63), table.get(64)), (Some((&b"a"[..], &b"3"[..])), Some((&b"a"[..], &b"2"[..])), None));
        assert_eq!(
            (table.find(b"a", b"2"), table.find(b"a", b"1"), table.find(b"b", b"")),
            (FoundField::Both(63), FoundField::Name(62), FoundField::Nothing)
        );
        let before = table.generation();
        table.insert(TableEntry::new(b"long", &[b'x'; 100]));
        assert!(table.get(62).is_none() && table.generation() > before, "an entry that does not fit empties the table");
        assert_eq!((table.get(0), table.get(8)), (None, Some((&b":status"[..], &b"200"[..]))));
    }
}
