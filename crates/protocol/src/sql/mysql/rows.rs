//! Rows and their columns, read in place (MySQL, "Text Resultset Row", "Binary Protocol Value").

use std::borrow::Cow;

use mysql_common::constants::ColumnType;

use super::wire::{PacketCursor, packet};
use crate::sql::value::{ColumnKind, MySqlKind, SqlColumn, SqlValue};

/// The character set of binary data (`binary`).
const BINARY_CHARACTER_SET: u64 = 63;
/// `UNSIGNED_FLAG`
const UNSIGNED: u64 = 32;
/// MariaDB's extended column information: its format, such as `json`.
const FORMAT: u64 = 1;
/// Marks a null in a text row.
const NULL: u8 = 0xfb;
/// Rows of prepared statements begin with a zero byte; the null bitmap follows, whose first two bits are unused.
const NULLS_AT: usize = 1;
const NULLS_OFFSET: usize = 2;

/// Parses a column's definition, including MariaDB's extension if it was requested.
pub(super) fn column(body: &[u8], is_extended: bool) -> Option<SqlColumn> {
    let mut cursor = PacketCursor(body);
    // Catalogue, schema, table alias, table.
    for _ in 0..4 {
        cursor.text()?;
    }
    let name = String::from_utf8_lossy(cursor.text()?).into();
    cursor.text()?;
    let mut is_json = false;
    if is_extended {
        let mut more = PacketCursor(cursor.text()?);
        while !more.0.is_empty() {
            is_json |= more.number(1)? == FORMAT && more.text()? == b"json";
        }
    }
    cursor.length()?;
    let is_binary = cursor.number(2)? == BINARY_CHARACTER_SET;
    cursor.number(4)?;
    let number = cursor.number(1)? as u8;
    let is_unsigned = cursor.number(2)? & UNSIGNED != 0;
    let decimals = cursor.number(1)? as u8;
    let is_json = is_json || number == ColumnType::MYSQL_TYPE_JSON as u8;
    Some(SqlColumn { name, kind: ColumnKind::MySql(MySqlKind { number, is_unsigned, is_binary, is_json, decimals }) })
}

/// Whether the rows end here, with or without an error.
pub(super) fn ends_rows(body: &[u8]) -> bool {
    match body.first() {
        // A value of the declared length would make the packet longer.
        Some(0xfe) => body.len() < 9,
        Some(0xff) | None => true,
        Some(_) => false,
    }
}

/// The row at this offset, and the offset of the next one.
pub(in crate::sql) fn row(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let found = packet(bytes, at).ok().flatten()?;
    (!ends_rows(found.body)).then_some((found.body, found.next))
}

/// The values of a row of a prepared statement with this many columns.
pub(in crate::sql) fn behind_nulls(body: &[u8], columns: usize) -> &[u8] {
    body.get(NULLS_AT + (columns + NULLS_OFFSET).div_ceil(8)..).unwrap_or_default()
}

pub(in crate::sql) fn is_null(body: &[u8], place: usize) -> bool {
    let bit = place + NULLS_OFFSET;
    body.get(NULLS_AT + bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
}

/// Takes the next value of a text row.
pub(in crate::sql) fn text_value<'a>(column: &SqlColumn, rest: &mut &'a [u8]) -> Option<SqlValue<'a>> {
    if rest.first() == Some(&NULL) {
        *rest = &rest[1..];
        return Some(SqlValue::Null);
    }
    let mut cursor = PacketCursor(rest);
    let bytes = cursor.text()?;
    *rest = cursor.0;
    let ColumnKind::MySql(kind) = column.kind else { return None };
    let text = || String::from_utf8_lossy(bytes);
    use ColumnType::*;
    Some(match ColumnType::try_from(kind.number) {
        Ok(MYSQL_TYPE_TINY | MYSQL_TYPE_SHORT | MYSQL_TYPE_LONG | MYSQL_TYPE_INT24 | MYSQL_TYPE_LONGLONG | MYSQL_TYPE_YEAR) => {
            text().parse().map_or_else(|_| SqlValue::Text(text()), SqlValue::Integer)
        }
        Ok(MYSQL_TYPE_FLOAT | MYSQL_TYPE_DOUBLE) => text().parse().map_or_else(|_| SqlValue::Text(text()), SqlValue::Number),
        _ => lettered(kind, bytes),
    })
}

