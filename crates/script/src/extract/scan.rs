//! One pass over JSON that checks all of it and records the place of one value, without building a tree.
//!
//! Read [`locate`]. The grammar is all of RFC 8259: the scan rejects what `serde_json` rejects, so that extraction from a broken response
//! fails with every kind of path. Of members with one name the last counts, as in `JSON.parse`.

use std::ops::Range;

use thiserror::Error;

/// Why a string is not JSON, and where. Lines and columns start at 1. Columns are bytes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("not JSON: {problem} at line {line}, column {column}")]
pub(crate) struct JsonError {
    pub(crate) problem: &'static str,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// One part of a simple path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathStep {
    Name(Box<str>),
    Index(usize),
}

/// Values nested deeper are rejected, as in `serde_json`: the scan recurses.
const DEPTH_MAX: usize = 127;

/// The place of the value at `path`. `None` when there is none. The whole text is checked.
pub(super) fn locate(text: &[u8], path: &[PathStep]) -> Result<Option<Range<usize>>, JsonError> {
    let mut scanner = Scanner { text, at: 0, depth: 0 };
    let found = scanner.document(|scanner| scanner.follow(path));
    found.map_err(|problem| scanner.error(problem))
}

/// The places of a list's items. `None` when the text is JSON but not a list.
pub(crate) fn items(text: &[u8]) -> Result<Option<Vec<Range<usize>>>, JsonError> {
    let mut scanner = Scanner { text, at: 0, depth: 0 };
    let found = scanner.document(|scanner| {
        if scanner.peek() != Some(b'[') {
            return scanner.skip().map(|_| None);
        }
        let mut places = Vec::new();
        scanner.list(|scanner, _| {
            places.push(scanner.skip()?);
            Ok(())
        })?;
        Ok(Some(places))
    });
    found.map_err(|problem| scanner.error(problem))
}

/// Checks that a string is one JSON value.
pub(crate) fn check(text: &[u8]) -> Result<(), JsonError> {
    locate(text, &[]).map(|_| ())
}

type ScanProblem = &'static str;

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Scanner<'_> {
    fn document<T>(&mut self, value: impl FnOnce(&mut Self) -> Result<T, ScanProblem>) -> Result<T, ScanProblem> {
        self.space();
        let value = value(self)?;
        self.space();
        if self.at < self.text.len() { Err("text after the value") } else { Ok(value) }
    }

    /// Passes over a value and finds the rest of the path in it.
    fn follow(&mut self, path: &[PathStep]) -> Result<Option<Range<usize>>, ScanProblem> {
        let Some((step, rest)) = path.split_first() else { return self.skip().map(Some) };
        match (step, self.peek()) {
            (PathStep::Name(name), Some(b'{')) => {
                let mut found = None;
                self.object(|scanner, key| {
                    if key_is(&scanner.text[key], name) {
                        found = scanner.follow(rest)?;
                    } else {
                        scanner.skip()?;
                    }
                    Ok(())
                })?;
                Ok(found)
            }
            (PathStep::Index(wanted), Some(b'[')) => {
                let mut found = None;
                self.list(|scanner, index| {
                    if index == *wanted {
                        found = scanner.follow(rest)?;
                    } else {
                        scanner.skip()?;
                    }
                    Ok(())
                })?;
                Ok(found)
            }
            _ => self.skip().map(|_| None),
        }
    }

    /// Passes over a value and returns its place.
    fn skip(&mut self) -> Result<Range<usize>, ScanProblem> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => self.string().map(|_| ())?,
            Some(b'{') => self.object(|scanner, _| scanner.skip().map(|_| ()))?,
            Some(b'[') => self.list(|scanner, _| scanner.skip().map(|_| ()))?,
            Some(b't') => self.literal(b"true")?,
            Some(b'f') => self.literal(b"false")?,
            Some(b'n') => self.literal(b"null")?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => return Err("expected a value"),
            None => return Err("the text ends too early"),
        }
        Ok(start..self.at)
    }

    /// An object. `member` is called at each value, with the place of its key between the quotes.
    fn object(&mut self, mut member: impl FnMut(&mut Self, Range<usize>) -> Result<(), ScanProblem>) -> Result<(), ScanProblem> {
        self.enter()?;
        if self.peek() == Some(b'}') {
            return self.leave();
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.missing("expected a name in quotes"));
            }
            let key = self.string()?;
            self.space();
            self.expect(b':', "expected a colon")?;
            self.space();
            member(self, key)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => return self.leave(),
                _ => return Err(self.missing("expected a comma or }")),
            }
            self.space();
        }
    }

    /// A list. `item` is called at each value, with its index.
    fn list(&mut self, mut item: impl FnMut(&mut Self, usize) -> Result<(), ScanProblem>) -> Result<(), ScanProblem> {
        self.enter()?;
        if self.peek() == Some(b']') {
            return self.leave();
        }
        for index in 0.. {
            item(self, index)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => return self.leave(),
                _ => return Err(self.missing("expected a comma or ]")),
            }
            self.space();
        }
        Ok(())
    }

    fn enter(&mut self) -> Result<(), ScanProblem> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("nested too deeply");
        }
        self.space();
        Ok(())
    }

    fn leave(&mut self) -> Result<(), ScanProblem> {
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    /// A string. Returns the place between its quotes.
    fn string(&mut self) -> Result<Range<usize>, ScanProblem> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(start..self.at - 1);
                }
                Some(b'\\') => self.escape()?,
                Some(0..0x20) => return Err("a control character inside a string"),
                Some(_) => self.at += 1,
                None => return Err("the text ends inside a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), ScanProblem> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                let digits = self.text.get(self.at + 1..self.at + 5).ok_or("the text ends inside a string")?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err("\\u needs four hexadecimal digits");
                }
                self.at += 5;
            }
            Some(_) => return Err("unknown escape"),
            None => return Err("the text ends inside a string"),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), ScanProblem> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ScanProblem> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.missing("expected a digit")) } else { Ok(()) }
    }

    fn literal(&mut self, literal: &[u8]) -> Result<(), ScanProblem> {
        if !self.text[self.at..].starts_with(literal) {
            return Err("expected a value");
        }
        self.at += literal.len();
        Ok(())
    }

    fn expect(&mut self, byte: u8, problem: ScanProblem) -> Result<(), ScanProblem> {
        if self.peek() != Some(byte) {
            return Err(self.missing(problem));
        }
        self.at += 1;
        Ok(())
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn missing(&self, problem: ScanProblem) -> ScanProblem {
        if self.at >= self.text.len() { "the text ends too early" } else { problem }
    }

    fn error(&self, problem: ScanProblem) -> JsonError {
        let before = &self.text[..self.at.min(self.text.len())];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        JsonError { problem, line, column: before.len() - line_start + 1 }
    }
}

/// Whether a key, in its escaped form, is this name.
fn key_is(key: &[u8], name: &str) -> bool {
    if !key.contains(&b'\\') {
        return key == name.as_bytes();
    }
    let mut quoted = Vec::with_capacity(key.len() + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(key);
    quoted.push(b'"');
    serde_json::from_slice::<String>(&quoted).is_ok_and(|key| key == name)
}
