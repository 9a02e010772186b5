//! `cargo xtask check`: what CI runs, in parts.
//!
//! The parts of the gate need nothing of the workspace compiled. They run first, and a failure among them ends the check. The build compiles everything
//! once, through clippy's driver: it reports lints and writes the programs that every later part runs. Start with [`PARTS`].

pub(crate) mod build;
mod changes;
mod counts;
mod part_outcome;
mod tests;
mod timing;

use anyhow::{Result, bail};
use checkout::Workspace;
use checkout::process;
use clap::Args;

use crate::{edges, generated, licences, setup, tidy, web};
use changes::Changes;
use counts::TestCounts;
use part_outcome::PartOutcome;
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

struct CheckPart {
    name: &'static str,
    /// Parts behind this one do not run if it fails.
    is_required: bool,
    perform: fn(&Scope) -> PartOutcome,
}

/// What is checked: this checkout, or what its changes affect.
struct Scope<'a> {
    workspace: &'a Workspace,
    changes: Option<Changes>,
}

const PARTS: &[CheckPart] = &[
    gate("fmt", |scope| PartOutcome::of(process::run(scope.workspace.command("cargo").args(["fmt", "--all", "--check"])))),
    gate("tidy", |scope| PartOutcome::of(tidy::tidy(scope.workspace))),
    gate("edges", |scope| PartOutcome::of(edges::edges(scope.workspace))),
    gate("licences", |scope| PartOutcome::of(licences::licences(scope.workspace))),
    gate("types", |scope| types(scope.workspace)),
    required("setup", |scope| PartOutcome::of(setup::setup(scope.workspace))),
    required("build", |scope| PartOutcome::of(build::compile(scope.workspace, build::TARGETS))),
    part("gen", |scope| PartOutcome::of(generated::check(scope.workspace, &scope.workspace.development_binary()))),
    part("web", page),
    part("test", tests::nextest),
    part("doctest", tests::doctests),
];

const fn part(name: &'static str, perform: fn(&Scope) -> PartOutcome) -> CheckPart {
    CheckPart { name, is_required: false, perform }
}

const fn required(name: &'static str, perform: fn(&Scope) -> PartOutcome) -> CheckPart {
    CheckPart { name, is_required: true, perform }
}

/// A part of the gate. All of it runs before the check ends, so that one run reports every failure of the gate.
const fn gate(name: &'static str, perform: fn(&Scope) -> PartOutcome) -> CheckPart {
    required(name, perform)
}

/// The last part of the gate.
const GATE_END: &str = "types";

pub(crate) fn check(workspace: &Workspace, options: &CheckOptions) -> Result<()> {
    if let Some(unknown) = options.only.iter().find(|name| !PARTS.iter().any(|part| part.name == *name)) {
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        bail!("there is no part `{unknown}`; the parts are {}", names.join(", "));
    }
    let chosen: Vec<&CheckPart> =
        PARTS.iter().filter(|part| options.only.is_empty() || options.only.iter().any(|name| name == part.name)).collect();
    let changes = options.changed.then(|| Changes::of_working_tree(workspace)).transpose()?;
    if let Some(changes) = &changes {
        println!("{}", changes.describe());
    }
    let scope = Scope { workspace, changes };
    let (mut lines, mut passed, mut failed) = (Vec::new(), 0, 0);
    let mut is_gate = chosen.iter().any(|part| part.name == GATE_END);
    let mut may_go_on = true;
    for part in &chosen {
        if !may_go_on && !is_gate && !options.keep_going {
            lines.push(format!("not run {}", part.name));
            continue;
        }
        println!("──── {}", part.name);
        let stopwatch = Stopwatch::start();
        let outcome = (part.perform)(&scope);
        may_go_on &= outcome.error.is_none() || !part.is_required;
        is_gate &= part.name != GATE_END;
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
    if scope.changes.as_ref().is_some_and(|changes| !changes.touch(&["web/", "crates/report/", "crates/cli/src/"])) {
        return PartOutcome::unaffected();
    }
    let mut tests = TestCounts::default();
    let result = web::test(scope.workspace, |line| {
        println!("{line}");
        tests.read_vitest(line);
    });
    PartOutcome::of_tests(result, tests)
}
