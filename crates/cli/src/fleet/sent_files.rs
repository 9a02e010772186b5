//! Files of a test, as sent to the agents. They are written to a private folder, which is deleted with the run.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::exit::UsageError;

/// Maximum total size of a test's files. Bytes.
const FILES_BYTES_MAX: usize = 64 << 20;

#[derive(Serialize, Deserialize)]
pub(super) struct SentFiles {
    /// The deepest folder that contains all files, on the controller.
    pub(super) root: PathBuf,
    /// The test file among `files`.
    entry: PathBuf,
    files: Vec<SentFile>,
}

/// A file, by its path relative to the root.
#[derive(Serialize, Deserialize)]
struct SentFile {
    path: PathBuf,
    base64: String,
}

impl SentFiles {
    /// # Errors
    /// A file cannot be read, or they are too large.
    pub(super) fn of(entry: &Path, files: &[PathBuf]) -> anyhow::Result<Self> {
        let root = common_folder(files);
        let (mut sent, mut bytes) = (Vec::new(), 0);
        for file in files {
            let content = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            bytes += content.len();
            if bytes > FILES_BYTES_MAX {
                return Err(UsageError(format!(
                    "the test's files are larger than {} MB together: agents get them over NATS",
                    FILES_BYTES_MAX >> 20
                ))
                .into());
            }
            sent.push(SentFile { path: file.strip_prefix(&root)?.to_owned(), base64: STANDARD.encode(content) });
        }
        Ok(Self { entry: entry.strip_prefix(&root)?.to_owned(), root, files: sent })
    }

    /// Writes the files to `folder`. Returns the test file.
    ///
    /// # Errors
    /// A file cannot be written, or has a path outside the folder.
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        for SentFile { path, base64 } in &self.files {
            if path.components().any(|part| !matches!(part, Component::Normal(_))) {
                bail!("the received test refers to a file outside its folder: {}", path.display());
            }
            let file = folder.join(path);
            if let Some(parent) = file.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&file, STANDARD.decode(base64)?).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(folder.join(&self.entry))
    }

    #[cfg(test)]
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.files.iter().map(|file| file.path.display().to_string()).collect();
        paths.sort();
        paths
    }
}

/// The deepest folder that contains all files.
fn common_folder(files: &[PathBuf]) -> PathBuf {
    let mut common = files.first().and_then(|file| file.parent()).unwrap_or(Path::new("/")).to_owned();
    while !files.iter().all(|file| file.starts_with(&common)) && common.pop() {}
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_all_files_are_in() {
        let common = |files: &[&str]| common_folder(&files.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(common(&["/a/b/c.ts"]), Path::new("/a/b"));
        assert_eq!(common(&["/a/b/c.ts", "/a/b/d/e.csv", "/a/bc/f.ts"]), Path::new("/a"));
        assert_eq!(common(&["/a/c.ts", "/b/c.ts"]), Path::new("/"));
    }

    #[test]
    fn a_file_outside_of_the_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["../x.ts", "/tmp/x.ts"] {
            let files = vec![SentFile { path: path.into(), base64: String::new() }];
            let sent = SentFiles { root: PathBuf::new(), entry: path.into(), files };
            assert!(sent.write(folder.path()).unwrap_err().to_string().contains("outside"), "{path}");
        }
    }
}
