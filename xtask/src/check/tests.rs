//! Running the tests: by nextest, which starts each in a separate process and schedules all crates together, and doctests by rustdoc.
//!
//! Which tests run alone, two at a time or many at a time is data: `.config/nextest.toml`.

use anyhow::Result;
use checkout::process;

use super::affected_packages::AffectedPackages;
use super::build::{TARGETS, through_clippy};
use super::counts::TestCounts;
use super::part_outcome::PartOutcome;
use super::scope::Scope;
use crate::cargo_tools;

/// How many of the slowest tests are listed.
const SLOWEST_LISTED: usize = 20;

/// Packages with examples in their documentation. Rustdoc compiles each of these crates again, so the others are left out.
const WITH_DOCTESTS: &[&str] = &["loadstone-metrics"];

pub(super) fn nextest(scope: &Scope) -> PartOutcome {
    let mut tests = TestCounts::default();
    let mut times = TestTimes::default();
    let result = run_nextest(scope, |line| {
        println!("{line}");
        tests.read_nextest(line);
        times.read(line);
    });
    times.print_slowest();
    PartOutcome::of_tests(result, tests)
}

fn run_nextest(scope: &Scope, see: impl FnMut(&str)) -> Result<bool> {
    let workspace = scope.workspace;
    let nextest = cargo_tools::path(workspace, "cargo-nextest")?;
    let mut command = workspace.command(&nextest.to_string_lossy());
    command.args(["nextest", "run", "--no-fail-fast"]).args(TARGETS);
    if let Some(affected) = &scope.affected {
        command.args(["--no-tests", "pass", "--filterset", &affected.test_filter()]);
    }
    process::stream(through_clippy(&mut command), see)
}

pub(super) fn doctests(scope: &Scope) -> PartOutcome {
    let is_affected = |affected: &AffectedPackages| WITH_DOCTESTS.iter().any(|package| affected.contain(package));
    if scope.affected.as_ref().is_some_and(|affected| !is_affected(affected)) {
        return PartOutcome::unaffected();
    }
    let workspace = scope.workspace;
    let mut tests = TestCounts::default();
    let mut command = workspace.command("cargo");
    command.args(["test", "--doc", "--locked"]).args(WITH_DOCTESTS.iter().flat_map(|package| ["--package", package]));
    let result = process::stream(through_clippy(&mut command), |line| {
        println!("{line}");
        tests.read_cargo(line);
    });
    PartOutcome::of_tests(result, tests)
}

/// Test and seconds, as nextest prints them.
#[derive(Default)]
struct TestTimes(Vec<(f64, String)>);

impl TestTimes {
    /// `        PASS [   0.512s] (  7/2041) loadstone-engine worker::tests::drains`
    fn read(&mut self, line: &str) {
        let Some((state, rest)) = line.split_once('[') else { return };
        let is_final = ["PASS", "FAIL", "TIMEOUT", "LEAK", "FLAKY"].iter().any(|word| state.contains(word));
        let Some((seconds, name)) = rest.split_once("s]").filter(|_| is_final) else { return };
        let name = name.rsplit_once(") ").map_or(name, |(_, name)| name).trim();
        if let Ok(seconds) = seconds.trim_start_matches([' ', '>']).parse() {
            self.0.push((seconds, name.to_owned()));
        }
    }

    fn print_slowest(&mut self) {
        self.0.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        // nextest repeats failures at the end.
        self.0.dedup();
        println!(
            "\nThe slowest tests (of {}, {:.0} s in all, several at a time):",
            self.0.len(),
            self.0.iter().map(|(seconds, _)| seconds).sum::<f64>()
        );
        for (seconds, name) in self.0.iter().take(SLOWEST_LISTED) {
            println!("{seconds:>8.1} s  {name}");
        }
    }
}

#[cfg(test)]
mod unit_tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn times_are_read_from_lines_that_end_a_test() {
        let mut times = TestTimes::default();
        times.read("        PASS [   0.512s] (  7/2041) loadstone-engine worker::tests::drains");
        times.read("        SLOW [> 60.000s] (─────────) loadstone::it fleet::joins");
        times.read("    Starting 12 tests across 3 binaries");
        times.read("        FAIL [  61.250s] (  8/2041) loadstone::it fleet::joins");
        let read: Vec<(f64, &str)> = times.0.iter().map(|(seconds, name)| (*seconds, name.as_str())).collect();
        assert_eq!(read, [(0.512, "loadstone-engine worker::tests::drains"), (61.25, "loadstone::it fleet::joins")]);
    }

    #[test]
    fn every_crate_with_doctests_is_listed() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        for entry in fs::read_dir(crates).unwrap().flatten() {
            let name = format!("loadstone-{}", entry.file_name().to_string_lossy());
            let has_doctests = has_doctests(&entry.path().join("src"));
            assert!(!has_doctests || WITH_DOCTESTS.contains(&name.as_str()), "{name} has doctests and is not listed");
        }
    }

    /// Whether a file below a folder has a code block that rustdoc would run, which is one without a language or flag.
    fn has_doctests(folder: &Path) -> bool {
        let Ok(entries) = fs::read_dir(folder) else { return false };
        entries.flatten().any(|entry| {
            let path = entry.path();
            if path.is_dir() {
                return has_doctests(&path);
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            path.extension().is_some_and(|extension| extension == "rs") && opens_a_doctest(&text)
        })
    }

    fn opens_a_doctest(text: &str) -> bool {
        let is_library = text.lines().filter_map(|line| line.trim_start().strip_prefix("///")).map(str::trim);
        let mut is_open = false;
        is_library.filter(|line| line.starts_with("```")).any(|line| {
            is_open = !is_open;
            is_open && (line == "```" || line.starts_with("```rust"))
        })
    }
}
