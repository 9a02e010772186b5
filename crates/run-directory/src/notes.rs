//! People's remarks about a finished run. Like the proofs, this file of a run directory may change later.

use std::path::Path;

use loadstone_secrets::Secrets;
use serde::{Deserialize, Serialize};

use crate::json::parse;
use crate::{RunError, disk, files};

/// A note, and tags that replace those the run was started with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl Notes {
    /// Reads the notes of a run directory; empty if there are none.
    ///
    /// # Errors
    /// [`RunError::Corrupt`] and [`RunError::Io`].
    pub fn read(directory: &Path) -> Result<Self, RunError> {
        let path = directory.join(files::NOTES);
        disk::read_whole(&path)?.map_or_else(|| Ok(Self::default()), |bytes| parse(&path, &bytes))
    }

    /// Replaces the notes. Secrets, and passwords in URLs, are not written.
    ///
    /// # Errors
    /// [`RunError::Io`]; the previous notes are then unchanged.
    pub fn write(&self, directory: &Path, secrets: &Secrets) -> Result<(), RunError> {
        let text = |text: &String| secrets.hide(text).into_owned();
        let shown = Self { note: self.note.as_ref().map(text), tags: self.tags.as_ref().map(|tags| tags.iter().map(text).collect()) };
        let mut bytes = serde_json::to_vec_pretty(&shown).map_err(|error| RunError::Export { what: "JSON", problem: error.to_string() })?;
        bytes.push(b'\n');
        disk::write_whole(&directory.join(files::NOTES), &bytes)
    }
}
