//! CSV and JSON lines.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Table;
use super::table::Cell;
use crate::RunError;

pub(super) fn csv(table: &Table) -> Result<Vec<u8>, RunError> {
    let problem = |error: csv::Error| RunError::Export { what: "CSV", problem: error.to_string() };
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(table.columns.iter().map(|column| column.name)).map_err(problem)?;
    for row in 0..table.rows() {
        writer.write_record(table.columns.iter().map(|column| field(column.values.cell(row)))).map_err(problem)?;
    }
    writer.into_inner().map_err(|error| RunError::Export { what: "CSV", problem: error.to_string() })
}

fn field(cell: Cell<'_>) -> String {
    match cell {
        Cell::Text(text) => text.to_owned(),
        Cell::Integer(value) => value.to_string(),
        Cell::Number(value) => value.to_string(),
        Cell::Instant(microseconds) => instant(microseconds),
        Cell::Nothing => String::new(),
    }
}

pub(super) fn json_lines(table: &Table) -> Result<Vec<u8>, RunError> {
    let mut bytes = Vec::new();
    for row in 0..table.rows() {
        let object: Map<String, Value> =
            table.columns.iter().map(|column| (column.name.to_owned(), value(column.values.cell(row)))).collect();
        serde_json::to_writer(&mut bytes, &object).map_err(|error| RunError::Export { what: "JSON", problem: error.to_string() })?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

fn value(cell: Cell<'_>) -> Value {
    match cell {
        Cell::Text(text) => text.into(),
        Cell::Integer(value) => value.into(),
        Cell::Number(value) => value.into(),
        Cell::Instant(microseconds) => instant(microseconds).into(),
        Cell::Nothing => Value::Null,
    }
}

/// RFC 3339 in UTC.
fn instant(microseconds: i64) -> String {
    Timestamp::from_microsecond(microseconds).map_or_else(|_| String::new(), |timestamp| timestamp.to_string())
}
