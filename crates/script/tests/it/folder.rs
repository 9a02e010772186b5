//! A temporary folder with a test file and its imports.

use std::path::PathBuf;

use loadstone_script::{Inputs, Loaded, ScriptError};

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    /// `files` are paths and contents; the first is the test file.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }
}

/// Loads `t.load.ts` with further files in the same folder.
pub(crate) fn load_with(text: &str, more: &[(&str, &str)], inputs: &Inputs) -> Result<Loaded, ScriptError> {
    let mut files = vec![("t.load.ts", text)];
    files.extend_from_slice(more);
    let folder = Folder::new(&files);
    loadstone_script::load(&folder.path("t.load.ts"), inputs)
}

pub(crate) fn load(text: &str) -> Result<Loaded, ScriptError> {
    load_with(text, &[], &Inputs::default())
}

pub(crate) fn load_error(text: &str) -> ScriptError {
    load(text).expect_err("the file should be refused")
}

/// `file:line:column` of an error.
pub(crate) fn at(error: &ScriptError) -> String {
    error.place.as_ref().map(ToString::to_string).unwrap_or_default()
}
