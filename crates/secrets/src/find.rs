//! Finds secrets in a string, in any spelling.
//!
//! Values are stored in the order of their bytes, so that values with a common prefix are neighbours. From each position of a string, the search
//! continues as long as some value continues in the same way. Its time hardly depends on the number of values.

use std::collections::BTreeSet;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// A shorter value is searched only as a separate word: not in base64, and not truncated.
const FREE_SEARCH_LENGTH_MIN: usize = 4;
/// Marks where a string was truncated.
const TRUNCATION_MARK: &str = "…";

/// Values to hide.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct SecretValues(BTreeSet<Arc<[u8]>>);

/// How the bytes of a value are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Literally, percent-encoded, or escaped as in JSON.
    Written,
    /// Only literally.
    Decoded,
}

/// The decoded bytes of one position of a string.
struct DecodedBytes {
    bytes: [u8; 4],
    length: usize,
    /// How many bytes of the string they occupy.
    taken: usize,
}

impl DecodedBytes {
    fn byte(byte: u8, taken: usize) -> Self {
        Self { bytes: [byte, 0, 0, 0], length: 1, taken }
    }
}

impl SecretValues {
    /// Returns false if the value was already known.
    pub(crate) fn insert(&mut self, value: Arc<[u8]>) -> bool {
        self.0.insert(value)
    }

    pub(crate) fn remove(&mut self, value: &[u8]) {
        self.0.remove(value);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        self.0.iter()
    }

    /// Adds the spans of a string that contain a value.
    pub(crate) fn find(&self, text: &str, spans: &mut Vec<Range<usize>>) {
        if self.0.is_empty() {
            return;
        }
        for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            spans.extend(self.longest(text.as_bytes(), at, Spelling::Written).map(|end| at..end));
        }
        self.find_in_base64(text.as_bytes(), spans);
    }

    /// The end of the value that begins at `start`, whole or truncated. `None` if no value begins there.
    fn longest(&self, text: &[u8], start: usize, spelling: Spelling) -> Option<usize> {
        let begins =
            self.first(text.get(start..=start)?).is_some() || spelling == Spelling::Written && decoded_escape(&text[start..]).is_some();
        if !begins {
            return None;
        }
        let (mut longest, mut read, mut open) = (None, Vec::new(), Vec::new());
        let go_on = |open: &mut Vec<_>, at: usize, known: usize| {
            let rest = &text[at..];
            let itself = rest.first().map(|byte| DecodedBytes::byte(*byte, 1));
            let other = if spelling == Spelling::Written { decoded_escape(rest) } else { None };
            open.extend(itself.into_iter().chain(other).map(|meaning| (at, known, meaning)));
        };
        go_on(&mut open, start, 0);
        while let Some((at, known, meaning)) = open.pop() {
            read.truncate(known);
            read.extend_from_slice(&meaning.bytes[..meaning.length]);
            let Some(value) = self.first(&read) else { continue };
            let at = at + meaning.taken;
            let is_whole = value.len() == read.len();
            let is_cut =
                spelling == Spelling::Written && read.len() >= FREE_SEARCH_LENGTH_MIN && text[at..].starts_with(TRUNCATION_MARK.as_bytes());
            let counts = is_cut || is_whole && (!is_short(value) || spelling == Spelling::Written && is_separate_word(text, start, at));
            if counts {
                longest = longest.max(Some(at));
            }
            go_on(&mut open, at, read.len());
        }
        longest
    }

    /// The shortest value with this prefix, or one of several.
    fn first(&self, beginning: &[u8]) -> Option<&[u8]> {
        let from: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(beginning), Bound::Unbounded);
        self.0.range::<[u8], _>(from).next().map(|value| &**value).filter(|value| value.starts_with(beginning))
    }

    /// Four characters of base64 hold three bytes (RFC 4648, section 4). The start of the encoding is unknown, so each of four offsets is tried. A
    /// match ends with the characters that hold any of its bits, and with the padding.
    fn find_in_base64(&self, text: &[u8], spans: &mut Vec<Range<usize>>) {
        let length_min = (FREE_SEARCH_LENGTH_MIN * 8).div_ceil(6);
        let mut begin = 0;
        while begin < text.len() {
            let length = text[begin..].iter().take_while(|character| sextet(**character).is_some()).count();
            let shifts = if length < length_min { 0..0 } else { begin..begin + 4 };
            for from in shifts {
                let bytes = decoded(&text[from..begin + length]);
                for at in 0..bytes.len() {
                    let Some(end) = self.longest(&bytes, at, Spelling::Decoded) else { continue };
                    let end = from + (end * 8).div_ceil(6);
                    let padding = text[end..].iter().take_while(|character| **character == b'=').count();
                    spans.push(from + at * 8 / 6..end + padding);
                }
            }
            begin += length + 1;
        }
    }
}

/// Decodes the beginning of a string, if it is an escape.
fn decoded_escape(rest: &[u8]) -> Option<DecodedBytes> {
    match rest {
        [b'+', ..] => Some(DecodedBytes::byte(b' ', 1)),
        [b'%', digits @ ..] => Some(DecodedBytes::byte(u8::try_from(hexadecimal(digits.get(..2)?)?).ok()?, 3)),
        [b'\\', b'u', ..] => unicode_escape(rest),
        [b'\\', short, ..] => {
            let byte = match short {
                b'"' | b'\\' | b'/' => *short,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'b' => 0x8,
                b'f' => 0xc,
                _ => return None,
            };
            Some(DecodedBytes::byte(byte, 2))
        }
        _ => None,
    }
}

/// `\u00e4`, or a surrogate pair of two such escapes.
fn unicode_escape(rest: &[u8]) -> Option<DecodedBytes> {
    let unit = |from: usize| hexadecimal(rest.get(from..)?.strip_prefix(b"\\u")?.get(..4)?);
    let units = [unit(0), unit(6)].into_iter().map_while(|unit| u16::try_from(unit?).ok());
    let character = char::decode_utf16(units).next()?.ok()?;
    let mut bytes = [0; 4];
    let length = character.encode_utf8(&mut bytes).len();
    Some(DecodedBytes { bytes, length, taken: 6 * character.len_utf16() })
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| Some(number * 16 + char::from(*digit).to_digit(16)?))
}

/// The value of a base64 character, in either alphabet.
fn sextet(character: u8) -> Option<u32> {
    let place = match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(place))
}

fn decoded(characters: &[u8]) -> Vec<u8> {
    let (mut bits, mut held, mut bytes) = (0_u32, 0, Vec::with_capacity(characters.len()));
    for sextet in characters.iter().filter_map(|character| sextet(*character)) {
        bits = ((bits << 6) | sextet) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(((bits >> held) & 0xff) as u8);
        }
    }
    bytes
}

fn is_short(value: &[u8]) -> bool {
    String::from_utf8_lossy(value).chars().count() < FREE_SEARCH_LENGTH_MIN
}

fn is_separate_word(text: &[u8], start: usize, end: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    // A character has at most four bytes.
    let before = String::from_utf8_lossy(&text[start.saturating_sub(4)..start]);
    let behind = String::from_utf8_lossy(&text[end..text.len().min(end + 4)]);
    !is_word(before.chars().next_back()) && !is_word(behind.chars().next())
}
