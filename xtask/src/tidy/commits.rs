//! A commit has a short subject that names the change, and a body with the reason and the verification.

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;

/// Characters.
pub(crate) const SUBJECT_MAX: usize = 72;
/// How many commits are checked if there is no release yet.
const COMMITS_MAX: usize = 50;
/// The last commit before the rule. It and its ancestors are not checked: they cannot change without rewriting the history.
const BEFORE_THE_RULE: &str = "98fed7bd4954548d38c1a82119fd39eb577bcff4";

const END_OF_FIELD: char = '\u{1f}';
const END_OF_COMMIT: char = '\u{1e}';

/// The properties of a commit that the rule checks.
#[derive(Debug, PartialEq)]
struct Commit {
    id: String,
    subject: String,
    has_body: bool,
    /// It only gives files other names.
    only_renames: bool,
}

/// Complaints about the commits since the last release that are not merges; of at most fifty if there was none.
pub(super) fn complaints(workspace: &Workspace) -> Result<Vec<String>> {
    let git = |arguments: &[&str]| process::attempt(workspace.command("git").args(arguments));
    if git(&["rev-parse", "--is-shallow-repository"]).is_none_or(|answer| answer.trim() != "false") {
        println!("there is no full history (no repository, or a shallow clone): commits are not checked");
        return Ok(Vec::new());
    }
    if git(&["merge-base", "--is-ancestor", BEFORE_THE_RULE, "HEAD"]).is_none() {
        println!("the history does not have {BEFORE_THE_RULE:.7}, after which the rule for commits begins: commits are not checked");
        return Ok(Vec::new());
    }
    let release = git(&["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]);
    let mut log = workspace.command("git");
    log.args(["log", "--no-merges", "--name-status", "--find-renames=100%", "--format=%x1e%h%x1f%s%x1f%b%x1f"]);
    log.args(["HEAD", &format!("^{BEFORE_THE_RULE}")]);
    match release {
        Some(tag) => log.arg(format!("^{}", tag.trim())),
        None => log.arg(format!("--max-count={COMMITS_MAX}")),
    };
    Ok(read(&process::output(&mut log)?)?.iter().flat_map(judge).collect())
}

fn read(log: &str) -> Result<Vec<Commit>> {
    let commits = log.split(END_OF_COMMIT).filter(|commit| !commit.trim().is_empty());
    commits
        .map(|text| {
            let mut fields = text.split(END_OF_FIELD);
            let mut field = || fields.next().context("`git log` left out a field");
            let (id, subject, body, files) = (field()?, field()?, field()?, field()?);
            let mut changes = files.lines().filter(|line| !line.is_empty()).peekable();
            let only_renames = changes.peek().is_some() && changes.all(|line| line.starts_with("R100"));
            Ok(Commit { id: id.to_owned(), subject: subject.to_owned(), has_body: !body.trim().is_empty(), only_renames })
        })
        .collect()
}

fn judge(commit: &Commit) -> Vec<String> {
    let columns = commit.subject.chars().count();
    let mut complaints = Vec::new();
    if columns > SUBJECT_MAX {
        complaints.push(format!("commit {}: its subject has {columns} characters (at most {SUBJECT_MAX}): {}", commit.id, commit.subject));
    }
    if !commit.has_body && !commit.only_renames {
        complaints
            .push(format!("commit {}: has no body; state the problem, the approach and the verification: {}", commit.id, commit.subject));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(log: &str) -> Vec<String> {
        read(log).unwrap().iter().flat_map(judge).collect()
    }

    #[test]
    fn a_commit_needs_a_short_subject_and_a_body() {
        assert!(judged("\u{1e}abc\u{1f}Engine: less\u{1f}Why.\n\u{1f}\n\nM\ta.rs\n").is_empty());
        let found = judged(&format!("\u{1e}abc\u{1f}{}\u{1f}\u{1f}\n\nM\ta.rs\n\u{1e}def\u{1f}Short\u{1f}Body\u{1f}\n", "é".repeat(73)));
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("commit abc: its subject has 73 characters") && found[1].starts_with("commit abc: has no body"));
    }

    #[test]
    fn a_mere_rename_needs_no_body() {
        assert!(judged("\u{1e}abc\u{1f}Plan: name\u{1f}\u{1f}\n\nR100\ta.rs\tb.rs\nR100\tc.rs\td.rs\n").is_empty());
        assert_eq!(judged("\u{1e}abc\u{1f}Plan: name\u{1f}\u{1f}\n\nR100\ta.rs\tb.rs\nM\tc.rs\n").len(), 1);
        // An empty commit needs an explanation, too.
        assert_eq!(judged("\u{1e}abc\u{1f}Plan: nothing\u{1f}\u{1f}\n").len(), 1);
    }
}
