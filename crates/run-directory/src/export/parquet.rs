//! Parquet: one file with zstd-compressed columns, by the `parquet` crate without Arrow.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use super::table::{ColumnTable, ColumnValues};
use super::table_format::TableFormat;
use crate::RunError;

pub(super) const FORMAT: TableFormat = TableFormat { extension: "parquet", is_text: false, encode };

fn encode(table: &ColumnTable) -> Result<Vec<u8>, RunError> {
    try_encode(table).map_err(|error| RunError::Export { what: "Parquet", problem: error.to_string() })
}

fn try_encode(table: &ColumnTable) -> Result<Vec<u8>, ParquetError> {
    let fields: Vec<TypePtr> =
        table.columns.iter().map(|column| field(column.name, &column.values).map(Arc::new)).collect::<Result<_, _>>()?;
    let schema = Arc::new(Type::group_type_builder("loadstone").with_fields(fields).build()?);
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    if table.rows() > 0 {
        let mut group = writer.next_row_group()?;
        for column in &table.columns {
            let Some(mut column_writer) = group.next_column()? else { break };
            write_column(&mut column_writer, &column.values)?;
            column_writer.close()?;
        }
        group.close()?;
    }
    writer.into_inner()
}

fn field(name: &str, values: &ColumnValues) -> Result<Type, ParquetError> {
    let (physical, logical, repetition) = match values {
        ColumnValues::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
        ColumnValues::Integer(_) => (Physical::INT64, None, Repetition::REQUIRED),
        ColumnValues::Number(_) => (Physical::DOUBLE, None, Repetition::OPTIONAL),
        ColumnValues::Instant(_) => {
            let utc_microseconds = LogicalType::timestamp(true, TimeUnit::MICROS);
            (Physical::INT64, Some(utc_microseconds), Repetition::OPTIONAL)
        }
    };
    Type::primitive_type_builder(name, physical).with_logical_type(logical).with_repetition(repetition).build()
}

fn write_column(writer: &mut SerializedColumnWriter<'_>, values: &ColumnValues) -> Result<(), ParquetError> {
    match values {
        ColumnValues::Text(values) => {
            let values: Vec<ByteArray> = values.iter().map(|text| ByteArray::from(text.as_bytes().to_vec())).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, None, None)?;
        }
        ColumnValues::Integer(values) => {
            let values: Vec<i64> = values.iter().map(|value| i64::try_from(*value).unwrap_or(i64::MAX)).collect();
            writer.typed::<Int64Type>().write_batch(&values, None, None)?;
        }
        ColumnValues::Number(values) => {
            let (there, levels) = present(values);
            writer.typed::<DoubleType>().write_batch(&there, Some(&levels), None)?;
        }
        ColumnValues::Instant(values) => {
            let (there, levels) = present(values);
            writer.typed::<Int64Type>().write_batch(&there, Some(&levels), None)?;
        }
    }
    Ok(())
}

/// The present values, and for each row whether it has one (Parquet's definition levels).
fn present<T: Copy>(values: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    (values.iter().flatten().copied().collect(), values.iter().map(|value| i16::from(value.is_some())).collect())
}
