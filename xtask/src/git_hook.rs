//! The `commit-msg` hook: git runs it with the file of a commit's message, and refuses the commit if the hook fails.
//!
//! It is a shell script, so that a commit waits for no compiler. `cargo xtask tidy` checks the same rules for all commits.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;

use crate::tidy::commits::SUBJECT_MAX;

/// A line by which [`install`] recognises the hook of an earlier version.
const MARKER: &str = "# Written by `cargo xtask setup`.";

/// Installs the hook for this repository and its worktrees. A hook that someone else wrote stays as it is.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let Some(folder) = process::attempt(workspace.command("git").args(["rev-parse", "--git-path", "hooks"])) else {
        eprintln!("this is not a git repository: no commit-msg hook was installed");
        return Ok(());
    };
    let hook = workspace.root.join(folder.trim()).join("commit-msg");
    if fs::read_to_string(&hook).is_ok_and(|text| !text.contains(MARKER)) {
        eprintln!(
            "{} exists and was written by someone else: it stays, and commit messages are only checked by `cargo xtask tidy`",
            hook.display()
        );
        return Ok(());
    }
    fs::create_dir_all(hook.with_file_name("")).with_context(|| format!("creating the folder of {}", hook.display()))?;
    fs::write(&hook, script()).with_context(|| format!("writing {}", hook.display()))?;
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).with_context(|| format!("making {} executable", hook.display()))?;
    eprintln!("{} checks the messages of commits", hook.display());
    Ok(())
}

fn script() -> String {
    format!(
        r#"#!/bin/sh
{MARKER} A subject has at most {SUBJECT_MAX} characters; a body gives problem, approach and verification.
message=$(sed -e '/^# -* >8 -*$/,$d' -e '/^#/d' "$1")
subject=$(printf '%s\n' "$message" | sed -n '/[^[:space:]]/{{p;q;}}')
case "$subject" in "" | Merge\ * | fixup!\ * | squash!\ * | Revert\ *) exit 0 ;; esac
characters=$(printf '%s' "$subject" | LC_ALL=C.UTF-8 wc -m)
if [ "$characters" -gt {SUBJECT_MAX} ]; then
  echo "commit-msg: the subject has $characters characters (at most {SUBJECT_MAX}): $subject" >&2
  exit 1
fi
lines=$(printf '%s\n' "$message" | grep -c '[^[:space:]]')
# A commit that only renames files needs no body.
if [ "$lines" -lt 2 ] && git diff --cached --name-status --find-renames=100% | grep -qv '^R100'; then
  echo "commit-msg: the message has no body; state the problem, the approach and the verification" >&2
  exit 1
fi
"#
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// Commits a file with this message in a new repository that has the hook.
    fn commits(message: &str) -> bool {
        let folder = std::env::temp_dir().join(format!("loadstone-hook-{}-{:?}", std::process::id(), std::thread::current().id()));
        fs::create_dir_all(&folder).unwrap();
        let git = |arguments: &[&str]| git(&folder, arguments);
        assert!(git(&["init", "--quiet"]));
        let workspace = Workspace { root: folder.clone(), target: folder.join("target") };
        install(&workspace).unwrap();
        fs::write(folder.join("a"), "a\n").unwrap();
        assert!(git(&["add", "a"]));
        let committed = git(&["-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "--quiet", "-m", message]);
        fs::remove_dir_all(&folder).unwrap();
        committed
    }

    fn git(folder: &Path, arguments: &[&str]) -> bool {
        let output = Command::new("git").current_dir(folder).args(arguments).env_remove("GIT_DIR").env_remove("GIT_INDEX_FILE").output();
        output.unwrap().status.success()
    }

    #[test]
    fn a_long_subject_and_a_missing_body_are_refused() {
        assert!(commits(&format!("{}\n\nA body.", "é".repeat(SUBJECT_MAX))));
        assert!(!commits(&format!("{}\n\nA body.", "é".repeat(SUBJECT_MAX + 1))));
        assert!(!commits("Only a subject"));
    }
}
