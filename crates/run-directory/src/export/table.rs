//! A table in columns, whatever it is written as.

use std::sync::Arc;

/// The values of one column; all columns of a table are equally long.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    Text(Vec<Arc<str>>),
    Integer(Vec<u64>),
    Number(Vec<Option<f64>>),
    /// Microseconds since 1970 in UTC.
    Instant(Vec<Option<i64>>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The unit stands at its end: `p99_s`, `received_bytes`.
    pub name: &'static str,
    pub values: Values,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub columns: Vec<Column>,
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Text(&'a str),
    Integer(u64),
    Number(f64),
    Instant(i64),
    Nothing,
}

impl Table {
    /// Makes a column of what `value` says of each row.
    pub fn text<R>(&mut self, name: &'static str, rows: &[R], value: impl Fn(&R) -> Arc<str>) {
        self.columns.push(Column { name, values: Values::Text(rows.iter().map(value).collect()) });
    }

    pub fn integer<R>(&mut self, name: &'static str, rows: &[R], value: impl Fn(&R) -> u64) {
        self.columns.push(Column { name, values: Values::Integer(rows.iter().map(value).collect()) });
    }

    /// What is not finite is written as missing.
    pub fn number<R>(&mut self, name: &'static str, rows: &[R], value: impl Fn(&R) -> Option<f64>) {
        let finite = |row| value(row).filter(|value| value.is_finite());
        self.columns.push(Column { name, values: Values::Number(rows.iter().map(finite).collect()) });
    }

    pub fn instant<R>(&mut self, name: &'static str, rows: &[R], value: impl Fn(&R) -> Option<i64>) {
        self.columns.push(Column { name, values: Values::Instant(rows.iter().map(value).collect()) });
    }

    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Values::Text(values) => values.len(),
            Values::Integer(values) => values.len(),
            Values::Number(values) => values.len(),
            Values::Instant(values) => values.len(),
        }
    }

    pub(crate) fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Values::Text(values) => Cell::Text(&values[row]),
            Values::Integer(values) => Cell::Integer(values[row]),
            Values::Number(values) => values[row].map_or(Cell::Nothing, Cell::Number),
            Values::Instant(values) => values[row].map_or(Cell::Nothing, Cell::Instant),
        }
    }
}
