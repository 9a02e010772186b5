//! `cargo xtask check`: exactly what CI does, in parts that each end with a line of their own.
//!
//! A failed part does not stop the ones behind it. The last line counts: every test, and each other part as one.

use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};

use crate::workspace::Workspace;
use crate::{command_reference, edges, process, script_reference, setup, tidy, web};

type Part = (&'static str, fn(&Workspace) -> Outcome);

/// Name and action. Cheap ones first; what builds shares one profile and one set of features.
const PARTS: &[Part] = &[
    ("setup", |workspace| Outcome::of(setup::setup(workspace))),
    ("fmt", |workspace| cargo(workspace, &["fmt", "--all", "--check"])),
    ("tidy", |workspace| Outcome::of(tidy::tidy(workspace))),
    ("edges", |workspace| Outcome::of(edges::edges(workspace))),
    ("licences", licences),
    ("clippy", |workspace| cargo(workspace, &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])),
    ("build", |workspace| cargo(workspace, &["test", "--workspace", "--locked", "--no-run"])),
    ("gen", generated),
    ("types", types),
    ("web", page),
    ("test", tests),
];

/// How a part went: whether it is fine, and how many tests stand behind that.
struct Outcome {
    error: Option<String>,
    passed: usize,
    failed: usize,
}

impl Outcome {
    fn of(result: Result<()>) -> Self {
        match result {
            Ok(()) => Self { error: None, passed: 1, failed: 0 },
            Err(error) => Self { error: Some(format!("{error:#}")), passed: 0, failed: 1 },
        }
    }

    /// Of a part that ran tests. A failure that no test owns (it did not build, it crashed) counts as one.
    fn of_tests(result: Result<bool>, tests: Tests) -> Self {
        match result {
            Ok(true) if tests.failed == 0 => Self { error: None, passed: tests.passed, failed: 0 },
            Ok(_) => Self { error: Some("see above".to_owned()), passed: tests.passed, failed: tests.failed.max(1) },
            Err(error) => Self { error: Some(format!("{error:#}")), passed: tests.passed, failed: tests.failed.max(1) },
        }
    }
}

pub(crate) fn check(workspace: &Workspace, only: &[String]) -> Result<()> {
    if let Some(unknown) = only.iter().find(|name| !PARTS.iter().any(|(part, _)| part == name)) {
        let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
        bail!("no part is called `{unknown}`; there are {}", names.join(", "));
    }
    let chosen = PARTS.iter().filter(|(name, _)| only.is_empty() || only.iter().any(|wanted| wanted == name));
    let (mut lines, mut passed, mut failed) = (Vec::new(), 0, 0);
    for (name, part) in chosen {
        println!("──── {name}");
        let begun = SystemTime::now();
        let outcome = part(workspace);
        let line = closing_line(name, &outcome, begun.elapsed().unwrap_or_default());
        println!("{line}");
        lines.push(line);
        passed += outcome.passed;
        failed += outcome.failed;
    }
    println!("\n{}\n{passed} passed, {failed} failed", lines.join("\n"));
    if failed > 0 {
        bail!("the check failed");
    }
    Ok(())
}

fn closing_line(name: &str, outcome: &Outcome, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match &outcome.error {
        None if outcome.passed > 1 => format!("ok      {name:<9}{seconds:>7.1} s  {} passed", outcome.passed),
        None => format!("ok      {name:<9}{seconds:>7.1} s"),
        Some(error) => format!("FAILED  {name:<9}{seconds:>7.1} s  {error}"),
    }
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Outcome {
    Outcome::of(process::run(workspace.command("cargo").args(arguments)))
}

/// Licences, advisories and sources of dependencies by deny.toml, where cargo-deny is installed.
fn licences(workspace: &Workspace) -> Outcome {
    if process::find("cargo-deny").is_none() {
        println!("cargo-deny is not installed; passed over (cargo install cargo-deny --locked)");
        return Outcome { error: None, passed: 0, failed: 0 };
    }
    cargo(workspace, &["deny", "--log-level", "error", "check", "licenses", "bans", "sources"])
}

/// The test build made the binary already; building it alone would resolve other features and build it again.
fn generated(workspace: &Workspace) -> Outcome {
    let commands = command_reference::generate(workspace, &workspace.target.join("debug/loadstone"), true);
    Outcome::of(commands.and_then(|()| script_reference::generate(workspace, true)))
}

/// The script API's types, held against scripts that must and must not type-check, and against the examples.
fn types(workspace: &Workspace) -> Outcome {
    const FOLDER: &str = "types/test";
    let installed = web::install(workspace, FOLDER);
    Outcome::of(installed.and_then(|()| process::run(workspace.command("npm").args(["test", "--silent", "--prefix", FOLDER]))))
}

fn page(workspace: &Workspace) -> Outcome {
    let mut tests = Tests::default();
    let result = web::test(workspace, |line| {
        println!("{line}");
        tests.read_vitest(line);
    });
    Outcome::of_tests(result, tests)
}

fn tests(workspace: &Workspace) -> Outcome {
    let mut tests = Tests::default();
    let mut command = workspace.command("cargo");
    command.args(["test", "--workspace", "--locked", "--no-fail-fast"]);
    let result = process::stream(&mut command, |line| {
        println!("{line}");
        tests.read_cargo(line);
    });
    Outcome::of_tests(result, tests)
}

#[derive(Default, PartialEq, Debug)]
struct Tests {
    passed: usize,
    failed: usize,
}

impl Tests {
    /// `test result: ok. 12 passed; 0 failed; 0 ignored; …`
    fn read_cargo(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.add(counts);
        }
    }

    /// `      Tests  1 failed | 41 passed (42)`, after a line of the same form about files.
    fn read_vitest(&mut self, line: &str) {
        let line = without_colours(line);
        if let Some(counts) = line.trim_start().strip_prefix("Tests ") {
            self.add(counts);
        }
    }

    /// Adds every number that stands before the word `passed` or `failed`.
    fn add(&mut self, text: &str) {
        let words: Vec<&str> = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            match (pair[0].parse::<usize>(), pair[1]) {
                (Ok(number), "passed") => self.passed += number,
                (Ok(number), "failed") => self.failed += number,
                _ => {}
            }
        }
    }
}

fn without_colours(line: &str) -> String {
    let mut plain = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(|letter| letter.is_ascii_alphabetic());
        } else {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests_of_check {
    use super::*;

    #[test]
    fn counts_add_up_over_binaries() {
        let mut tests = Tests::default();
        tests.read_cargo("test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s");
        tests.read_cargo("test passed_by ... ok");
        tests.read_cargo("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s");
        assert_eq!(tests, Tests { passed: 15, failed: 2 });
    }

    #[test]
    fn vitest_counts_tests_and_not_files() {
        let mut tests = Tests::default();
        tests.read_vitest("\u{1b}[2m Test Files \u{1b}[22m \u{1b}[1m\u{1b}[32m3 passed\u{1b}[39m\u{1b}[22m\u{1b}[90m (3)\u{1b}[39m");
        tests.read_vitest("\u{1b}[2m      Tests \u{1b}[22m \u{1b}[31m1 failed\u{1b}[39m | \u{1b}[32m41 passed\u{1b}[39m (42)");
        assert_eq!(tests, Tests { passed: 41, failed: 1 });
    }

    #[test]
    fn a_crash_without_a_failed_test_is_a_failure() {
        let outcome = Outcome::of_tests(Ok(false), Tests { passed: 4, failed: 0 });
        assert_eq!((outcome.passed, outcome.failed), (4, 1));
    }
}
