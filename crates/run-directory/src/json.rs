//! JSON of a run directory's files, with errors that name file and line.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::RunError;

pub(crate) fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, RunError> {
    serde_json::from_slice(bytes).map_err(|error| RunError::Corrupt { path: path.to_owned(), line: error.line(), problem: problem(&error) })
}

/// The message without serde's own position: that counts within the line.
pub(crate) fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").map_or(text.clone(), |end| text[..end].to_owned())
}

/// One line of JSON; replaces the content of the buffer.
pub(crate) fn fill<T: Serialize>(buffer: &mut Vec<u8>, value: &T) -> Result<(), RunError> {
    buffer.clear();
    push_line(buffer, value)
}

/// Appends a line of JSON.
pub(crate) fn push_line<T: Serialize>(buffer: &mut Vec<u8>, value: &T) -> Result<(), RunError> {
    serde_json::to_writer(&mut *buffer, value).map_err(|error| RunError::Export { what: "JSON", problem: error.to_string() })?;
    buffer.push(b'\n');
    Ok(())
}
