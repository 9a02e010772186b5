//! Rows and their columns, read in place (PostgreSQL, "Message Formats").

use std::rc::Rc;

use super::wire::{Cursor, WireMessage, message};
use crate::sql::value::{ColumnKind, SqlColumn, SqlValue};

/// The columns of a row description.
pub(super) fn columns(body: &[u8]) -> Option<Rc<[SqlColumn]>> {
    let mut cursor = Cursor(body);
    let count = cursor.u16()?;
    (0..count)
        .map(|_| {
            let name = String::from_utf8_lossy(cursor.text()?).into();
            // The table, and the column's number in it.
            cursor.take(6)?;
            let kind = ColumnKind::Postgres(cursor.u32()?);
            // Its size, its modifier, and its format, which is the requested one.
            cursor.take(8)?;
            Some(SqlColumn { name, kind })
        })
        .collect()
}

/// The next row after this offset, and where to search for another.
pub(in crate::sql) fn row(bytes: &[u8], mut at: usize) -> Option<(&[u8], usize)> {
    loop {
        let WireMessage { tag, body, next } = message(bytes, at).ok().flatten()?;
        at = next;
        if tag == b'D' {
            return Some((body.get(2..)?, next));
        }
    }
}

/// Takes the next value of a row.
pub(in crate::sql) fn value<'a>(column: &SqlColumn, rest: &mut &'a [u8]) -> Option<SqlValue<'a>> {
    let mut cursor = Cursor(rest);
    let length = cursor.u32()?;
    let bytes = if length == u32::MAX { None } else { Some(cursor.take(length as usize)?) };
    *rest = cursor.0;
    Some(bytes.map_or(SqlValue::Null, |bytes| read(column.kind, bytes)))
}

fn read(kind: ColumnKind, bytes: &[u8]) -> SqlValue<'_> {
    let text = String::from_utf8_lossy(bytes);
    let ColumnKind::Postgres(kind) = kind else { return SqlValue::Text(text) };
    match kind {
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

/// The bytes of `\xdeadbeef`. `None` for other formats (`bytea_output`).
fn hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.strip_prefix(b"\\x")?;
    let digit = |byte: u8| (byte as char).to_digit(16);
    digits.chunks(2).map(|pair| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8)).collect()
}
