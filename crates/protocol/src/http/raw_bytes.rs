//! Bytes of cookies that are not UTF-8, in strings.
//!
//! A cookie must come back with the bytes that the server has sent (RFC 6265, section 5.4, has no encoding). Strings contain only Unicode. Each byte of a
//! cookie that is not UTF-8 is therefore stored as a character at the end of the last plane for private use, and is a byte again on the wire.

use std::borrow::Cow;

/// The character that stands for the byte 0.
const FIRST: u32 = 0x10_FF00;

/// The first byte of these characters in UTF-8, which no other character below U+100000 has.
const LEADING_BYTE: u8 = 0xf4;

/// Bytes as a string, from which [`to_bytes`] restores them.
pub(crate) fn stored(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { character_of(*byte) }).collect()),
    }
}

/// The bytes to send for a string.
pub(crate) fn to_bytes(text: &str) -> Cow<'_, [u8]> {
    if !has_bytes(text) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match byte_of(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// For people and scripts: the bytes as Latin-1.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !has_bytes(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|character| byte_of(character).map_or(character, char::from)).collect())
}

fn has_bytes(text: &str) -> bool {
    memchr::memchr(LEADING_BYTE, text.as_bytes()).is_some() && text.chars().any(|character| byte_of(character).is_some())
}

fn character_of(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn byte_of(character: char) -> Option<u8> {
    u32::from(character).checked_sub(FIRST).and_then(|byte| u8::try_from(byte).ok()).filter(|byte| !byte.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(&*to_bytes(&stored(&all)), all);
        assert_eq!(shown(&stored(b"Jos\xe9")), "José");
        for text in ["", "José", "😀 \u{10FEFF}"] {
            assert_eq!((&*stored(text.as_bytes()), &*to_bytes(text), &*shown(text)), (text, text.as_bytes(), text));
        }
    }
}
