//! The files that another machine needs to compile the same program.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::compile::Program;
use crate::permissions::{AccessKind, FileAccess};

/// Longest string of a module that may be a file's name. Bytes.
const NAME_BYTES_MAX: usize = 256;

impl Program {
    /// Its modules, the files that control how they are resolved, and any readable file that the text of a module names.
    pub fn files(&self, access: &FileAccess) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        for source in self.modules.values().filter_map(|module| module.source.as_ref()).filter(|source| !is_remote(&source.file)) {
            let module = self.folder.join(&*source.file);
            files.extend(described_by(&module, &self.folder));
            let folders = [Some(self.folder.as_path()), module.parent()];
            for text in source.text.split(['"', '\'', '`']).filter(|text| text.len() < NAME_BYTES_MAX && text.contains('.')) {
                let named = folders.iter().flatten().map(|folder| folder.join(text));
                files.extend(named.filter(|file| access.check(AccessKind::Read, file).is_ok() && file.is_file()));
            }
            files.insert(module);
        }
        files
    }

    /// The modules that are imported by URL: URL and text.
    pub fn remote_modules(&self) -> impl Iterator<Item = (&str, &str)> {
        let sources = self.modules.values().filter_map(|module| module.source.as_ref());
        sources.filter(|source| is_remote(&source.file)).map(|source| (&*source.file, &*source.text))
    }
}

/// The id of a module that was imported by URL is this URL.
fn is_remote(id: &str) -> bool {
    id.contains("://")
}

/// The package.json and tsconfig.json files that control how a module's imports are resolved: of its package, and of the test's folder.
fn described_by(module: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for above in module.ancestors().skip(1) {
        found.extend(["package.json", "tsconfig.json"].map(|name| above.join(name)).into_iter().filter(|file| file.is_file()));
        if above == folder || above.parent().is_none_or(|parent| parent.ends_with("node_modules")) {
            break;
        }
    }
    found
}
