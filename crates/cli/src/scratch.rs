//! Folders for what a command does not keep.
//!
//! A folder is deleted when its command ends. After a kill, a command that begins a minute later or more deletes it: the kernel has
//! released its lock by then.

use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;

const PREFIX: &str = "loadstone-scratch-";
/// Younger folders are spared: their process may not have locked them yet.
const AGE_MIN: Duration = Duration::from_secs(60);

/// A folder readable by this user only, with an unpredictable name. It is deleted on drop.
pub(crate) struct ScratchFolder {
    folder: TempDir,
    /// Locked while the process lives.
    _lock: File,
}

impl ScratchFolder {
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Creates one, and deletes those of killed processes.
pub(crate) fn scratch_folder() -> anyhow::Result<ScratchFolder> {
    let parent = std::env::temp_dir();
    abandoned(&parent, AGE_MIN).iter().for_each(|folder| {
        // Another process may delete it at the same time.
        let _ = std::fs::remove_dir_all(folder);
    });
    let folder = tempfile::Builder::new().prefix(PREFIX).permissions(Permissions::from_mode(0o700)).tempdir_in(&parent);
    let folder = folder.with_context(|| format!("cannot create a folder in {}", parent.display()))?;
    let lock = File::open(folder.path()).context("cannot open the folder for temporary files")?;
    lock.lock().context("cannot lock the folder for temporary files")?;
    Ok(ScratchFolder { folder, _lock: lock })
}

/// Folders of this user whose process has gone, last changed at least this long ago.
fn abandoned(parent: &Path, age_min: Duration) -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)).map(|entry| entry.path());
    let own = folders.filter(|path| std::fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir() && facts.uid() == user));
    let is_old = |path: &PathBuf| {
        let changed = std::fs::symlink_metadata(path).and_then(|facts| facts.modified());
        changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age >= age_min))
    };
    let own = own.filter(is_old);
    // The lock is released as soon as the file is dropped.
    own.filter(|path| File::open(path).is_ok_and(|folder| folder.try_lock().is_ok())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_private_and_differ() {
        let (one, other) = (scratch_folder().unwrap(), scratch_folder().unwrap());
        assert_ne!(one.path(), other.path());
        assert_eq!(std::fs::metadata(one.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn only_folders_without_a_process_are_abandoned() {
        let alive = scratch_folder().unwrap();
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join(format!("{PREFIX}x"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::create_dir(parent.path().join("loadstone-rescued-x")).unwrap();
        assert_eq!(abandoned(parent.path(), Duration::ZERO), std::slice::from_ref(&folder));
        assert!(abandoned(parent.path(), AGE_MIN).is_empty(), "its process may be about to lock it");
        let lock = File::open(&folder).unwrap();
        lock.lock().unwrap();
        assert!(abandoned(parent.path(), Duration::ZERO).is_empty(), "its process lives");
        assert!(alive.path().is_dir());
    }
}
