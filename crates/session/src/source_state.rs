//! The commit and branch of the sources in the current folder. They are read without git, which may not be installed. Only git can determine whether the
//! sources were modified.

use std::path::Path;
use std::process::{Command, Stdio};

/// Variables of build servers with the commit or branch. The first that is set wins.
const COMMIT_VARIABLES: [&str; 4] = ["LOADSTONE_COMMIT", "GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT"];
/// For a pull request, its source branch precedes the reference that the build server created for it.
const BRANCH_VARIABLES: [&str; 5] = ["LOADSTONE_BRANCH", "GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BUILDKITE_BRANCH"];
/// Maximum lengths: a commit has forty digits, and a branch name is a file name.
const COMMIT_LENGTH_MAX: usize = 64;
const BRANCH_LENGTH_MAX: usize = 255;

/// The checkout around the current folder.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SourceState {
    pub(crate) commit: Option<String>,
    pub(crate) branch: Option<String>,
    /// The folder's contents differ from the commit.
    pub(crate) is_dirty: bool,
}

impl SourceState {
    /// From the environment, or else read from the repository.
    pub(crate) fn known() -> Self {
        let folder = std::env::current_dir().ok();
        let read = folder.as_deref().and_then(Self::checked_out).unwrap_or_default();
        let branch = from_environment(&BRANCH_VARIABLES, BRANCH_LENGTH_MAX).or(read.branch);
        if let Some(commit) = from_environment(&COMMIT_VARIABLES, COMMIT_LENGTH_MAX) {
            return Self { commit: Some(commit), branch, is_dirty: false };
        }
        let is_dirty = read.commit.is_some() && folder.is_some_and(|folder| differs(&folder));
        Self { commit: read.commit, branch, is_dirty }
    }

    /// The state of the repository around a folder, without checking for modifications. `None` if there is none.
    fn checked_out(folder: &Path) -> Option<Self> {
        let git = folder.ancestors().map(|above| above.join(".git")).find(|git| git.exists())?;
        // In a second worktree, a file names the folder.
        let git = if git.is_file() { git.parent()?.join(read(&git)?.strip_prefix("gitdir: ")?) } else { git };
        let head = read(&git.join("HEAD"))?;
        let Some(reference) = head.strip_prefix("ref: ") else { return Some(Self { commit: digest(&head), ..Self::default() }) };
        let shared = read(&git.join("commondir")).map_or_else(|| git.clone(), |path| git.join(path));
        let loose = [&git, &shared].into_iter().find_map(|folder| read(&folder.join(reference)));
        let commit = loose.and_then(|text| digest(&text)).or_else(|| packed(&shared.join("packed-refs"), reference));
        Some(Self { commit, branch: reference.strip_prefix("refs/heads/").map(str::to_owned), is_dirty: false })
    }
}

fn from_environment(names: &[&str], length_max: usize) -> Option<String> {
    let value = names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.trim().is_empty())?;
    Some(value.trim().chars().take(length_max).collect())
}

/// Whether a tracked file below the folder differs from the commit. Unknown without git.
fn differs(folder: &Path) -> bool {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--", "."]);
    git.stdin(Stdio::null()).stderr(Stdio::null());
    git.output().is_ok_and(|output| output.status.success() && !output.stdout.is_empty())
}

fn packed(file: &Path, reference: &str) -> Option<String> {
    let text = read(file)?;
    text.lines().find_map(|line| digest(line.strip_suffix(reference)?.trim_end()))
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
}

fn digest(text: &str) -> Option<String> {
    (text.len() >= 40 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "39dbcdc0123456789abcdef0123456789abcdef0";
    const B: &str = "c021bae0123456789abcdef0123456789abcdef0";

    #[test]
    fn the_commit_is_read_from_gits_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let state = |path: &str| SourceState::checked_out(&folder.path().join(path)).unwrap_or_default();
        let of = |path: &str| state(path).commit;
        write("shop/tests/x", "");
        write("shop/.git/HEAD", "ref: refs/heads/main\n");
        assert_eq!(of("shop/tests"), None, "nothing was committed");
        assert_eq!(state("shop/tests").branch.as_deref(), Some("main"));
        write("shop/.git/packed-refs", &format!("# pack-refs\n{B} refs/heads/main\n"));
        assert_eq!(of("shop/tests").as_deref(), Some(B));
        write("shop/.git/refs/heads/main", &format!("{A}\n"));
        assert_eq!(of("shop/tests").as_deref(), Some(A), "a loose reference is newer");
        write("shop/.git/worktrees/second/HEAD", "ref: refs/heads/main\n");
        write("shop/.git/worktrees/second/commondir", "../..\n");
        write("second/.git", &format!("gitdir: {}\n", folder.path().join("shop/.git/worktrees/second").display()));
        assert_eq!(of("second").as_deref(), Some(A));
        write("shop/.git/worktrees/second/HEAD", "ref: refs/heads/fix/pool\n");
        assert_eq!((of("second"), state("second").branch.as_deref()), (None, Some("fix/pool")));
        write("shop/.git/HEAD", &format!("{B}\n"));
        assert_eq!((of("shop").as_deref(), state("shop").branch), (Some(B), None), "detached");
    }

    #[test]
    fn only_a_tracked_file_that_changed_makes_the_sources_differ() {
        let folder = tempfile::tempdir().unwrap();
        let git = |words: &[&str]| {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
            let mut git = Command::new("git");
            let ended = git.arg("-C").arg(folder.path()).args(identity).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
            assert!(ended.is_ok_and(|status| status.success()), "git {words:?}");
        };
        let write = |path: &str, text: &str| {
            std::fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join(path), text).unwrap();
        };
        assert!(!differs(folder.path()), "no repository");
        git(&["init", "--quiet"]);
        write("tests/shop.load.ts", "a");
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "first"]);
        write("runs/x/run.json", "{}");
        assert!(!differs(folder.path()), "what git does not track is no change");
        write("tests/shop.load.ts", "b");
        assert!(differs(folder.path()) && differs(&folder.path().join("tests")));
        assert!(!differs(&folder.path().join("runs")), "elsewhere");
    }
}
