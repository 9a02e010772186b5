//! A table in columns, independent of the file format.

use std::sync::Arc;

use jiff::Timestamp;

/// The values of one column; all columns of a table are equally long.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    Text(Vec<Arc<str>>),
    Integer(Vec<u64>),
    Number(Vec<Option<f64>>),
    /// Microseconds since 1970 in UTC.
    Instant(Vec<Option<i64>>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn {
    /// Ends in the unit: `p99_s`, `received_bytes`.
    pub name: &'static str,
    pub values: ColumnValues,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnTable {
    pub columns: Vec<TableColumn>,
}

/// The value of one column in one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TableValue<'a> {
    Text(&'a str),
    Integer(u64),
    Number(f64),
    Instant(i64),
    Nothing,
}

impl ColumnTable {
    /// Builds a column from the `value` of each row.
    pub fn text<R>(&mut self, name: &'static str, rows: &[R], value: impl Fn(&R) -> Arc<str>) {
        self.columns.push(TableColumn { name, values: ColumnValues::Text(rows.iter().map(value).collect()) });
    }

    pub fn integer<R>(&mut self, name: &'static str, rows: &[R], value: impl Fn(&R) -> u64) {
        self.columns.push(TableColumn { name, values: ColumnValues::Integer(rows.iter().map(value).collect()) });
    }

    /// Values that are not finite are written as missing.
    pub fn number<R>(&mut self, name: &'static str, rows: &[R], value: impl Fn(&R) -> Option<f64>) {
        let finite = |row| value(row).filter(|value| value.is_finite());
        self.columns.push(TableColumn { name, values: ColumnValues::Number(rows.iter().map(finite).collect()) });
    }

    pub fn instant<R>(&mut self, name: &'static str, rows: &[R], value: impl Fn(&R) -> Option<i64>) {
        self.columns.push(TableColumn { name, values: ColumnValues::Instant(rows.iter().map(value).collect()) });
    }

    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
}

impl ColumnValues {
    pub(crate) fn len(&self) -> usize {
        match self {
            ColumnValues::Text(values) => values.len(),
            ColumnValues::Integer(values) => values.len(),
            ColumnValues::Number(values) => values.len(),
            ColumnValues::Instant(values) => values.len(),
        }
    }

    pub(crate) fn cell(&self, row: usize) -> TableValue<'_> {
        match self {
            ColumnValues::Text(values) => TableValue::Text(&values[row]),
            ColumnValues::Integer(values) => TableValue::Integer(values[row]),
            ColumnValues::Number(values) => values[row].map_or(TableValue::Nothing, TableValue::Number),
            ColumnValues::Instant(values) => values[row].map_or(TableValue::Nothing, TableValue::Instant),
        }
    }
}

/// An instant in UTC, for text formats.
pub(super) fn rfc3339(microseconds: i64) -> String {
    Timestamp::from_microsecond(microseconds).map_or_else(|_| String::new(), |timestamp| timestamp.to_string())
}
