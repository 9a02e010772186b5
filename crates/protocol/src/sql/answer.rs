//! What came back: rows, read where they lie, or why there are none.

use std::borrow::Cow;
use std::rc::Rc;

use bytes::Bytes;

use super::refusal::SqlRefusal;
use super::wire::{Cursor, WireMessage, message};

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlColumn {
    pub name: Box<str>,
    /// Its type, as the server numbers types (`pg_type.dat`).
    kind: u32,
}

/// An answer to a statement.
#[derive(Debug, Clone, Default)]
pub struct SqlAnswer {
    pub columns: Rc<[SqlColumn]>,
    /// Rows that were changed or returned, where the server says so.
    pub count: Option<u64>,
    /// `None`: it was done.
    pub refusal: Option<SqlRefusal>,
    pub(super) bytes: Bytes,
    /// Where its first row begins.
    pub(super) rows_at: usize,
}

/// A value as the server gave it.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    Number(f64),
    /// A document.
    Json(Cow<'a, str>),
    Bytes(Vec<u8>),
    /// All else: times, decimals, arrays, …
    Text(Cow<'a, str>),
}

/// One row of an answer.
#[derive(Debug, Clone, Copy)]
pub struct SqlRow<'a> {
    columns: &'a [SqlColumn],
    body: &'a [u8],
}

impl SqlColumn {
    /// Those of a row description.
    pub(super) fn all(body: &[u8]) -> Option<Rc<[Self]>> {
        let mut cursor = Cursor(body);
        let count = cursor.u16()?;
        (0..count)
            .map(|_| {
                let name = String::from_utf8_lossy(cursor.text()?).into();
                // The table and the column's place in it.
                cursor.take(6)?;
                let kind = cursor.u32()?;
                // Its size, its modifier, and the format, which is the one asked for.
                cursor.take(8)?;
                Some(Self { name, kind })
            })
            .collect()
    }

    fn value<'a>(&self, bytes: &'a [u8]) -> SqlValue<'a> {
        let text = String::from_utf8_lossy(bytes);
        match self.kind {
            16 => SqlValue::Boolean(bytes == b"t"),
            // int8, int2, int4, oid
            20 | 21 | 23 | 26 => text.parse().map_or(SqlValue::Text(text), SqlValue::Integer),
            // float4, float8
            700 | 701 => text.parse().map_or(SqlValue::Text(text), SqlValue::Number),
            // json, jsonb
            114 | 3802 => SqlValue::Json(text),
            17 => hexadecimal(bytes).map_or(SqlValue::Text(text), SqlValue::Bytes),
            _ => SqlValue::Text(text),
        }
    }
}

impl SqlAnswer {
    pub fn rows(&self) -> impl Iterator<Item = SqlRow<'_>> {
        let mut at = self.rows_at;
        std::iter::from_fn(move || {
            loop {
                let WireMessage { tag, body, next } = message(&self.bytes, at).ok().flatten()?;
                at = next;
                if tag == b'D' {
                    return Some(SqlRow { columns: &self.columns, body: body.get(2..)? });
                }
            }
        })
    }
}

impl<'a> SqlRow<'a> {
    /// Its values, in the order of the columns.
    pub fn values(self) -> impl Iterator<Item = (&'a SqlColumn, SqlValue<'a>)> {
        let mut cursor = Cursor(self.body);
        self.columns.iter().map_while(move |column| {
            let length = cursor.u32()?;
            if length == u32::MAX {
                return Some((column, SqlValue::Null));
            }
            Some((column, column.value(cursor.take(length as usize)?)))
        })
    }
}

/// The bytes of `\xdeadbeef`; `None` where it is written otherwise (`bytea_output`).
fn hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.strip_prefix(b"\\x")?;
    let digit = |byte: u8| (byte as char).to_digit(16);
    digits.chunks(2).map(|pair| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8)).collect()
}
