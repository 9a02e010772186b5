//! Files of GoReplay (`gor --output-file`): a line with kind, id and time, the request as it was sent, and a line of three monkeys.

use std::io::{BufRead, Read};

use super::logged::LoggedRequest;
use loadstone_wire_formats::access_log::RecordedTime;

/// Ends each payload (gor's `PayloadSeparator`).
const SEPARATOR: &[u8] = "\n🐵🙈🙉\n".as_bytes();
const SEPARATOR_LINE: &[u8] = "🐵🙈🙉\n".as_bytes();
/// Kind of a payload that is a request.
const REQUEST: &[u8] = b"1";
/// Bytes of a line that are kept.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Most headers of a request.
const HEADERS_MAX: usize = 128;

/// One request of a file while it is indexed.
pub(super) struct GorEntry {
    pub(super) begin: RecordedTime,
    pub(super) position: u64,
    pub(super) method: String,
}

/// One payload of a file.
enum GorPayload {
    /// `None`: it cannot be read.
    Request(Option<GorEntry>),
    Response,
    End,
}

/// Reads entries in their order.
pub(super) struct GorReader<R> {
    source: R,
    position: u64,
    line: Vec<u8>,
}

impl<R: BufRead> GorReader<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, position: 0, line: Vec::new() }
    }

    /// The next request, or an entry that is none. `None`: the file ends.
    pub(super) fn next(&mut self) -> std::io::Result<Option<Option<GorEntry>>> {
        loop {
            match self.entry()? {
                // Responses are no unreadable requests.
                GorPayload::Response => {}
                GorPayload::Request(entry) => return Ok(Some(entry)),
                GorPayload::End => return Ok(None),
            }
        }
    }

    fn entry(&mut self) -> std::io::Result<GorPayload> {
        if self.read_line()? == 0 {
            return Ok(GorPayload::End);
        }
        let header = String::from_utf8_lossy(&self.line).into_owned();
        let position = self.position;
        let mut method = None;
        while self.read_line()? > 0 && self.line != SEPARATOR_LINE {
            let word = || String::from_utf8_lossy(self.line.split(|byte| *byte == b' ').next().unwrap_or_default()).into_owned();
            method.get_or_insert_with(word);
        }
        let mut words = header.split_ascii_whitespace();
        let kind = words.next().unwrap_or_default();
        let ns = words.nth(1).and_then(|time| time.parse::<i64>().ok());
        let entry = method.zip(ns).filter(|_| kind.as_bytes() == REQUEST);
        Ok(match entry {
            Some((method, ns)) => {
                GorPayload::Request(Some(GorEntry { begin: RecordedTime { ns, is_whole_second: false }, position, method }))
            }
            None if kind == "2" || kind == "3" => GorPayload::Response,
            None => GorPayload::Request(None),
        })
    }

    fn read_line(&mut self) -> std::io::Result<usize> {
        self.line.clear();
        let mut count = (&mut self.source).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.line)?;
        let mut is_whole = (count as u64) < LINE_BYTES_MAX || self.line.ends_with(b"\n");
        let mut rest = Vec::new();
        while !is_whole {
            rest.clear();
            let more = (&mut self.source).take(LINE_BYTES_MAX).read_until(b'\n', &mut rest)?;
            is_whole = (more as u64) < LINE_BYTES_MAX || rest.ends_with(b"\n");
            count += more;
        }
        self.position += count as u64;
        Ok(count)
    }
}

/// The request at the beginning of the bytes. The outer `None`: more has to be read. The inner one: it is no request.
pub(super) fn request(bytes: &[u8], is_all: bool) -> Option<Option<LoggedRequest>> {
    let end = bytes.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
    let payload = match end {
        Some(end) => &bytes[..end],
        None if is_all => bytes,
        None => return None,
    };
    Some(parsed(payload))
}

fn parsed(payload: &[u8]) -> Option<LoggedRequest> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = head.parse(payload).ok()? else { return None };
    let mut request = LoggedRequest::new(head.method?, head.path?)?;
    let mut is_chunked = false;
    for header in head.headers.iter() {
        let value = String::from_utf8_lossy(header.value);
        is_chunked |= header.name.eq_ignore_ascii_case("transfer-encoding") && value.to_ascii_lowercase().contains("chunked");
        request.header(header.name, &value);
    }
    request.body = if is_chunked { dechunked(&payload[length..]) } else { payload[length..].to_vec() };
    Some(request)
}

/// The content of a chunked body (RFC 9112, section 7.1). A body that was cut ends early.
fn dechunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(httparse::Status::Complete((start, size))) = httparse::parse_chunk_size(bytes) {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let rest = &bytes[start..];
        if size == 0 || rest.len() < size {
            break;
        }
        body.extend_from_slice(&rest[..size]);
        bytes = rest[size..].strip_prefix(b"\r\n").unwrap_or_default();
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "1 a 1795885200000000001 0\nPOST /buy HTTP/1.1\r\nHost: shop\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhe\nlo\n🐵🙈🙉\n\
        2 a 1795885200000000002 0\nHTTP/1.1 200 OK\r\n\r\n\n🐵🙈🙉\n\
        1 b 1795885200000000003 0\nPUT /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n\n🐵🙈🙉\n";

    #[test]
    fn requests_are_found_with_their_bodies() {
        let mut reader = GorReader::new(FILE.as_bytes());
        let mut found = Vec::new();
        while let Some(entry) = reader.next().unwrap() {
            let entry = entry.unwrap();
            let request = request(&FILE.as_bytes()[entry.position as usize..], true).unwrap().unwrap();
            assert_eq!(request.method, entry.method);
            found.push((entry.begin.ns % 10, request.target, request.body));
        }
        assert_eq!(found, [(1, "/buy".to_owned(), b"he\nlo".to_vec()), (3, "/x".to_owned(), b"abcde".to_vec())]);
        assert_eq!(request(b"POST /buy HTT", false), None, "more has to be read");
    }

    /// Each response once took a frame of the stack.
    #[test]
    fn any_number_of_responses_is_skipped() {
        let responses = "2 a 1795885200000000002 0\nHTTP/1.1 200 OK\n🐵🙈🙉\n".repeat(200_000);
        let file = format!("{responses}{FILE}");
        let first = GorReader::new(file.as_bytes()).next().unwrap().flatten().unwrap();
        assert_eq!(first.method, "POST");
    }

    #[test]
    fn the_end_of_a_long_line_is_skipped() {
        let long = "x".repeat(3 * LINE_BYTES_MAX as usize + 7);
        let file = format!("1 a 1795885200000000001 0\nPOST /buy HTTP/1.1\r\n\r\n{long}\n🐵🙈🙉\n{FILE}");
        let mut reader = GorReader::new(file.as_bytes());
        assert_eq!(reader.next().unwrap().flatten().unwrap().method, "POST");
        assert!(reader.line.len() as u64 <= LINE_BYTES_MAX);
        let second = reader.next().unwrap().flatten().unwrap();
        assert_eq!(second.position, (file.len() - FILE.len() + FILE.find('\n').unwrap() + 1) as u64);
    }
}
