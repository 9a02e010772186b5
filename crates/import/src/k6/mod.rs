//! k6 scripts. A script is translated as text, so that names, comments and layout stay; what has no counterpart becomes a comment with its reason.
//!
//! Read [`import`], then `script` (one file) and `rewrite` (one node).

mod clients;
mod edits;
mod effects;
mod emulation;
mod environment;
mod files;
mod functions;
mod grpc;
mod kinds;
mod library;
mod load;
mod names;
mod requests;
mod responses;
mod rewrite;
mod script;
mod state;
mod steps;
mod summary;
mod test;
mod thresholds;
mod tree;
mod values;

use crate::error::ImportError;
use crate::imported::{ImportedTest, Input};

/// Imports a script with the files that it imports itself.
pub(crate) fn import(input: &Input<'_>) -> Result<ImportedTest, ImportError> {
    let mut files = files::Files::new(input);
    let main = files.script(input)?;
    Ok(ImportedTest { text: main.text, modules: files.modules, notes: main.notes })
}
