//! RESP, the format of commands and replies (redis.io, "Redis serialization protocol specification").
//!
//! One function reads one part. The scanner reads all parts of a reply to find its end, and a reader of the values reads them again. Nothing is
//! copied.

use std::str::FromStr;

use memchr::memchr;

use crate::failure::Failure;
use crate::raw::AnswerFraming;

/// The longest line in bytes: a length, a number, a message.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// A part of a reply: a value, or the header of several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RedisPart<'a> {
    /// A status such as `OK`.
    Status(&'a [u8]),
    Text(&'a [u8]),
    /// `CODE and why`.
    Error(&'a [u8]),
    Integer(i64),
    Double(f64),
    /// Digits of an integer that does not fit into 64 bits.
    BigNumber(&'a [u8]),
    Boolean(bool),
    Null,
    /// This many values follow.
    List(u64),
    /// This many names follow, each with its value.
    Map(u64),
    /// This many names and values follow. They describe the next value and are not values themselves.
    Attributes(u64),
}

/// The values of complete replies, one part after another.
#[derive(Debug, Clone)]
pub struct RedisReplies<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> RedisReplies<'a> {
    /// From bytes that contain complete replies.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<'a> Iterator for RedisReplies<'a> {
    type Item = RedisPart<'a>;

    /// The next part. `None` after the last.
    fn next(&mut self) -> Option<RedisPart<'a>> {
        let at = past_pushes(self.bytes, self.at).ok().flatten()?;
        let (part, next) = part(self.bytes, at).ok().flatten()?;
        self.at = next;
        Some(part)
    }
}

/// Finds the end of replies in bytes that arrive piece by piece. Examines each part once.
#[derive(Debug)]
pub(super) struct RedisScanner {
    at: usize,
    /// Values that have not arrived yet.
    left: u64,
}

impl RedisScanner {
    pub(super) fn new(replies: usize) -> Self {
        Self { at: 0, left: replies as u64 }
    }
}

impl AnswerFraming for RedisScanner {
    fn whole(&mut self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        while self.left > 0 {
            let Some(at) = past_pushes(bytes, self.at)? else { return Ok(None) };
            if !self.take(bytes, at)? {
                return Ok(None);
            }
        }
        Ok(Some(self.at))
    }
}

impl RedisScanner {
    /// Moves past the part that begins here. `false` while it is incomplete.
    fn take(&mut self, bytes: &[u8], at: usize) -> Result<bool, Failure> {
        let Some((part, next)) = part(bytes, at)? else { return Ok(false) };
        self.at = next;
        let (values, more) = match part {
            RedisPart::List(values) => (1, Some(values)),
            RedisPart::Map(pairs) => (1, pairs.checked_mul(2)),
            RedisPart::Attributes(pairs) => (0, pairs.checked_mul(2)),
            _ => (1, Some(0)),
        };
        self.left = more.and_then(|more| (self.left - values).checked_add(more)).ok_or_else(|| malformed("a length is out of range"))?;
        Ok(true)
    }
}

/// The offset after pushes that answer no command: messages, and invalidated keys (RESP3, "Push type"). They come between replies, and contain no other.
/// `None` while one is incomplete.
fn past_pushes(bytes: &[u8], mut at: usize) -> Result<Option<usize>, Failure> {
    while bytes.get(at) == Some(&b'>') {
        let Some((RedisPart::List(count), first)) = part(bytes, at)? else { return Ok(None) };
        // What follows an empty push is not its kind.
        if count == 0 {
            break;
        }
        let Some((kind, _)) = part(bytes, first)? else { return Ok(None) };
        if !matches!(kind, RedisPart::Text(b"invalidate" | b"message" | b"pmessage" | b"smessage")) {
            break;
        }
        let mut content = RedisScanner { at: first, left: count };
        while content.left > 0 {
            if !content.take(bytes, content.at)? {
                return Ok(None);
            }
        }
        at = content.at;
    }
    Ok(Some(at))
}

/// The part that begins here, and the offset of the next one. `None` while it is incomplete.
fn part(bytes: &[u8], at: usize) -> Result<Option<(RedisPart<'_>, usize)>, Failure> {
    let Some((kind, rest)) = bytes.get(at..).and_then(<[u8]>::split_first) else { return Ok(None) };
    let Some(end) = memchr(b'\n', &rest[..rest.len().min(LINE_BYTES_MAX)]) else {
        return if rest.len() < LINE_BYTES_MAX { Ok(None) } else { Err(malformed("a line is too long")) };
    };
    let line = rest[..end].strip_suffix(b"\r").ok_or_else(|| malformed("a line does not end in CR LF"))?;
    let next = at + 1 + end + 1;
    let part = match kind {
        b'+' => RedisPart::Status(line),
        b'-' => RedisPart::Error(line),
        b':' => RedisPart::Integer(number(line)?),
        b',' => RedisPart::Double(number(line)?),
        b'(' => RedisPart::BigNumber(line),
        b'#' if line == b"t" || line == b"f" => RedisPart::Boolean(line == b"t"),
        b'_' => RedisPart::Null,
        b'*' | b'$' | b'=' if line == b"-1" => RedisPart::Null,
        b'*' | b'~' | b'>' => RedisPart::List(number(line)?),
        b'%' => RedisPart::Map(number(line)?),
        b'|' => RedisPart::Attributes(number(line)?),
        b'$' | b'=' | b'!' => return text(bytes, *kind, next, number(line)?),
        _ => return Err(malformed("a value of an unknown type")),
    };
    Ok(Some((part, next)))
}

/// A string of known length.
fn text(bytes: &[u8], kind: u8, start: usize, length: usize) -> Result<Option<(RedisPart<'_>, usize)>, Failure> {
    let end = start.checked_add(length).and_then(|end| end.checked_add(2)).ok_or_else(|| malformed("a length is out of range"))?;
    let Some(text) = bytes.get(start..end) else { return Ok(None) };
    let text = text.strip_suffix(b"\r\n").ok_or_else(|| malformed("a string is longer than declared"))?;
    let part = match kind {
        b'!' => RedisPart::Error(text),
        // The prefix is `txt:` or `mkd:`.
        b'=' => RedisPart::Text(text.get(4..).unwrap_or_default()),
        _ => RedisPart::Text(text),
    };
    Ok(Some((part, end)))
}

fn number<T: FromStr>(line: &[u8]) -> Result<T, Failure> {
    std::str::from_utf8(line).ok().and_then(|text| text.parse().ok()).ok_or_else(|| malformed("a number is malformed"))
}

fn malformed(problem: &str) -> Failure {
    Failure::protocol(format!("the reply is not Redis: {problem}"))
}

/// Begins a command with this many arguments, including its name.
pub fn write_command(out: &mut Vec<u8>, arguments: usize) {
    head(out, b'*', arguments);
}

pub fn write_argument(out: &mut Vec<u8>, argument: &[u8]) {
    head(out, b'$', argument.len());
    out.extend_from_slice(argument);
    out.extend_from_slice(b"\r\n");
}

fn head(out: &mut Vec<u8>, kind: u8, number: usize) {
    use std::io::Write;
    // Writing to a vector always succeeds.
    let _ = write!(out, "{}{number}\r\n", kind as char);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use redis::Value;

    use super::*;

    /// The next value, in the redis crate's representation.
    fn value(parts: &mut RedisReplies<'_>) -> Value {
        let several = |count: u64, parts: &mut RedisReplies<'_>| (0..count).map(|_| value(parts)).collect::<Vec<_>>();
        match parts.next().expect("a value") {
            RedisPart::Status(b"OK") => Value::Okay,
            RedisPart::Status(text) => Value::SimpleString(String::from_utf8_lossy(text).into_owned()),
            RedisPart::Text(text) => Value::BulkString(text.to_vec()),
            RedisPart::Integer(number) => Value::Int(number),
            RedisPart::Double(number) => Value::Double(number),
            RedisPart::Boolean(boolean) => Value::Boolean(boolean),
            RedisPart::Null => Value::Nil,
            RedisPart::List(count) => Value::Array(several(count, parts)),
            RedisPart::Map(count) => Value::Map((0..count).map(|_| (value(parts), value(parts))).collect()),
            other => panic!("{other:?} is not written here"),
        }
    }

    fn write(value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::Okay => out.extend_from_slice(b"+OK\r\n"),
            Value::SimpleString(text) => out.extend_from_slice(format!("+{text}\r\n").as_bytes()),
            Value::BulkString(text) => write_argument(out, text),
            Value::Int(number) => out.extend_from_slice(format!(":{number}\r\n").as_bytes()),
            Value::Double(number) => out.extend_from_slice(format!(",{number}\r\n").as_bytes()),
            Value::Boolean(boolean) => out.extend_from_slice(if *boolean { b"#t\r\n" } else { b"#f\r\n" }),
            Value::Nil => out.extend_from_slice(b"_\r\n"),
            Value::Array(values) => {
                write_command(out, values.len());
                values.iter().for_each(|value| write(value, out));
            }
            Value::Map(pairs) => {
                out.extend_from_slice(format!("%{}\r\n", pairs.len()).as_bytes());
                pairs.iter().for_each(|(name, value)| {
                    write(name, out);
                    write(value, out);
                });
            }
            other => panic!("{other:?} is not generated"),
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Okay),
            "[a-z ]{3,9}".prop_map(Value::SimpleString),
            proptest::collection::vec(any::<u8>(), 0..40).prop_map(Value::BulkString),
            any::<i64>().prop_map(Value::Int),
            (-1e9..1e9).prop_map(Value::Double),
            any::<bool>().prop_map(Value::Boolean),
            Just(Value::Nil),
        ];
        leaf.prop_recursive(3, 30, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
                proptest::collection::vec((inner.clone(), inner), 0..4).prop_map(Value::Map),
            ]
        })
    }

    proptest! {
        /// The redis crate reads the same values, and no earlier end is found for any division into pieces.
        #[test]
        fn another_parser_agrees(values in proptest::collection::vec(any_value(), 1..4), piece in 1usize..30) {
            let mut bytes = Vec::new();
            values.iter().for_each(|value| write(value, &mut bytes));
            let whole = bytes.len();
            bytes.extend_from_slice(b"+surplus\r\n");
            let mut scanner = RedisScanner::new(values.len());
            for end in (0..whole).step_by(piece) {
                prop_assert_eq!(scanner.whole(&bytes[..end]).unwrap(), None);
            }
            prop_assert_eq!(scanner.whole(&bytes).unwrap(), Some(whole));
            let mut parts = RedisReplies::of(&bytes[..whole]);
            let ours: Vec<Value> = values.iter().map(|_| value(&mut parts)).collect();
            prop_assert!(parts.next().is_none());
            let mut parser = redis::Parser::new();
            let mut rest = &bytes[..whole];
            let theirs: Vec<Value> = values.iter().map(|_| parser.parse_value(&mut rest).unwrap()).collect();
            prop_assert_eq!(ours, theirs);
        }

        /// The fuzz target, with bytes that are often read as lengths and lines.
        #[test]
        fn no_bytes_cause_a_panic(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'*'), Just(b'$'), b'0'..=b'9', any::<u8>()], 0..60),
        ) {
            crate::fuzzing::redis(&bytes);
        }
    }

    #[test]
    fn rare_types_of_resp3() {
        let bytes = b"|1\r\n+ttl\r\n:3600\r\n=7\r\ntxt:abc\r\n!7\r\nERR odd\r\n\
            (3492890328409238509324850943850943825024385\r\n~1\r\n#t\r\n,inf\r\n*-1\r\n$-1\r\n";
        let mut scanner = RedisScanner::new(7);
        assert_eq!(scanner.whole(bytes), Ok(Some(bytes.len())));
        let parts: Vec<RedisPart<'_>> = RedisReplies::of(bytes).collect();
        let big = b"3492890328409238509324850943850943825024385";
        let expected = [
            RedisPart::Attributes(1),
            RedisPart::Status(b"ttl"),
            RedisPart::Integer(3600),
            RedisPart::Text(b"abc"),
            RedisPart::Error(b"ERR odd"),
            RedisPart::BigNumber(big),
            RedisPart::List(1),
            RedisPart::Boolean(true),
            RedisPart::Double(f64::INFINITY),
            RedisPart::Null,
            RedisPart::Null,
        ];
        assert_eq!(parts, expected);
    }

    #[test]
    fn pushes_between_replies_are_no_replies() {
        let invalidated = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n";
        let bytes = format!("{invalidated}+OK\r\n{invalidated}{invalidated}:7\r\n");
        for end in 0..bytes.len() {
            assert_eq!(RedisScanner::new(2).whole(&bytes.as_bytes()[..end]), Ok(None), "{end}");
        }
        assert_eq!(RedisScanner::new(2).whole(bytes.as_bytes()), Ok(Some(bytes.len())));
        let parts: Vec<RedisPart<'_>> = RedisReplies::of(bytes.as_bytes()).collect();
        assert_eq!(parts, [RedisPart::Status(b"OK"), RedisPart::Integer(7)]);
        // In RESP3, the reply to SUBSCRIBE is a push.
        let subscribed = ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
        assert_eq!(RedisScanner::new(1).whole(subscribed.as_bytes()), Ok(Some(subscribed.len())));
        // What follows an empty push is the next reply.
        let empty = b">0\r\n:2\r\n";
        assert_eq!(RedisScanner::new(1).whole(empty), Ok(Some(4)));
        assert_eq!(RedisReplies::of(&empty[..4]).collect::<Vec<_>>(), [RedisPart::List(0)]);
    }

    /// One call per level would need more than the stack of a worker.
    #[test]
    fn pushes_in_pushes_are_scanned_without_recursion() {
        let nested = ">2\r\n$7\r\nmessage\r\n".repeat(200_000) + ":1\r\n:2\r\n";
        assert_eq!(RedisScanner::new(1).whole(nested.as_bytes()), Ok(Some(nested.len())));
    }

    #[test]
    fn replies_that_are_not_redis_are_refused() {
        for wrong in ["HTTP/1.1 400 Bad Request\r\n", ":12a\r\n", "$3\r\nabcdef\r\n", "+OK\n", "*18446744073709551615\r\n*5\r\n", "#x\r\n"]
        {
            let result = RedisScanner::new(1).whole(wrong.as_bytes());
            assert!(result.as_ref().is_err_and(|failure| failure.message.starts_with("the reply is not Redis")), "{wrong}: {result:?}");
        }
    }
}
