//! The memory that a protobuf message takes once decoded, computed before it is decoded.
//!
//! An empty message takes two bytes on the wire and hundreds in memory. A limit on the message's size therefore limits nothing: 60 MiB of empty spans,
//! 92 KB compressed, took 8 GiB. Read [`check`].

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// A field that takes memory for each occurrence.
#[derive(Debug, Clone, Copy)]
pub struct CountedField {
    pub tag: u32,
    /// Memory of one element. Bytes.
    pub element_bytes: usize,
    /// Fields of the element, if it is a message. A constant, so that the recursion ends.
    pub fields: &'static [CountedField],
    /// A packed list of numbers: each byte may be an element.
    pub packed: bool,
}

impl CountedField {
    /// A repeated message.
    pub const fn message<T>(tag: u32, fields: &'static [CountedField]) -> Self {
        Self { tag, element_bytes: size_of::<T>(), fields, packed: false }
    }

    /// A repeated string or byte sequence. Its content is also counted by its size on the wire.
    pub const fn value<T>(tag: u32) -> Self {
        Self::message::<T>(tag, &[])
    }

    /// Repeated numbers of 8 bytes.
    pub const fn numbers(tag: u32) -> Self {
        Self { tag, element_bytes: 8, fields: &[], packed: true }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodedError {
    #[error("it would take more than {0} bytes of memory")]
    TooLarge(usize),
    #[error("it is not a valid message")]
    Malformed,
}

/// Checks that decoding a message takes at most `bytes_max` for the counted fields.
///
/// # Errors
/// It would take more, or the message is malformed.
pub fn check(message: &[u8], fields: &[CountedField], bytes_max: usize) -> Result<(), DecodedError> {
    let mut left = bytes_max;
    count(message, fields, &mut left).map_err(|error| match error {
        DecodedError::TooLarge(_) => DecodedError::TooLarge(bytes_max),
        DecodedError::Malformed => error,
    })
}

fn count(mut message: &[u8], fields: &[CountedField], left: &mut usize) -> Result<(), DecodedError> {
    let malformed = |_| DecodedError::Malformed;
    while !message.is_empty() {
        let (tag, wire_type) = decode_key(&mut message).map_err(malformed)?;
        let counted = fields.iter().find(|field| field.tag == tag);
        let mut spend = |bytes: usize| {
            *left = left.checked_sub(bytes).ok_or(DecodedError::TooLarge(0))?;
            Ok(())
        };
        if wire_type != WireType::LengthDelimited {
            if let Some(field) = counted {
                spend(field.element_bytes)?;
            }
            skip_field(wire_type, tag, &mut message, DecodeContext::default()).map_err(malformed)?;
            continue;
        }
        let length = decode_varint(&mut message).ok().and_then(|length| usize::try_from(length).ok()).ok_or(DecodedError::Malformed)?;
        let (content, rest) = message.split_at_checked(length).ok_or(DecodedError::Malformed)?;
        message = rest;
        let Some(field) = counted else { continue };
        if field.packed {
            spend(length.saturating_mul(field.element_bytes))?;
        } else {
            spend(field.element_bytes.saturating_add(length))?;
            if !field.fields.is_empty() {
                count(content, field.fields, left)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::pprof::{FIELDS, PprofFunction, PprofProfile, PprofSample};

    #[test]
    fn empty_messages_are_counted_before_they_are_decoded() {
        let empty_samples = [0x12, 0x00].repeat(1 << 20);
        assert_eq!(check(&empty_samples, FIELDS, 32 << 20), Err(DecodedError::TooLarge(32 << 20)));
        let numbers =
            PprofProfile { samples: vec![PprofSample { locations: vec![1; 1 << 20], values: vec![] }], ..PprofProfile::default() };
        assert_eq!(check(&numbers.encode_to_vec(), FIELDS, 8 << 20), Err(DecodedError::TooLarge(8 << 20)));
        assert!(check(&numbers.encode_to_vec(), FIELDS, 16 << 20).is_ok());
    }

    #[test]
    fn ordinary_messages_pass_and_broken_ones_do_not() {
        let profile = PprofProfile {
            functions: vec![PprofFunction { id: 1, name: 2, file: 3 }; 100],
            strings: vec!["main.buy".to_owned(); 100],
            duration_ns: 5,
            ..PprofProfile::default()
        };
        let encoded = profile.encode_to_vec();
        assert!(check(&encoded, FIELDS, 1 << 20).is_ok());
        assert_eq!(check(&encoded[..encoded.len() - 3], FIELDS, 1 << 20), Err(DecodedError::Malformed));
        assert_eq!(check(&[0x12, 0xff, 0xff, 0xff, 0xff, 0x7f], FIELDS, 1 << 20), Err(DecodedError::Malformed));
    }
}
