//! Writes docs/cli.md from the binary's own `--help`, so that the two cannot differ.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::workspace::Workspace;

const PAGE: &str = "docs/cli.md";
const INTRODUCTION: &str =
    "# Command line\n\nWritten by `cargo xtask gen` from `loadstone --help`; edit the text where the flags are defined.\n";

/// Builds the development binary and says where it is.
pub(crate) fn build_binary(workspace: &Workspace) -> Result<PathBuf> {
    process::run(workspace.command("cargo").args(["build", "--quiet", "--package", "loadstone"]))?;
    Ok(workspace.target.join("debug/loadstone"))
}

pub(crate) fn generate(workspace: &Workspace, binary: &Path, check: bool) -> Result<()> {
    let mut page = INTRODUCTION.to_owned();
    describe(binary, &[], &mut page)?;
    write_or_compare(workspace, PAGE, &page, check)
}

/// Writes a generated page, or only holds it against what is there.
pub(crate) fn write_or_compare(workspace: &Workspace, path: &str, text: &str, check: bool) -> Result<()> {
    let file = workspace.root.join(path);
    if check {
        ensure!(fs::read_to_string(&file).unwrap_or_default() == text, "{path} would change; run `cargo xtask gen` and commit the result");
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&file, text).with_context(|| format!("writing {path}"))?;
    println!("wrote {path}");
    Ok(())
}

/// The help of one command and, below it, of its subcommands.
fn describe(binary: &Path, command: &[String], page: &mut String) -> Result<()> {
    // A binary that is run from elsewhere may not find settings of this checkout and print them as defaults.
    let mut call = Command::new(binary);
    call.args(command).arg("--help").env("NO_COLOR", "1").env_remove("COLUMNS");
    let help = process::output(&mut call)?;
    let title = std::iter::once("loadstone").chain(command.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    let help = help.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    write!(page, "\n## {title}\n\n```text\n{}\n```\n", help.trim())?;
    for name in subcommands(&help) {
        let inner: Vec<String> = command.iter().cloned().chain([name]).collect();
        describe(binary, &inner, page)?;
    }
    Ok(())
}

/// The names under `Commands:` in clap's help; `help` describes itself.
fn subcommands(help: &str) -> Vec<String> {
    let section = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Names are indented by two; wrapped descriptions by more.
    let names = section.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subcommands_are_read_from_claps_help() {
        let help = "Load tests that tell you why\n\nUsage: loadstone <COMMAND>\n\nCommands:\n  run   Run a test, with a\n          long story\n  \
                    try   Each scenario once\n  help  Print this message\n\nOptions:\n  -h, --help\n";
        assert_eq!(subcommands(help), ["run", "try"]);
        assert!(subcommands("Usage: loadstone run <FILE>\n\nOptions:\n  -h\n").is_empty());
    }
}
