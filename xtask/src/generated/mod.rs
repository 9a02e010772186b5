//! Documents that are generated from the code: one list for `cargo xtask gen`, the part `gen` of the check, and the tidy check, which does not
//! measure their lines.
//!
//! Start with [`DOCUMENTS`]; another document is another line there. The page is not among them: npm builds it (see `web`).

mod command_reference;
mod script_reference;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use checkout::Workspace;

/// A document, and the function that returns its text, from the workspace and the development binary.
struct GeneratedDocument {
    path: &'static str,
    text: fn(&Workspace, &Path) -> Result<String>,
}

const DOCUMENTS: &[GeneratedDocument] = &[
    GeneratedDocument { path: "docs/cli.md", text: |_, binary| command_reference::text(binary) },
    GeneratedDocument { path: "docs/script.md", text: |workspace, _| script_reference::text(workspace) },
];

/// Writes every generated document.
pub(crate) fn write(workspace: &Workspace, binary: &Path) -> Result<()> {
    for document in DOCUMENTS {
        fs::write(workspace.root.join(document.path), (document.text)(workspace, binary)?)
            .with_context(|| format!("writing {}", document.path))?;
        eprintln!("wrote {}", document.path);
    }
    Ok(())
}

/// An error that names each document that is out of date.
pub(crate) fn check(workspace: &Workspace, binary: &Path) -> Result<()> {
    let mut stale = Vec::new();
    for document in DOCUMENTS {
        let present = fs::read_to_string(workspace.root.join(document.path)).unwrap_or_default();
        if present != (document.text)(workspace, binary)? {
            stale.push(document.path);
        }
    }
    if !stale.is_empty() {
        bail!("{} out of date; run `cargo xtask gen` and commit the result", stale.join(", "));
    }
    Ok(())
}

/// Whether a document, by its path relative to the workspace, is one of them.
pub(crate) fn is_document(path: &str) -> bool {
    DOCUMENTS.iter().any(|document| document.path == path)
}
