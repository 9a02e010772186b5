//! From recordings, descriptions and plans of other tools to one readable `*.load.ts`.
//!
//! Read [`import`] and [`ImportedTest`]. A recording (HAR, a simulation of Gatling's recorder), a collection (Postman), a description (OpenAPI) and a
//! command line (curl) become a [`steps`] model, which `write` writes.
//! Deliberately absent: files. Text comes in, text and notes go out; the command reads and writes. Also absent: k6 scripts. `loadstone run` runs them
//! unchanged, and a translation of a program cannot be complete.

mod correlate;
mod curl;
mod error;
mod gatling;
mod har;
mod imported;
mod jmeter;
mod json;
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
    Har,
    OpenApi,
    Postman,
    Curl,
    GatlingRecorder,
    Jmeter,
}

/// Imports a file.
///
/// # Errors
/// The file is not what it should be, or nothing of it makes load.
pub fn import(format: Format, input: &Input<'_>) -> Result<ImportedTest, ImportError> {
    // Scripts and descriptions may be nested, and their translation recurses.
    // Tools of Windows begin a file with a byte order mark.
    let input = &Input { text: input.text.trim_start_matches('\u{feff}'), ..*input };
    let imported = on_large_stack(|| import_here(format, input));
    imported.unwrap_or_else(|problem| Err(ImportError::new(input.name, None, format!("cannot start a thread: {problem}"), "free memory")))
}

fn import_here(format: Format, input: &Input<'_>) -> Result<ImportedTest, ImportError> {
    match format {
        Format::Har => har::import(input),
        Format::OpenApi => openapi::import(input),
        Format::Postman => postman::import(input),
        Format::Curl => curl::import(input),
        Format::GatlingRecorder => gatling::import(input),
        Format::Jmeter => jmeter::import(input),
    }
}
