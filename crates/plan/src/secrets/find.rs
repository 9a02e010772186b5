//! One secret in a text, in whatever way it is spelt there.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use crate::Parameter;

/// A shorter value is looked for as a word of its own, and neither in base64 nor cut short.
const SEARCHED_LENGTH_MIN: usize = 4;
/// What stands where a text was cut.
const CUT: &str = "…";

/// A value that must not be seen.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret {
    text: String,
    encoded: Vec<Encoded>,
}

/// What base64 makes of a secret somewhere inside other bytes: the characters that depend on it alone.
#[derive(Clone, PartialEq, Eq)]
struct Encoded {
    characters: String,
    /// The character before (behind) these also holds bits of the secret.
    before: bool,
    behind: bool,
}

impl Secret {
    pub(super) fn new(text: &str) -> Self {
        let encoded = if is_short(text) {
            Vec::new()
        } else {
            (0..3).flat_map(|shift| [encoded(&STANDARD_NO_PAD, text, shift), encoded(&URL_SAFE_NO_PAD, text, shift)]).collect()
        };
        Self { text: text.to_owned(), encoded }
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.text == text
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn length(&self) -> usize {
        self.text.len()
    }

    /// Which bytes of the text show the secret, when they begin to at `at`.
    fn at(&self, text: &str, at: usize) -> Option<(usize, usize)> {
        // A backslash may be the secret's own or begin an escape: either reading counts.
        if let Some(end) = [Reading::Plain, Reading::Escaped].iter().find_map(|reading| self.plain(text.as_bytes(), at, *reading)) {
            return (!is_short(&self.text) || stands_alone(text, at, end)).then_some((at, end));
        }
        let (start, rest) = (text.as_bytes(), &text.as_bytes()[at..]);
        self.encoded.iter().find(|encoded| rest.starts_with(encoded.characters.as_bytes())).map(|encoded| {
            let end = at + encoded.characters.len();
            let is_code = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte));
            let from = at - usize::from(encoded.before && is_code(at.checked_sub(1).and_then(|before| start.get(before))));
            let mut to = end + usize::from(encoded.behind && is_code(start.get(end)));
            while start.get(to) == Some(&b'=') {
                to += 1;
            }
            (from, to)
        })
    }

    fn plain(&self, text: &[u8], at: usize, reading: Reading) -> Option<usize> {
        let (mut place, mut secret) = (at, self.text.as_str());
        while let Some(wanted) = secret.chars().next() {
            if self.text.len() - secret.len() >= SEARCHED_LENGTH_MIN && text[place..].starts_with(CUT.as_bytes()) {
                return Some(place);
            }
            place += character(&text[place..], wanted, reading)?;
            secret = &secret[wanted.len_utf8()..];
        }
        Some(place)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Plain,
    Escaped,
}

/// How many bytes of the text stand for this character, in any of the ways to write it.
fn character(text: &[u8], wanted: char, reading: Reading) -> Option<usize> {
    let mut buffer = [0; 4];
    let bytes = wanted.encode_utf8(&mut buffer).as_bytes();
    if reading == Reading::Escaped
        && let Some(length) = escaped(text, wanted)
    {
        return Some(length);
    }
    if text.starts_with(bytes) {
        return Some(bytes.len());
    }
    if wanted == ' ' && text.first() == Some(&b'+') {
        return Some(1);
    }
    let is_percent = |index: usize, byte: &u8| {
        let code = text.get(index * 3..index * 3 + 3)?;
        let digits = code.strip_prefix(b"%").and_then(|digits| std::str::from_utf8(digits).ok())?;
        (u8::from_str_radix(digits, 16) == Ok(*byte)).then_some(())
    };
    bytes.iter().enumerate().try_for_each(|(index, byte)| is_percent(index, byte)).map(|()| bytes.len() * 3)
}

/// The same for the escapes of JSON.
fn escaped(text: &[u8], wanted: char) -> Option<usize> {
    let rest = text.strip_prefix(b"\\")?;
    let short = match wanted {
        '"' | '\\' | '/' => wanted as u8,
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        _ => 0,
    };
    if short != 0 && rest.first() == Some(&short) {
        return Some(2);
    }
    let mut units = [0; 2];
    let units = wanted.encode_utf16(&mut units);
    let is_unit = |index: usize, unit: &u16| {
        let digits = text.get(index * 6..index * 6 + 6)?.strip_prefix(b"\\u")?;
        (u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16) == Ok(*unit)).then_some(())
    };
    units.iter().enumerate().try_for_each(|(index, unit)| is_unit(index, unit)).map(|()| units.len() * 6)
}

fn is_short(text: &str) -> bool {
    text.chars().count() < SEARCHED_LENGTH_MIN
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !is_word(text[..start].chars().next_back()) && !is_word(text[end..].chars().next())
}

/// Base64 of the text behind `shift` other bytes. Three bytes make four characters, so shifts beyond two repeat (RFC 4648, section 4).
fn encoded(alphabet: &impl Engine, text: &str, shift: usize) -> Encoded {
    let whole = alphabet.encode([&b"\0\0"[..shift], text.as_bytes()].concat());
    let bits = (shift + text.len()) * 8;
    Encoded {
        characters: whole[(shift * 8).div_ceil(6)..bits / 6].to_owned(),
        before: !(shift * 8).is_multiple_of(6),
        behind: !bits.is_multiple_of(6),
    }
}

/// The text with a mask in place of every secret.
pub(super) fn hide<'a>(secrets: &[Secret], text: &'a str) -> Cow<'a, str> {
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while at < text.len() && !secrets.is_empty() {
        match text.is_char_boundary(at).then(|| secrets.iter().find_map(|secret| secret.at(text, at))).flatten() {
            Some((start, end)) => {
                out.push_str(&text[copied..start.max(copied)]);
                out.push_str(Parameter::MASK);
                (copied, at) = (end, end);
            }
            None => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}
