//! Parses lines into events, from pieces of any size.

use crate::failure::Failure;

/// Kind, data and id of an event.
type EventParts = (String, String, String);

#[derive(Debug)]
pub(crate) struct EventParser {
    event_bytes_max: usize,
    /// Bytes that have arrived and are not parsed yet, from `at` on.
    bytes: Vec<u8>,
    at: usize,
    /// How far the current line has been searched for its end.
    searched: usize,
    begun: bool,
    /// The last line ended with a carriage return, so a line feed belongs to it.
    after_return: bool,
    kind: String,
    data: String,
    has_data: bool,
    last_id: String,
    retry_ms: Option<u64>,
}

impl EventParser {
    pub(crate) fn new(event_bytes_max: usize) -> Self {
        Self {
            event_bytes_max,
            bytes: Vec::new(),
            at: 0,
            searched: 0,
            begun: false,
            after_return: false,
            kind: String::new(),
            data: String::new(),
            has_data: false,
            last_id: String::new(),
            retry_ms: None,
        }
    }

    pub(crate) fn last_id(&self) -> &str {
        &self.last_id
    }

    pub(crate) fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    pub(crate) fn add(&mut self, piece: Vec<u8>) {
        if self.at == self.bytes.len() {
            self.bytes = piece;
        } else {
            self.bytes.drain(..self.at);
            self.bytes.extend_from_slice(&piece);
        }
        self.searched -= self.at.min(self.searched);
        self.at = 0;
    }

    /// The next complete event in the added bytes.
    pub(crate) fn next(&mut self) -> Result<Option<EventParts>, Failure> {
        while let Some((start, end)) = self.next_line() {
            let line = String::from_utf8_lossy(&self.bytes[start..end]).into_owned();
            if let Some(event) = self.take_line(&line) {
                return Ok(Some(event));
            }
            self.check()?;
        }
        self.check()?;
        if self.at == self.bytes.len() {
            // An idle stream holds no buffer.
            *self = Self { bytes: Vec::new(), at: 0, searched: 0, ..std::mem::replace(self, Self::new(self.event_bytes_max)) };
        }
        Ok(None)
    }

    fn check(&self) -> Result<(), Failure> {
        if self.bytes.len() - self.at > self.event_bytes_max || self.data.len() > self.event_bytes_max {
            return Err(Failure::protocol("an event is larger than `bodyBytesMax` allows"));
        }
        Ok(())
    }

    /// Start and end of the next line. Lines end with CR, LF or both.
    fn next_line(&mut self) -> Option<(usize, usize)> {
        if self.after_return && self.at < self.bytes.len() {
            self.after_return = false;
            if self.bytes[self.at] == b'\n' {
                self.at += 1;
            }
        }
        self.searched = self.searched.max(self.at);
        let Some(found) = memchr::memchr2(b'\r', b'\n', &self.bytes[self.searched..]) else {
            self.searched = self.bytes.len();
            return None;
        };
        let (mut start, end) = (self.at, self.searched + found);
        self.at = end + 1;
        self.after_return = self.bytes[end] == b'\r';
        if !self.begun {
            self.begun = true;
            // The stream may begin with one byte order mark.
            if self.bytes[start..end].starts_with(b"\xef\xbb\xbf") {
                start += 3;
            }
        }
        Some((start, end))
    }

    fn take_line(&mut self, line: &str) -> Option<EventParts> {
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.kind),
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.last_id),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => self.retry_ms = value.parse().ok().or(self.retry_ms),
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<EventParts> {
        let (kind, data) = (std::mem::take(&mut self.kind), std::mem::take(&mut self.data));
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let kind = if kind.is_empty() { "message".to_owned() } else { kind };
        Some((kind, data, self.last_id.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &[u8], piece: usize) -> Vec<(String, String, String)> {
        let mut parser = EventParser::new(1000);
        let mut events = Vec::new();
        for part in stream.chunks(piece) {
            parser.add(part.to_vec());
            while let Some(event) = parser.next().unwrap() {
                events.push(event);
            }
        }
        events
    }

    fn event(kind: &str, data: &str, id: &str) -> (String, String, String) {
        (kind.to_owned(), data.to_owned(), id.to_owned())
    }

    #[test]
    fn the_examples_of_the_standard_are_parsed_in_every_split() {
        // HTML standard, section 9.2.6, with the three kinds of line end.
        let stream = "\u{feff}data: YHOO\ndata: +2\ndata: 10\n\n: test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n\
            data:  third event\n\ndata\n\ndata\ndata\n\nevent: add\rdata: 73857293\r\revent: remove\r\ndata: 2153\r\n\r\n\
            event: none\n\ndata: last\n\ndata: unfinished";
        let expected = [
            event("message", "YHOO\n+2\n10", ""),
            event("message", "first event", "1"),
            event("message", "second event", ""),
            event("message", " third event", ""),
            event("message", "", ""),
            event("message", "\n", ""),
            event("add", "73857293", ""),
            event("remove", "2153", ""),
            event("message", "last", ""),
        ];
        for piece in 1..=stream.len() {
            assert_eq!(read(stream.as_bytes(), piece), expected, "pieces of {piece}");
        }
    }

    #[test]
    fn waiting_times_and_limits_hold() {
        let mut parser = EventParser::new(100);
        parser.add(b"retry: 1500\nretry: soon\nid: a\0b\n\n".to_vec());
        assert_eq!(parser.next(), Ok(None));
        assert_eq!((parser.retry_ms(), parser.last_id()), (Some(1500), ""));
        parser.add(vec![b'x'; 101]);
        assert!(parser.next().is_err());
        let mut parser = EventParser::new(100);
        let failed = (0..1000).find_map(|_| {
            parser.add(b"data: more\n".to_vec());
            parser.next().err()
        });
        assert!(failed.is_some());
    }
}
