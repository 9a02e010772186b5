//! `cargo xtask check`: exactly what CI does, in parts that each end with a line of their own.
//!
//! A failed part does not stop the ones behind it. The last line counts: every test, and each other part as one.

mod counts;

use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};

use crate::workspace::Workspace;
use crate::{diagnose, edges, generated, licences, process, setup, tidy, web};
use counts::TestCounts;

type CheckPart = (&'static str, fn(&Workspace) -> PartOutcome);

/// Name and action. Cheap ones first; what builds shares one profile and one set of features.
const PARTS: &[CheckPart] = &[
    ("setup", |workspace| PartOutcome::of(setup::setup(workspace))),
    ("fmt", |workspace| cargo(workspace, &["fmt", "--all", "--check"])),
    ("tidy", |workspace| PartOutcome::of(tidy::tidy(workspace))),
    ("edges", |workspace| PartOutcome::of(edges::edges(workspace))),
    ("licences", |workspace| PartOutcome::of(licences::licences(workspace))),
    ("clippy", |workspace| cargo(workspace, &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])),
    ("build", |workspace| cargo(workspace, &["test", "--workspace", "--locked", "--no-run"])),
    ("gen", documents),
    ("types", types),
    ("web", page),
    ("test", tests),
    ("diagnose", |workspace| PartOutcome::of(diagnose::slice(workspace, workspace.development_binary()))),
];

/// How a part went: whether it is fine, and how many tests that rests on.
struct PartOutcome {
    error: Option<String>,
    passed: usize,
    failed: usize,
}

impl PartOutcome {
    fn of(result: Result<()>) -> Self {
        match result {
            Ok(()) => Self { error: None, passed: 1, failed: 0 },
            Err(error) => Self { error: Some(format!("{error:#}")), passed: 0, failed: 1 },
        }
    }

    /// Of a part that ran tests. A failure that no test owns (it did not build, it crashed) counts as one.
    fn of_tests(result: Result<bool>, tests: TestCounts) -> Self {
        let result = match result {
            Ok(_) if tests.ignored > 0 => process::pass_over(&format!("{} ignored tests", tests.ignored)).and(result),
            _ => result,
        };
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

fn closing_line(name: &str, outcome: &PartOutcome, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match &outcome.error {
        None if outcome.passed > 1 => format!("ok      {name:<9}{seconds:>7.1} s  {} passed", outcome.passed),
        None => format!("ok      {name:<9}{seconds:>7.1} s"),
        Some(error) => format!("FAILED  {name:<9}{seconds:>7.1} s  {error}"),
    }
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> PartOutcome {
    PartOutcome::of(process::run(workspace.command("cargo").args(arguments)))
}

/// The test build made the binary already; building it alone would resolve other features and build it again.
fn documents(workspace: &Workspace) -> PartOutcome {
    PartOutcome::of(generated::check(workspace, &workspace.development_binary()))
}

/// The script API's types, held against scripts that must and must not type-check, and against the examples.
fn types(workspace: &Workspace) -> PartOutcome {
    const FOLDER: &str = "types/test";
    let installed = web::install(workspace, FOLDER);
    PartOutcome::of(installed.and_then(|()| process::run(workspace.command("npm").args(["test", "--silent", "--prefix", FOLDER]))))
}

fn page(workspace: &Workspace) -> PartOutcome {
    let mut tests = TestCounts::default();
    let result = web::test(workspace, |line| {
        println!("{line}");
        tests.read_vitest(line);
    });
    PartOutcome::of_tests(result, tests)
}

fn tests(workspace: &Workspace) -> PartOutcome {
    let mut tests = TestCounts::default();
    let mut command = workspace.command("cargo");
    command.args(["test", "--workspace", "--locked", "--no-fail-fast"]);
    let result = process::stream(&mut command, |line| {
        println!("{line}");
        tests.read_cargo(line);
    });
    PartOutcome::of_tests(result, tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_without_a_failed_test_is_a_failure() {
        let outcome = PartOutcome::of_tests(Ok(false), TestCounts { passed: 4, failed: 0, ignored: 0 });
        assert_eq!((outcome.passed, outcome.failed), (4, 1));
    }
}
