//! The one build of the check: every crate, test and example, compiled by clippy's driver.
//!
//! clippy-driver is rustc with lints: it checks and generates code in one pass, where `cargo clippy` would compile everything a second time. Every part
//! that calls cargo gets the same environment from [`through_clippy`], so that cargo finds the build up to date.

use std::process::Command;

use anyhow::{Result, bail};
use checkout::Workspace;
use checkout::process;

/// What the test build consists of. `cargo nextest` takes the same arguments. The trials are checked by `cargo xtask nightly`.
pub(crate) const TARGETS: &[&str] = &["--workspace", "--exclude", "trials", "--locked"];

/// Sets the environment in which all of the check's builds run.
pub(crate) fn through_clippy(command: &mut Command) -> &mut Command {
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env_remove("CLIPPY_ARGS")
}

/// Compiles packages with their tests. A warning is an error here; cargo repeats the warnings of what it need not compile again.
pub(crate) fn compile(workspace: &Workspace, packages: &[&str]) -> Result<()> {
    let mut command = workspace.command("cargo");
    without_warnings(command.args(["test", "--no-run"]).args(packages))
}

/// Compiles by a command of cargo. A warning is an error.
pub(crate) fn without_warnings(command: &mut Command) -> Result<()> {
    let mut warnings = 0;
    let succeeded = process::stream(through_clippy(command), |line| {
        warnings += usize::from(is_warning(line));
        if !line.trim_start().starts_with("Executable ") {
            println!("{line}");
        }
    })?;
    if !succeeded {
        bail!("it does not compile");
    }
    if warnings > 0 {
        bail!("{warnings} warnings, which are errors here");
    }
    Ok(())
}

/// Whether a line begins a warning. Cargo's own summary per crate (``warning: `x` (lib) generated 2 warnings``) repeats others.
fn is_warning(line: &str) -> bool {
    let is_summary = line.contains(" generated ") && line.contains(" warning");
    // The compiler for a Mac looks for Xcode, which `cargo xtask macos` does without.
    line.starts_with("warning: ") && !is_summary && !line.contains("\"xcrun\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_count_once() {
        assert!(is_warning("warning: unused variable: `x`"));
        assert!(!is_warning("warning: `loadstone-plan` (lib) generated 1 warning"));
        assert!(!is_warning("  = note: warning: none"));
        assert!(!is_warning("warning: invoking `\"xcrun\" \"--sdk\" \"macosx\" \"--show-sdk-path\"` to find MacOSX.sdk failed"));
    }
}
