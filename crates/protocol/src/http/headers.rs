//! Response headers, parsed only on demand.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;

use bytes::Bytes;
use memchr::memchr_iter;

use super::raw_bytes;
use crate::http2::DecodedBlock;

/// Response header lines in order, with lower-case names.
///
/// Stores the head as received and splits lines on first use, because most requests of a load test need none. A value is read as UTF-8, in which
/// requests are sent, so that a value that a script sends back has the same bytes. A value that is not valid UTF-8 is read as Latin-1. The cookie jar
/// stores the bytes: see `raw_bytes`.
#[derive(Clone, Default)]
pub struct Headers {
    /// The head as received, from its status line. That of HTTP/2 has an empty one, and lower-case names.
    came: Bytes,
    /// `name:value` lines.
    lines: OnceCell<String>,
    sets_cookies: bool,
    is_http2: bool,
}

impl Headers {
    pub(crate) fn from_head(head: Bytes, sets_cookies: bool) -> Self {
        Self { came: head, lines: OnceCell::new(), sets_cookies, is_http2: false }
    }

    pub(crate) fn of_http2(fields: DecodedBlock) -> Self {
        Self { came: fields.lines, lines: OnceCell::new(), sets_cookies: fields.sets_cookies, is_http2: true }
    }

    /// From trailer lines, each with its line feed.
    pub(crate) fn from_trailers(lines: &[u8]) -> Self {
        // The first line of a head is its status line.
        let came = if lines.is_empty() { Bytes::new() } else { [b"\n", lines].concat().into() };
        Self { came, ..Self::default() }
    }

    /// Whether they arrived as fields of HTTP/2.
    pub fn is_http2(&self) -> bool {
        self.is_http2
    }

    /// Whether there is a `Set-Cookie` line. Known without splitting the head.
    pub fn sets_cookies(&self) -> bool {
        self.sets_cookies
    }

    /// The first value of a header. `name` must be in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        if self.is_http2
            && let Ok(value) = std::str::from_utf8(self.http2_value(name)?)
        {
            return Some(value);
        }
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// All values of a header, in order. `name` must be in lower case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.iter().filter(move |(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The values of `Set-Cookie` lines, from which [`raw_bytes::to_bytes`] restores the bytes as received.
    pub(crate) fn cookies(&self) -> impl Iterator<Item = Cow<'_, str>> {
        // Lines without bytes outside UTF-8 are the same in both forms, so the head is searched only if there are some.
        let raw = std::str::from_utf8(&self.came).is_err().then(|| unfolded(&self.came));
        let is_plain = raw.is_none();
        let raw = raw.into_iter().flatten().filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie"));
        let raw = raw.map(|(_, value)| Cow::Owned(raw_bytes::stored(&value).into_owned()));
        let plain = self.all("set-cookie").filter(move |_| is_plain).map(Cow::Borrowed);
        raw.chain(plain)
    }

    /// The first value of this name in a head of HTTP/2, without splitting it.
    fn http2_value(&self, name: &str) -> Option<&[u8]> {
        let mut start = 1;
        memchr_iter(b'\n', &self.came).skip(1).find_map(|end| {
            let line = &self.came[std::mem::replace(&mut start, end + 1)..end];
            let value = line.strip_prefix(name.as_bytes())?.strip_prefix(b":")?;
            Some(value.trim_ascii())
        })
    }

    /// The `Location`. Its bytes outside ASCII are percent-encoded one by one, whatever encoding they have, as curl does.
    pub(crate) fn location(&self) -> Option<Cow<'_, str>> {
        let value = self.get("location")?;
        if value.is_ascii() {
            return Some(Cow::Borrowed(value));
        }
        let bytes = match &*self.came {
            [] => value.as_bytes(),
            text => text.split(|byte| *byte == b'\n').skip(1).find_map(|line| {
                let colon = line.iter().position(|byte| *byte == b':')?;
                line[..colon].eq_ignore_ascii_case(b"location").then(|| line[colon + 1..].trim_ascii())
            })?,
        };
        let mut encoded = String::with_capacity(bytes.len() + 8);
        for byte in bytes {
            match byte.is_ascii() {
                true => encoded.push(char::from(*byte)),
                false => encoded.push_str(&format!("%{byte:02X}")),
            }
        }
        Some(Cow::Owned(encoded))
    }

    /// Name and value of every line.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines().lines().filter_map(|line| line.split_once(':'))
    }

    pub fn is_empty(&self) -> bool {
        self.lines().is_empty()
    }

    fn lines(&self) -> &str {
        self.lines.get_or_init(|| {
            let mut lines = String::with_capacity(self.came.len());
            unfolded(&self.came).for_each(|(name, value)| push(&mut lines, name, value.trim_ascii()));
            lines
        })
    }
}

