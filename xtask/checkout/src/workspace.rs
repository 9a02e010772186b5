//! The root of the repository and the target folder.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

pub struct Workspace {
    pub root: PathBuf,
    /// Where cargo builds: `CARGO_TARGET_DIR` if set, `target` under the root otherwise.
    pub target: PathBuf,
}

impl Workspace {
    pub fn find() -> Result<Self> {
        // Cargo sets the variable for `cargo run`; the compile-time value would be wrong in a moved checkout.
        let manifest = env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo xtask …`")?;
        let root = Path::new(&manifest).parent().context("the package of this tool is a folder of the workspace")?.to_path_buf();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => root.join(folder),
            None => root.join("target"),
        };
        Ok(Self { root, target })
    }

    /// Servers and programs for tests that are not packages of the system.
    pub fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// Where cargo puts the binary that is built for tests.
    pub fn development_binary(&self) -> PathBuf {
        self.target.join("debug/loadstone")
    }

    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// Every tracked file and every new file that git does not ignore. Relative paths.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        let listing = process::output(self.command("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
        let mut files: Vec<PathBuf> = listing.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
        files.retain(|path| self.root.join(path).is_file());
        files.sort();
        files.dedup();
        Ok(files)
    }
}
