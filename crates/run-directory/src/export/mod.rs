//! Tables of a run for other tools: CSV, JSON lines, Parquet.
//!
//! Read [`Table`] first. [`per_second`] and [`signals`] make the tables of what was measured; totals per series are concluded, so
//! `analysis` fills that one. Column names and units are described in docs/run-directory.md: times are seconds.

mod parquet;
mod seconds;
mod table;
mod text;

use std::path::Path;

pub use seconds::{flows, kind, per_second, signals};
pub use table::{Column, Table, Values};

use crate::{RunError, disk};

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// With a header line; empty where there is no value.
    Csv,
    /// One object per line; `null` where there is no value.
    JsonLines,
    /// One file with zstd-compressed columns.
    Parquet,
}

impl Format {
    /// As a file name ends: `csv`, `jsonl`, `parquet`.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::JsonLines => "jsonl",
            Format::Parquet => "parquet",
        }
    }
}

/// Writes a table to a file, which is replaced.
///
/// # Errors
/// [`RunError::Io`] and [`RunError::Export`]; an older file is then still whole.
pub fn write(table: &Table, format: Format, path: &Path) -> Result<(), RunError> {
    disk::write_whole(path, &encode(table, format)?)
}

/// The table as the bytes of a file.
///
/// # Errors
/// [`RunError::Export`]
pub fn encode(table: &Table, format: Format) -> Result<Vec<u8>, RunError> {
    match format {
        Format::Csv => text::csv(table),
        Format::JsonLines => text::json_lines(table),
        Format::Parquet => parquet::encode(table),
    }
}
