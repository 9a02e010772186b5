//! A folder of files that were sent to another machine. Scripts may name the files by their absolute paths.

use std::path::{Path, PathBuf};

/// The old and the new place of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedFolder {
    pub from: PathBuf,
    pub to: PathBuf,
}

impl MovedFolder {
    /// Where the file of an old path is.
    pub(crate) fn new_place(&self, path: &Path) -> PathBuf {
        // The old folder may contain the new one.
        match path.strip_prefix(&self.from) {
            Ok(rest) if !path.starts_with(&self.to) => self.to.join(rest),
            _ => path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_of_the_old_folder_lead_to_the_new_one() {
        let place = |from: &str, path: &str| MovedFolder { from: from.into(), to: "/tmp/run".into() }.new_place(Path::new(path));
        assert_eq!(place("/suite/me", "/suite/me/data/a.csv"), Path::new("/tmp/run/data/a.csv"));
        assert_eq!(place("/", "/suite/a.csv"), Path::new("/tmp/run/suite/a.csv"));
        assert_eq!(place("/", "/tmp/run/suite/a.csv"), Path::new("/tmp/run/suite/a.csv"));
        assert_eq!(place("/suite/me", "/suite/other/a.csv"), Path::new("/suite/other/a.csv"));
    }
}