/// Name and value of the lines of a head.
fn unfolded(text: &[u8]) -> impl Iterator<Item = (&[u8], Cow<'_, [u8]>)> {
    let mut rest = text.split(|byte| *byte == b'\n').skip(1).peekable();
    std::iter::from_fn(move || {
        loop {
            let line = rest.next()?;
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let mut value = Cow::Borrowed(line[colon + 1..].trim_ascii());
            // RFC 9112, section 5.2: a folded line continues after a space.
            while let Some(folded) = rest.next_if(|next| matches!(next.first(), Some(b' ' | b'\t'))) {
                let value = value.to_mut();
                value.push(b' ');
                value.extend_from_slice(folded.trim_ascii());
            }
            return Some((&line[..colon], value));
        }
    })
}

fn push(lines: &mut String, name: &[u8], value: &[u8]) {
    let start = lines.len();
    push_decoded(lines, name);
    lines[start..].make_ascii_lowercase();
    lines.push(':');
    push_decoded(lines, value);
    lines.push('\n');
}

fn push_decoded(text: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(utf8) => text.push_str(utf8),
        Err(_) => text.extend(bytes.iter().map(|byte| char::from(*byte))),
    }
}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for Headers {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(pairs: T) -> Self {
        let mut lines = String::new();
        let mut sets_cookies = false;
        for (name, value) in pairs {
            sets_cookies |= name.as_ref().eq_ignore_ascii_case("set-cookie");
            lines.push_str(&name.as_ref().to_ascii_lowercase());
            lines.push(':');
            lines.push_str(value.as_ref().trim());
            lines.push('\n');
        }
        Self { came: Bytes::new(), lines: OnceCell::from(lines), sets_cookies, is_http2: false }
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_order_and_become_lower_case() {
        let head = "HTTP/1.1 200 OK\r\nX-One: 1\r\nSet-Cookie: a=b: c\r\nset-cookie:  d \r\nempty:\r\nname: caf\u{e9}\r\n\r\n";
        let latin: Vec<u8> = head.chars().map(|c| c as u8).collect();
        let headers = Headers::from_head(Bytes::from(latin), true);
        assert_eq!(
            headers.iter().collect::<Vec<_>>(),
            [("x-one", "1"), ("set-cookie", "a=b: c"), ("set-cookie", "d"), ("empty", ""), ("name", "café")]
        );
        assert_eq!(headers.get("set-cookie"), Some("a=b: c"));
        assert_eq!(headers.all("set-cookie").collect::<Vec<_>>(), ["a=b: c", "d"]);
        assert_eq!(headers.get("missing"), None);
        assert!(Headers::default().is_empty());
    }

    #[test]
    fn folded_lines_are_one_value() {
        let head = "HTTP/1.1 200 OK\r\nx-a: one\r\n two\r\n\tthree: 3\r\nx-b:\r\n 1\r\n\r\n";
        let headers = Headers::from_head(Bytes::from(head), false);
        assert_eq!(headers.iter().collect::<Vec<_>>(), [("x-a", "one two three: 3"), ("x-b", "1")]);
    }

    #[test]
    fn trailers_are_read_like_header_lines() {
        let trailers = Headers::from_trailers(b"Digest: x\n y\nB:\xff\n");
        assert_eq!(trailers.iter().collect::<Vec<_>>(), [("digest", "x y"), ("b", "\u{ff}")]);
        assert!(Headers::from_trailers(b"").is_empty());
    }

    #[test]
    fn http2_fields_are_read_like_header_lines() {
        let lines = Bytes::from_static(b"\nx-one: 1 \nset-cookie:a=b\nset-cookie:c\nempty:\nname:caf\xe9\n");
        let headers = Headers::of_http2(DecodedBlock { lines, sets_cookies: true, ..DecodedBlock::default() });
        assert_eq!(
            ["x-one", "set-cookie", "empty", "name", "x"].map(|name| headers.get(name)),
            [Some("1"), Some("a=b"), Some(""), Some("café"), None]
        );
        assert_eq!(headers.all("set-cookie").collect::<Vec<_>>(), ["a=b", "c"]);
        assert_eq!(headers.cookies().collect::<Vec<_>>(), ["a=b", "c"]);
        let none = Headers::of_http2(DecodedBlock::default());
        assert!(headers.sets_cookies() && !headers.is_empty() && none.is_empty() && none.get("x").is_none());
    }
}
