//! Values that go with a statement.

use bytes::{BufMut, BytesMut};

/// A value for one of a statement's `$1`, `$2`, …; the server says which type it must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlParameter {
    Null,
    /// As it would stand in a text, numbers and booleans too.
    Text(String),
    Bytes(Vec<u8>),
}

impl SqlParameter {
    /// Texts are text, bytes are as the type has them in binary form: for `bytea` the bytes themselves.
    pub(super) fn format(&self) -> i16 {
        i16::from(matches!(self, Self::Bytes(_)))
    }

    /// Writes the value; whether there is any.
    pub(super) fn write(&self, into: &mut BytesMut) -> bool {
        match self {
            Self::Null => return false,
            Self::Text(text) => into.put_slice(text.as_bytes()),
            Self::Bytes(bytes) => into.put_slice(bytes),
        }
        true
    }
}
