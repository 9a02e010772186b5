//! JSON lines: an object per row. Missing values are `null`.

use serde_json::{Map, Value};

use super::table::{ColumnTable, TableValue, rfc3339};
use super::table_format::TableFormat;
use crate::RunError;

pub(super) const FORMAT: TableFormat = TableFormat { extension: "jsonl", is_text: true, encode };

fn encode(table: &ColumnTable) -> Result<Vec<u8>, RunError> {
    let mut bytes = Vec::new();
    for row in 0..table.rows() {
        let object: Map<String, Value> =
            table.columns.iter().map(|column| (column.name.to_owned(), field(column.values.cell(row)))).collect();
        serde_json::to_writer(&mut bytes, &object).map_err(|error| RunError::Export { what: "JSON", problem: error.to_string() })?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

fn field(value: TableValue<'_>) -> Value {
    match value {
        TableValue::Text(text) => text.into(),
        TableValue::Integer(value) => value.into(),
        TableValue::Number(value) => value.into(),
        TableValue::Instant(microseconds) => rfc3339(microseconds).into(),
        TableValue::Nothing => Value::Null,
    }
}
