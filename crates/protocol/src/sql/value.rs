//! Values of rows, and the columns that determine how to read them.

use std::borrow::Cow;

/// A value from the server.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    Number(f64),
    /// A document.
    Json(Cow<'a, str>),
    Bytes(Vec<u8>),
    /// Everything else: times, decimals, arrays, …
    Text(Cow<'a, str>),
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlColumn {
    pub name: Box<str>,
    pub(super) kind: ColumnKind,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// The server's type number (`pg_type.dat`).
    Postgres(u32),
    MySql(MySqlKind),
}

/// The type of a MySQL column (`enum_field_types`), and its other properties that affect decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MySqlKind {
    pub(super) number: u8,
    pub(super) is_unsigned: bool,
    /// Its text values are bytes without a character set.
    pub(super) is_binary: bool,
    pub(super) is_json: bool,
    /// Decimals of a second.
    pub(super) decimals: u8,
}

/// The format of rows in an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RowFormat {
    #[default]
    Postgres,
    /// Values as text.
    MySqlText,
    /// Values of statements that were prepared.
    MySqlBinary,
}
