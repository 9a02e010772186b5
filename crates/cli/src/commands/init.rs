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
        let target = self.target.as_deref().unwrap_or(DEFAULT_TARGET);
        let url = argument::url("--target", target)?;
        let target = url.as_str().trim_end_matches('/');
        std::fs::create_dir_all(&self.folder).with_context(|| format!("cannot create {}", self.folder.display()))?;
        let test = TEST.replace(DEFAULT_TARGET, target);
        for (name, text, replace) in
            [("first.load.ts", test.as_str(), false), ("loadstone.d.ts", TYPES, true), ("tsconfig.json", TSCONFIG, false)]
        {
            let path = self.folder.join(name);
            let existed = path.exists();
            if existed && !replace {
                writeln!(out, "  kept     {}", path.display())?;
                continue;
            }
            if existed && std::fs::read_to_string(&path).is_ok_and(|present| present == text) {
                writeln!(out, "  kept     {}", path.display())?;
                continue;
            }
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            writeln!(out, "  {}  {}", if existed { "updated" } else { "written" }, path.display())?;
        }
        let file = self.folder.join("first.load.ts");
        let file = file.strip_prefix(".").map_or(file.as_path(), Path::new).display();
        writeln!(
            out,
            "\nNext:\n  loadstone try {file}    # every request and response, once\n  loadstone run {file}    # the load, the verdict, a report"
        )?;
        Ok(Exit::Passed)
    }
}
