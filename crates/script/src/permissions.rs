//! What a test may read, write and connect to.
//!
//! By default, a test reads and writes files in its folder, and connects to hosts that it or its parameters name. `named_hosts` finds these.

use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use loadstone_protocol::HostPattern;

/// Limit on the symbolic links of one path, as in the kernel (path_resolution(7)).
const LINKS_MAX: u32 = 40;

/// Permissions in addition to the default ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Files, and folders with everything below them.
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub net: Vec<HostPattern>,
    /// Replay recorded requests that may change data, too.
    pub writes: bool,
}

/// The files that a test may access.
#[derive(Debug, Clone)]
pub struct FileAccess {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Write,
}

/// A test may not access this file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRefused {
    kind: AccessKind,
    path: PathBuf,
}

impl fmt::Display for AccessRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, flag) = match self.kind {
            AccessKind::Read => ("read", "--allow-read"),
            AccessKind::Write => ("write", "--allow-write"),
        };
        let path = self.path.display();
        write!(f, "{path} is outside the test's folder, and the test may not {done} it: to permit it, add `{flag} {path}`")
    }
}

impl std::error::Error for AccessRefused {}

impl FileAccess {
    /// `folder`: the folder of the test file.
    pub fn new(folder: &Path, permissions: &Permissions) -> Self {
        let all = |more: &[PathBuf]| std::iter::once(folder).chain(more.iter().map(PathBuf::as_path)).map(real_path).collect();
        Self { read: all(&permissions.read), write: all(&permissions.write) }
    }

    /// # Errors
    /// The file, after all symbolic links, is in none of the permitted folders.
    pub fn check(&self, kind: AccessKind, path: &Path) -> Result<(), AccessRefused> {
        let permitted = match kind {
            AccessKind::Read => &self.read,
            AccessKind::Write => &self.write,
        };
        let real = real_path(path);
        if permitted.iter().any(|folder| real.starts_with(folder)) { Ok(()) } else { Err(AccessRefused { kind, path: real }) }
    }
}

/// The path without symbolic links, `.` and `..`. Each prefix is resolved before a later `..` applies, as the kernel does. Files may be missing.
fn real_path(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let parts = |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<OsString>>();
    let (mut real, mut rest, mut links) = (PathBuf::new(), parts(&absolute), 0);
    while let Some(part) = rest.pop() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => _ = real.pop(),
            Some(Component::CurDir) | None => {}
            Some(_) => real.push(part),
        }
        // Also a link to a missing file is followed: writing creates that file.
        if let Ok(target) = std::fs::read_link(&real)
            && links < LINKS_MAX
        {
            links += 1;
            real.pop();
            rest.extend(parts(&target));
        }
    }
    real
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folder_and_permitted_paths_are_accessible() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for folder in ["test/data", "shared", "secret"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("secret"), root.join("test/link")).unwrap();
        std::os::unix::fs::symlink(root.join("secret/none"), root.join("test/dangling")).unwrap();
        let permissions = Permissions { read: vec![root.join("shared")], ..Permissions::default() };
        let access = FileAccess::new(&root.join("test"), &permissions);
        let reads = |path: &str| access.check(AccessKind::Read, &root.join(path)).is_ok();
        for path in ["test/a.csv", "test/data/../b.csv", "shared/x/y.csv", "test/none/c.csv", "secret/../test/a.csv"] {
            assert!(reads(path), "{path}");
        }
        for path in ["secret/a", "test/../secret/a", "test/link/a", "testing/a", "shared/../secret/a", "test/none/../../secret/a"] {
            assert!(!reads(path), "{path}");
        }
        assert!(access.check(AccessKind::Write, &root.join("test/out.csv")).is_ok());
        let refused = access.check(AccessKind::Write, &root.join("shared/out.csv")).unwrap_err().to_string();
        assert!(refused.ends_with(&format!("add `--allow-write {}`", root.join("shared/out.csv").display())), "{refused}");
    }

    #[test]
    fn a_link_to_a_missing_file_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("test")).unwrap();
        std::os::unix::fs::symlink("/nowhere/file.csv", root.join("test/out.csv")).unwrap();
        let access = FileAccess::new(&root.join("test"), &Permissions::default());
        assert!(access.check(AccessKind::Write, &root.join("test/out.csv")).is_err());
    }
}
