//! CSV: a header line, then a line per row. Missing values are empty.
//!
//! Spreadsheets execute a text that begins like a formula (OWASP, "CSV Injection"). Names may come from responses, so such a text gets an apostrophe in
//! front, which spreadsheets hide.

use super::table::{ColumnTable, TableValue, rfc3339};
use super::table_format::TableFormat;
use crate::RunError;

pub(super) const FORMAT: TableFormat = TableFormat { extension: "csv", is_text: true, encode };

fn encode(table: &ColumnTable) -> Result<Vec<u8>, RunError> {
    let problem = |error: &dyn std::fmt::Display| RunError::Export { what: "CSV", problem: error.to_string() };
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(table.columns.iter().map(|column| column.name)).map_err(|error| problem(&error))?;
    for row in 0..table.rows() {
        writer.write_record(table.columns.iter().map(|column| field(column.values.cell(row)))).map_err(|error| problem(&error))?;
    }
    writer.into_inner().map_err(|error| problem(&error))
}

fn field(value: TableValue<'_>) -> String {
    match value {
        TableValue::Text(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => format!("'{text}"),
        TableValue::Text(text) => text.to_owned(),
        TableValue::Integer(value) => value.to_string(),
        TableValue::Number(value) => value.to_string(),
        TableValue::Instant(microseconds) => rfc3339(microseconds),
        TableValue::Nothing => String::new(),
    }
}
