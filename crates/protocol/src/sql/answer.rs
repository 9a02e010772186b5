//! Answers: rows, read in place, or the reason why there are none.

use std::rc::Rc;

use bytes::Bytes;

use super::refusal::SqlRefusal;
use super::value::{RowFormat, SqlColumn, SqlValue};
use super::{mysql, postgres};

/// The answer to a statement.
#[derive(Debug, Clone, Default)]
pub struct SqlAnswer {
    pub columns: Rc<[SqlColumn]>,
    /// Number of rows changed or returned, if the server reports it.
    pub count: Option<u64>,
    /// The number that the server assigned to the first inserted row, if it reports it (`AUTO_INCREMENT`).
    pub inserted: Option<u64>,
    /// `None`: the statement succeeded.
    pub refusal: Option<SqlRefusal>,
    pub(super) bytes: Bytes,
    /// Offset of the first row.
    pub(super) rows_at: usize,
    pub(super) format: RowFormat,
}

/// One row of an answer.
#[derive(Debug, Clone, Copy)]
pub struct SqlRow<'a> {
    columns: &'a [SqlColumn],
    body: &'a [u8],
    format: RowFormat,
}

impl SqlAnswer {
    pub(super) fn refused(refusal: SqlRefusal) -> Self {
        Self { refusal: Some(refusal), ..Self::default() }
    }

    pub fn rows(&self) -> impl Iterator<Item = SqlRow<'_>> {
        let mut at = self.rows_at;
        std::iter::from_fn(move || {
            let (body, next) = match self.format {
                RowFormat::Postgres => postgres::rows::row(&self.bytes, at)?,
                RowFormat::MySqlText | RowFormat::MySqlBinary => mysql::rows::row(&self.bytes, at)?,
            };
            at = next;
            Some(SqlRow { columns: &self.columns, body, format: self.format })
        })
    }
}

impl<'a> SqlRow<'a> {
    /// Its values, in the order of the columns.
    pub fn values(self) -> impl Iterator<Item = (&'a SqlColumn, SqlValue<'a>)> {
        let mut rest = match self.format {
            RowFormat::Postgres | RowFormat::MySqlText => self.body,
            RowFormat::MySqlBinary => mysql::rows::behind_nulls(self.body, self.columns.len()),
        };
        self.columns.iter().enumerate().map_while(move |(place, column)| {
            let value = match self.format {
                RowFormat::Postgres => postgres::rows::value(column, &mut rest)?,
                RowFormat::MySqlText => mysql::rows::text_value(column, &mut rest)?,
                RowFormat::MySqlBinary if mysql::rows::is_null(self.body, place) => SqlValue::Null,
                RowFormat::MySqlBinary => mysql::rows::binary_value(column, &mut rest)?,
            };
            Some((column, value))
        })
    }
}
