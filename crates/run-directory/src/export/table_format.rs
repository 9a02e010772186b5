//! A file format of exported tables. A new format is a file next to this one that defines a value, and a line in [`super::FORMATS`].

use std::fmt;

use super::ColumnTable;
use crate::RunError;

/// A file format of a table.
#[derive(Clone, Copy)]
pub struct TableFormat {
    /// The file extension, which is also the format's name: `csv`, `jsonl`, `parquet`.
    pub extension: &'static str,
    /// Whether it can be shown on a terminal.
    pub is_text: bool,
    pub(super) encode: fn(&ColumnTable) -> Result<Vec<u8>, RunError>,
}

impl TableFormat {
    /// The table as the bytes of a file.
    ///
    /// # Errors
    /// [`RunError::Export`]
    pub fn encode(&self, table: &ColumnTable) -> Result<Vec<u8>, RunError> {
        (self.encode)(table)
    }
}

impl fmt::Debug for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TableFormat").field(&self.extension).finish()
    }
}
