//! Running other programs, with errors that name the command.

use std::env;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs a command with the terminal's output; an error unless it exits with 0.
pub fn run(command: &mut Command) -> Result<()> {
    let line = describe(command);
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// The standard output of a command. Its standard error goes to the terminal.
pub fn output(command: &mut Command) -> Result<String> {
    output_of(command, &[0])
}

/// [`output`] of a command that may exit with any of these codes.
pub fn output_of(command: &mut Command, codes: &[i32]) -> Result<String> {
    let line = describe(command);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.code().is_some_and(|code| codes.contains(&code)) {
        bail!("`{line}` ended with {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` wrote something other than UTF-8"))
}

/// Runs a command whose output is not a result: it goes to standard error.
pub fn run_aside(command: &mut Command) -> Result<()> {
    run(command.stdout(io::stderr()))
}

/// Reports that something was skipped because it is not installed or switched off. In CI, where nobody reads that, it is an error.
pub fn pass_over(what: &str) -> Result<()> {
    if is_ci() {
        bail!("{what}: skipped, which counts as a failure in CI");
    }
    eprintln!("{what}: skipped");
    Ok(())
}

/// Whether the environment says `CI` (set, and neither empty nor `false`).
pub fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// The standard output of a command; `None` unless it exits with 0. Its standard error is dropped.
pub fn attempt(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command, passes every line of its output and errors to `see`, in the order written, and returns whether it exited with 0.
pub fn stream(command: &mut Command, mut see: impl FnMut(&str)) -> Result<bool> {
    let line = describe(command);
    let (reader, writer) = io::pipe().context("cannot create a pipe")?;
    let child = command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).spawn();
    let mut child = child.with_context(|| format!("cannot start `{line}`"))?;
    // The command holds the pipe's write ends: without them here, reading ends when the child does.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    for text in BufReader::new(reader).split(b'\n') {
        let text = text.with_context(|| format!("reading the output of `{line}`"))?;
        see(String::from_utf8_lossy(&text).trim_end_matches('\r'));
    }
    Ok(child.wait()?.success())
}

/// The first program of that name on the search path.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    // nginx and other servers are in sbin, which is not on every user's path.
    let folders = env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")]);
    folders.map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