/// Takes the next non-null value of a row of a prepared statement.
pub(in crate::sql) fn binary_value<'a>(column: &SqlColumn, rest: &mut &'a [u8]) -> Option<SqlValue<'a>> {
    let ColumnKind::MySql(kind) = column.kind else { return None };
    let mut cursor = PacketCursor(rest);
    use ColumnType::*;
    let value = match ColumnType::try_from(kind.number) {
        Ok(MYSQL_TYPE_TINY) => integer(&mut cursor, 1, kind)?,
        Ok(MYSQL_TYPE_SHORT | MYSQL_TYPE_YEAR) => integer(&mut cursor, 2, kind)?,
        Ok(MYSQL_TYPE_LONG | MYSQL_TYPE_INT24) => integer(&mut cursor, 4, kind)?,
        Ok(MYSQL_TYPE_LONGLONG) => integer(&mut cursor, 8, kind)?,
        // The shortest decimal with the same value, which has fewer digits than after a conversion to double precision.
        Ok(MYSQL_TYPE_FLOAT) => SqlValue::Number(f32::from_bits(cursor.number(4)? as u32).to_string().parse().unwrap_or(f64::NAN)),
        Ok(MYSQL_TYPE_DOUBLE) => SqlValue::Number(f64::from_bits(cursor.number(8)?)),
        Ok(MYSQL_TYPE_NULL) => SqlValue::Null,
        Ok(MYSQL_TYPE_DATE | MYSQL_TYPE_NEWDATE) => SqlValue::Text(date(&mut cursor, None)?.into()),
        Ok(MYSQL_TYPE_DATETIME | MYSQL_TYPE_TIMESTAMP) => SqlValue::Text(date(&mut cursor, Some(kind.decimals))?.into()),
        Ok(MYSQL_TYPE_TIME) => SqlValue::Text(time(&mut cursor, kind.decimals)?.into()),
        _ => lettered(kind, cursor.text()?),
    };
    *rest = cursor.0;
    Some(value)
}

fn integer<'a>(cursor: &mut PacketCursor<'a>, bytes: usize, kind: MySqlKind) -> Option<SqlValue<'a>> {
    let number = cursor.number(bytes)?;
    if kind.is_unsigned {
        return Some(i64::try_from(number).map_or_else(|_| SqlValue::Text(number.to_string().into()), SqlValue::Integer));
    }
    // The sign is the first bit of the transmitted bytes.
    let unused = 64 - 8 * bytes as u32;
    Some(SqlValue::Integer((number << unused) as i64 >> unused))
}

/// Values with the same format in both kinds of rows.
fn lettered(kind: MySqlKind, bytes: &[u8]) -> SqlValue<'_> {
    use ColumnType::*;
    let text = || -> Cow<'_, str> { String::from_utf8_lossy(bytes) };
    match ColumnType::try_from(kind.number) {
        _ if kind.is_json => SqlValue::Json(text()),
        Ok(MYSQL_TYPE_BIT | MYSQL_TYPE_GEOMETRY | MYSQL_TYPE_VECTOR) => SqlValue::Bytes(bytes.to_vec()),
        Ok(
            MYSQL_TYPE_VARCHAR
            | MYSQL_TYPE_VAR_STRING
            | MYSQL_TYPE_STRING
            | MYSQL_TYPE_TINY_BLOB
            | MYSQL_TYPE_MEDIUM_BLOB
            | MYSQL_TYPE_LONG_BLOB
            | MYSQL_TYPE_BLOB,
        ) if kind.is_binary => SqlValue::Bytes(bytes.to_vec()),
        _ => SqlValue::Text(text()),
    }
}

/// `2026-11-23`, or `2026-11-23 17:00:00.5` with this many decimals of a second.
fn date(cursor: &mut PacketCursor<'_>, decimals: Option<u8>) -> Option<String> {
    let mut parts = parts(cursor)?;
    let day = format!("{:04}-{:02}-{:02}", parts.number(2).unwrap_or(0), parts.number(1).unwrap_or(0), parts.number(1).unwrap_or(0));
    Some(match decimals {
        Some(decimals) => format!("{day} {}", clock(&mut parts, 0, decimals)),
        None => day,
    })
}

/// `-26:00:00`
fn time(cursor: &mut PacketCursor<'_>, decimals: u8) -> Option<String> {
    let mut parts = parts(cursor)?;
    let sign = if parts.number(1) == Some(1) { "-" } else { "" };
    let days = parts.number(4).unwrap_or(0);
    Some(format!("{sign}{}", clock(&mut parts, days, decimals)))
}

/// Trailing zero fields are not sent.
fn parts<'a>(cursor: &mut PacketCursor<'a>) -> Option<PacketCursor<'a>> {
    let length = cursor.number(1)? as usize;
    cursor.take(length).map(PacketCursor)
}

fn clock(parts: &mut PacketCursor<'_>, days: u64, decimals: u8) -> String {
    let mut next = |bytes| parts.number(bytes).unwrap_or(0);
    let (hours, minutes, seconds, micros) = (next(1) + 24 * days, next(1), next(1), next(4));
    let whole = format!("{hours:02}:{minutes:02}:{seconds:02}");
    // The value means a dynamic number of digits: as many as needed.
    let digits = if decimals <= 6 { usize::from(decimals) } else { 6 * usize::from(micros != 0) };
    if digits == 0 { whole } else { format!("{whole}.{}", &format!("{micros:06}")[..digits.min(6)]) }
}
