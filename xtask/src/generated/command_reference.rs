//! docs/cli.md, from the binary's own `--help`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use checkout::process;

const INTRODUCTION: &str =
    "# Command line\n\nWritten by `cargo xtask gen` from `loadstone --help`; edit the text where the flags are defined.\n";

/// The page for this binary.
pub(super) fn text(binary: &Path) -> Result<String> {
    let mut page = INTRODUCTION.to_owned();
    describe(binary, &[], &mut page)?;
    Ok(page)
}

/// The help of one command and, below it, of its subcommands.
fn describe(binary: &Path, command: &[String], page: &mut String) -> Result<()> {
    // The page must not depend on this terminal's colours or width.
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
