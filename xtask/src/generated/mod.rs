//! Documents that are generated from the code: one list for `cargo xtask gen`, the part `gen` of the check, and the tidy check, which does not
//! measure their lines.
//!
//! Start with [`DOCUMENTS`]; another document is another line there. The page is not among them: npm builds it (see `web`).

mod command_reference;
mod findings_reference;
mod script_reference;

use std::collections::BTreeMap;
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
    let pages = workspace.root.join(findings_reference::PAGES);
    fs::create_dir_all(&pages)?;
    for path in surplus(workspace, &all(workspace, binary)?)? {
        fs::remove_file(workspace.root.join(path))?;
    }
    for (path, text) in all(workspace, binary)? {
        fs::write(workspace.root.join(&path), text).with_context(|| format!("writing {path}"))?;
        eprintln!("wrote {path}");
    }
    Ok(())
}

/// An error that names each document that is out of date.
pub(crate) fn check(workspace: &Workspace, binary: &Path) -> Result<()> {
    let documents = all(workspace, binary)?;
    let mut stale = surplus(workspace, &documents)?;
    let is_stale = |(path, text): &(&String, &String)| fs::read_to_string(workspace.root.join(path)).unwrap_or_default() != **text;
    stale.extend(documents.iter().filter(is_stale).map(|(path, _)| path.clone()));
    if !stale.is_empty() {
        bail!("{} out of date; run `cargo xtask gen` and commit the result", stale.join(", "));
    }
    Ok(())
}

/// Whether a document, by its path relative to the workspace, is one of them.
pub(crate) fn is_document(path: &str) -> bool {
    DOCUMENTS.iter().any(|document| document.path == path)
        || [findings_reference::OVERVIEW, findings_reference::GALLERY].contains(&path)
        || path.starts_with(findings_reference::PAGES)
}

/// Every document by its path.
fn all(workspace: &Workspace, binary: &Path) -> Result<BTreeMap<String, String>> {
    let mut documents = findings_reference::documents(workspace)?;
    for document in DOCUMENTS {
        documents.insert(document.path.to_owned(), (document.text)(workspace, binary)?);
    }
    Ok(documents)
}

/// Pages of rules that no longer exist.
fn surplus(workspace: &Workspace, documents: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let Ok(files) = fs::read_dir(workspace.root.join(findings_reference::PAGES)) else { return Ok(Vec::new()) };
    let names = files.map(|file| Ok(file?.file_name().to_string_lossy().into_owned())).collect::<Result<Vec<String>>>()?;
    let paths = names.into_iter().map(|name| format!("{}{name}", findings_reference::PAGES));
    Ok(paths.filter(|path| !documents.contains_key(path)).collect())
}
