//! Tables of a run for other tools: CSV, JSON lines, Parquet.
//!
//! Read [`ColumnTable`] first. [`per_second`], [`flows`], [`metrics()`] and [`signals`] build the tables of measurements. Totals per series are
//! conclusions, so `analysis` builds that table. docs/run-directory.md describes column names and units; times are seconds. To add a
//! format, add a file with a [`TableFormat`] and its line in [`FORMATS`]; the command line then offers it.

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

/// The format with this name.
pub fn format(extension: &str) -> Option<TableFormat> {
    FORMATS.iter().find(|format| format.extension == extension).copied()
}

/// Writes a table to a file and replaces an existing one.
///
/// # Errors
/// [`RunError::Io`] and [`RunError::Export`]; an existing file is then unchanged.
pub fn write(table: &ColumnTable, format: TableFormat, path: &Path) -> Result<(), RunError> {
    disk::write_whole(path, &format.encode(table)?)
}

/// Writes to a file and replaces an existing one.
///
/// # Errors
/// [`RunError::Io`]
pub fn write_bytes(bytes: &[u8], path: &Path) -> Result<(), RunError> {
    disk::write_whole(path, bytes)
}
