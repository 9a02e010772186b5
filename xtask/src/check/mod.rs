//! `cargo xtask check`: what CI runs, in parts.
//!
//! The parts of the gate need nothing of the workspace compiled. They run first, and a failure among them ends the check. The build compiles everything
//! once, through clippy's driver: it reports lints and writes the programs that every later part runs. Start with [`PARTS`].

mod affected_packages;
pub(crate) mod build;
mod counts;
mod part_outcome;
mod scope;
mod tests;
mod timing;

use anyhow::{Result, bail};
use checkout::Workspace;
use checkout::process;
use clap::Args;

use crate::{edges, generated, licences, setup, tidy, web};
use counts::TestCounts;
use part_outcome::PartOutcome;
use scope::Scope;
use timing::Stopwatch;

#[derive(Args)]
pub(crate) struct CheckOptions {
    /// Run only these parts (see their names in the output of a full run).
    #[arg(long = "only", value_name = "PART")]
    only: Vec<String>,
    /// Run the gate, and only the tests of packages that the difference to main can affect.
    #[arg(long)]
    changed: bool,
    /// Run every part, even if the gate or the build fails.
    #[arg(long)]
    keep_going: bool,
}

/// If a part fails, the later stages do not run.
#[derive(PartialEq, PartialOrd)]
enum Stage {
    /// Compiles nothing of the workspace. All parts run, so that one check reports every failure of the gate.
    Gate,
    /// What every later part needs, so one failure ends the check.
    Build,
    /// Parts that do not depend on each other.
    Tests,
}

struct CheckPart {
    name: &'static str,
    stage: Stage,
    perform: fn(&Scope) -> PartOutcome,
}

const PARTS: &[CheckPart] = &[
    part(Stage::Gate, "fmt", |scope| PartOutcome::of(process::run(scope.workspace.command("cargo").args(["fmt", "--all", "--check"])))),
    part(Stage::Gate, "tidy", |scope| PartOutcome::of(tidy::tidy(scope.workspace))),
    part(Stage::Gate, "edges", |scope| PartOutcome::of(edges::edges(scope.workspace))),
    part(Stage::Gate, "licences", |scope| PartOutcome::of(licences::licences(scope.workspace))),
    part(Stage::Gate, "types", |scope| types(scope.workspace)),
    part(Stage::Build, "setup", |scope| PartOutcome::of(setup::setup(scope.workspace))),
    part(Stage::Build, "build", |scope| PartOutcome::of(build::compile(scope.workspace, build::TARGETS))),
    part(Stage::Tests, "gen", |scope| PartOutcome::of(generated::check(scope.workspace, &scope.workspace.development_binary()))),
    part(Stage::Tests, "web", page),
    part(Stage::Tests, "test", tests::nextest),
    part(Stage::Tests, "doctest", tests::doctests),
];

const fn part(stage: Stage, name: &'static str, perform: fn(&Scope) -> PartOutcome) -> CheckPart {
    CheckPart { name, stage, perform }
}

/// Whether a part still runs after a failure in this stage.
fn runs_after(failed: &Stage, part: &CheckPart) -> bool {
    match failed {
        Stage::Gate => part.stage == Stage::Gate,
        Stage::Build => false,
        Stage::Tests => true,
    }
}

pub(crate) fn check(workspace: &Workspace, options: &CheckOptions) -> Result<()> {
    if let Some(unknown) = options.only.iter().find(|name| !PARTS.iter().any(|part| part.name == *name)) {
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        bail!("there is no part `{unknown}`; the parts are {}", names.join(", "));
    }
    let chosen: Vec<&CheckPart> =
        PARTS.iter().filter(|part| options.only.is_empty() || options.only.iter().any(|name| name == part.name)).collect();
    let scope = Scope::new(workspace, options.changed)?;
    let (mut lines, mut passed, mut failed) = (Vec::new(), 0, 0);
    let mut failed_in: Option<&Stage> = None;
    for part in &chosen {
        if !options.keep_going && failed_in.is_some_and(|stage| !runs_after(stage, part)) {
            lines.push(format!("not run {}", part.name));
            continue;
        }
        println!("──── {}", part.name);
        let stopwatch = Stopwatch::start();
        let outcome = (part.perform)(&scope);
        if outcome.error.is_some() {
            failed_in = failed_in.or(Some(&part.stage));
        }
        let line = outcome.closing_line(part.name, &stopwatch.elapsed());
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

/// The script API's types, checked against scripts that must and must not type-check, and against the examples.
fn types(workspace: &Workspace) -> PartOutcome {
    const FOLDER: &str = "types/test";
    let installed = web::install(workspace, FOLDER);
    PartOutcome::of(installed.and_then(|()| process::run(workspace.command("npm").args(["test", "--silent", "--prefix", FOLDER]))))
}

fn page(scope: &Scope) -> PartOutcome {
    if scope.affected.as_ref().is_some_and(|affected| !affected.touch(&["web/", "crates/report/", "crates/cli/src/"])) {
        return PartOutcome::unaffected();
    }
    let mut tests = TestCounts::default();
    let result = web::test(scope.workspace, |line| {
        println!("{line}");
        tests.read_vitest(line);
    });
    PartOutcome::of_tests(result, tests)
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn a_failure_of_the_gate_ends_the_check_after_the_gate() {
        let after = |failed| PARTS.iter().filter(|part| runs_after(&failed, part)).map(|part| part.name).collect::<Vec<_>>();
        assert_eq!(after(Stage::Gate), ["fmt", "tidy", "edges", "licences", "types"]);
        assert!(after(Stage::Build).is_empty());
        assert!(after(Stage::Tests).contains(&"doctest"));
    }

    #[test]
    fn stages_follow_each_other() {
        assert!(PARTS.is_sorted_by(|one, next| one.stage <= next.stage));
    }
}
