//! `loadstone init`: writes a first test that runs as it is, and types for the editor.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::argument;
use crate::context::CommandContext;
use crate::exit::Exit;

const TYPES: &str = include_str!("../../../../types/loadstone.d.ts");
const TEST: &str = include_str!("init/first.load.ts");
const TSCONFIG: &str = include_str!("init/tsconfig.json");

/// Default target of the first test.
const DEFAULT_TARGET: &str = "http://127.0.0.1:8080";

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Folder to write to.
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// URL that the first test calls.
    #[arg(long, value_name = "URL")]
    target: Option<String>,
}

impl InitArgs {
    /// Writes the files. Existing files are unchanged, except the types, which belong to this version.
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        let mut out = std::io::stdout();
        for (path, word) in write_first_test(&self.folder, self.target.as_deref())? {
            writeln!(out, "  {word:<7}  {}", path.display())?;
        }
        let file = self.folder.join("first.load.ts");
        let file = file.strip_prefix(".").map_or(file.as_path(), Path::new).display();
        let serve = if self.target.is_none() {
            "  loadstone demo --serve      # in another terminal, if your service does not listen on port 8080: a shop to test\n"
        } else {
            ""
        };
        writeln!(
            out,
            "\nNext:\n{serve}  loadstone try {file}    # every request and response, once\n  loadstone run {file}    # the load, the verdict, a report"
        )?;
        Ok(Exit::Passed)
    }
}

/// Writes the first test for a URL, and the types. Returns each path with what happened to it. Existing files are unchanged, except the types.
///
/// # Errors
/// The URL is wrong, or a file cannot be written.
pub(crate) fn write_first_test(folder: &Path, target: Option<&str>) -> anyhow::Result<Vec<(PathBuf, &'static str)>> {
    let url = argument::url("--target", target.unwrap_or(DEFAULT_TARGET))?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let test = TEST.replace(DEFAULT_TARGET, url.as_str().trim_end_matches('/'));
    let mut written = Vec::new();
    for (name, text, replace) in
        [("first.load.ts", test.as_str(), false), ("loadstone.d.ts", TYPES, true), ("tsconfig.json", TSCONFIG, false)]
    {
        let path = folder.join(name);
        let existed = path.exists();
        let is_same = || std::fs::read_to_string(&path).is_ok_and(|present| present == text);
        let word = if existed && (!replace || is_same()) {
            "kept"
        } else if existed {
            "updated"
        } else {
            "written"
        };
        if word != "kept" {
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        written.push((path, word));
    }
    Ok(written)
}
