//! From recordings, descriptions and scripts of other tools to one readable `*.load.ts`.
//!
//! Read [`import`] and [`ImportedTest`]. A recording (HAR, a simulation of Gatling's recorder), a collection (Postman), a description (OpenAPI) and a
//! command line (curl) become a [`steps`] model, which `write` writes; a k6 script is translated as text (`k6`), so that it stays the script that its
//! author knows.
//! Deliberately absent: files. Text comes in, text and notes go out; the command reads and writes.

mod correlate;
mod curl;
mod error;
mod gatling;
mod har;
mod imported;
mod json;
mod k6;
mod openapi;
mod postman;
mod schema;
mod sent;
mod steps;
mod text;
mod write;

use loadstone_units::source::on_large_stack;

pub use error::ImportError;
pub use imported::{Choices, ImportedTest, Input, Note, NoteKind};

/// Where something is imported from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    K6,
    Har,
    OpenApi,
    Postman,
    Curl,
    GatlingRecorder,
}

/// Imports a file.
///
/// # Errors
/// The file is not what it should be, or nothing of it makes load.
pub fn import(format: Format, input: &Input<'_>) -> Result<ImportedTest, ImportError> {
    // Scripts and descriptions may be nested, and their translation recurses.
    let imported = on_large_stack(|| import_here(format, input));
    imported.unwrap_or_else(|problem| Err(ImportError::new(input.name, None, format!("cannot start a thread: {problem}"), "free memory")))
}

fn import_here(format: Format, input: &Input<'_>) -> Result<ImportedTest, ImportError> {
    match format {
        Format::K6 => k6::import(input),
        Format::Har => har::import(input),
        Format::OpenApi => openapi::import(input),
        Format::Postman => postman::import(input),
        Format::Curl => curl::import(input),
        Format::GatlingRecorder => gatling::import(input),
    }
}
