//! Tables of a run for other tools: CSV, JSON lines, Parquet.
//!
//! Read [`ColumnTable`] first. [`per_second`], [`flows`], [`metrics()`] and [`signals`] make the tables of what was measured; totals per series are
//! concluded, so `analysis` fills that one. Column names and units are described in docs/run-directory.md: times are seconds. A further
//! format is a file that gives a [`TableFormat`], and its line in [`FORMATS`]; the command line then offers it.

mod csv;
mod folded;
mod json_lines;
mod parquet;
mod pprof;
mod seconds;
mod stacks;
mod table;
mod table_format;

use std::path::Path;

pub use folded::folded;
pub use pprof::pprof;
pub use seconds::{flows, kind, metrics, per_second, signals};
pub use table::{ColumnTable, ColumnValues, TableColumn};
pub use table_format::TableFormat;

use crate::{RunError, disk};

/// Every format a table can be written in; the first is the default.
pub static FORMATS: [TableFormat; 3] = [csv::FORMAT, json_lines::FORMAT, parquet::FORMAT];

/// The format that users call so.
pub fn format(extension: &str) -> Option<TableFormat> {
    FORMATS.iter().find(|format| format.extension == extension).copied()
}

/// Writes a table to a file, which is replaced.
///
/// # Errors
/// [`RunError::Io`] and [`RunError::Export`]; an older file is then still whole.
pub fn write(table: &ColumnTable, format: TableFormat, path: &Path) -> Result<(), RunError> {
    disk::write_whole(path, &format.encode(table)?)
}

/// Writes to a file, which is replaced.
///
/// # Errors
/// [`RunError::Io`]
pub fn write_bytes(bytes: &[u8], path: &Path) -> Result<(), RunError> {
    disk::write_whole(path, bytes)
}
