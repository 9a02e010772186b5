//! `cargo xtask nightly`: what is too long for the check, in at most an hour. More seeds, fuzzing, a slice of the benchmark of diagnosis, two labs, the
//! tests of the package `trials`, and those of crates/k6 with AddressSanitizer.
//!
//! [`RESULTS`] is a table of each part's last result, with the commit and the date. It is written as soon as a part ends. The next call for the same commit
//! runs the parts that did not run or did not pass. Some parts run only by name (`--only aarch64`).

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use checkout::{Workspace, machine, process};
use clap::Args;

use crate::cargo_tools;
use crate::check::build;

const RESULTS: &str = "bench/results/nightly.md";
const INTRODUCTION: &str = "# Nightly runs\n\nThe last result of each part of `cargo xtask nightly`.\n\n\
    | part | commit | date | minutes | result |\n|---|---|---|---|---|\n";

#[derive(Args)]
pub(crate) struct NightlyOptions {
    /// Run only these parts.
    #[arg(long = "only", value_name = "PART")]
    only: Vec<String>,
    /// Run all parts, even those that passed for this commit.
    #[arg(long)]
    again: bool,
}

/// A case of each kind: the system as found, the loads that it can and cannot carry, and what helps.
const PAYMENT_CASES: &[&str] =
    &["--only", "as found", "--only", "group commit", "--only", "binlog off", "--only", "one transaction", "--only", "healthy"];

struct NightlyPart {
    name: &'static str,
    /// The part is ended, and has failed, after this time. All parts that run by default together: an hour.
    limit_minutes: u32,
    /// Not one of those that run by default: it takes a separate toolchain or a long time.
    by_name_only: bool,
    perform: fn(&Workspace, &NightlyPart) -> Result<()>,
}

/// The parts that judge the timing of real processes run first, while nothing that an earlier part left warm or running can disturb them.
const PARTS: &[NightlyPart] = &[
    NightlyPart::of("diagnose", 6, |workspace, part| part.xtask(workspace, &["diagnose", "--slice"])),
    NightlyPart::of("webhooks", 10, |workspace, part| part.xtask(workspace, &["lab", "webhooks"])),
    NightlyPart::of("payments", 6, |workspace, part| part.xtask(workspace, &[&["lab", "payments"] as &[&str], PAYMENT_CASES].concat())),
    NightlyPart::of("trials", 6, trials),
    NightlyPart::of("long-tests", 10, long_tests),
    NightlyPart::of("fleet-sim", 5, |workspace, part| part.xtask(workspace, &["fleet-sim", "--seeds", "2000"])),
    NightlyPart::of("fuzz", 9, |workspace, part| part.xtask(workspace, &["fuzz", "--seconds", "12"])),
    NightlyPart::of("asan", 8, |workspace, part| part.xtask(workspace, &["asan"])),
    NightlyPart::of("aarch64", 30, |workspace, part| part.xtask(workspace, &["aarch64"])).by_name_only(),
    NightlyPart::of("macos", 40, |workspace, part| part.xtask(workspace, &["macos"])).by_name_only(),
    NightlyPart::of("k6-soak", 30, |workspace, part| part.xtask(workspace, &["soak", "--k6", "--minutes", "12"])).by_name_only(),
];

/// A row of the table.
#[derive(Debug, PartialEq)]
struct PartResult {
    name: String,
    commit: String,
    date: String,
    minutes: String,
    /// `passed`, or why it failed.
    outcome: String,
}

pub(crate) fn nightly(workspace: &Workspace, options: &NightlyOptions) -> Result<()> {
    if let Some(unknown) = options.only.iter().find(|name| !PARTS.iter().any(|part| part.name == *name)) {
        bail!("there is no part `{unknown}`; the parts are {}", PARTS.iter().map(|part| part.name).collect::<Vec<_>>().join(", "));
    }
    let commit = commit(workspace)?;
    let page = workspace.root.join(RESULTS);
    let mut results = read(&page);
    for part in PARTS {
        let is_chosen = if options.only.is_empty() {
            !part.by_name_only
                && (options.again
                    || !results.iter().any(|result| result.name == part.name && result.commit == commit && result.has_passed()))
        } else {
            options.only.iter().any(|name| name == part.name)
        };
        if !is_chosen {
            continue;
        }
        println!("──── {} (at most {} min)", part.name, part.limit_minutes);
        let start = SystemTime::now();
        let outcome =
            (part.perform)(workspace, part).map_or_else(|error| format!("{error:#}").replace('\n', " "), |()| "passed".to_owned());
        results.retain(|result| result.name != part.name);
        results.push(PartResult {
            name: part.name.to_owned(),
            commit: commit.clone(),
            date: machine::today()?,
            minutes: format!("{:.1}", start.elapsed().unwrap_or_default().as_secs_f64() / 60.0),
            outcome: outcome.replace('|', "/"),
        });
        fs::write(&page, table(&results)).with_context(|| format!("writing {}", page.display()))?;
    }
    print!("\n{}", table(&results));
    let failed = results.iter().filter(|result| !result.has_passed()).count();
    println!("{} passed, {failed} failed", results.len() - failed);
    if failed > 0 {
        bail!("{failed} parts failed");
    }
    Ok(())
}

impl PartResult {
    fn has_passed(&self) -> bool {
        self.outcome == "passed"
    }
}

impl NightlyPart {
    const fn of(name: &'static str, limit_minutes: u32, perform: fn(&Workspace, &NightlyPart) -> Result<()>) -> Self {
        Self { name, limit_minutes, by_name_only: false, perform }
    }

    const fn by_name_only(self) -> Self {
        Self { by_name_only: true, ..self }
    }

    /// Runs a command, and ends it with all that it started after the part's limit.
    fn run(&self, workspace: &Workspace, command: &Command) -> Result<()> {
        let mut limited = workspace.command("timeout");
        limited.arg("--kill-after=30").arg(format!("{}m", self.limit_minutes)).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            value.map(|value| limited.env(name, value));
        }
        process::run(&mut limited)
    }

    fn xtask(&self, workspace: &Workspace, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new(env::current_exe().context("the path of this program")?);
        command.args(arguments);
        self.run(workspace, &command)
    }
}

/// Lints and tests the package that the check leaves out.
fn trials(workspace: &Workspace, part: &NightlyPart) -> Result<()> {
    const PACKAGE: &[&str] = &["--package", "trials", "--locked"];
    build::compile(workspace, PACKAGE)?;
    let mut command = Command::new("cargo");
    command.arg("test").args(PACKAGE);
    part.run(workspace, build::through_clippy(&mut command))
}

/// Tests that draw many seeds when `LOADSTONE_LONG_TESTS` is set, where the check draws few.
fn long_tests(workspace: &Workspace, part: &NightlyPart) -> Result<()> {
    build::compile(workspace, build::TARGETS)?;
    let mut command = Command::new(cargo_tools::path(workspace, "cargo-nextest")?);
    command.args(["nextest", "run", "--no-fail-fast", "--profile", "nightly"]).args(build::TARGETS).env("LOADSTONE_LONG_TESTS", "1");
    part.run(workspace, build::through_clippy(&mut command))
}

/// `a1b2c3d4`, or `a1b2c3d4-changed` where the working tree differs from the commit.
fn commit(workspace: &Workspace) -> Result<String> {
    let commit = process::output(workspace.command("git").args(["rev-parse", "--short=8", "HEAD"]))?;
    let changes =
        process::output(workspace.command("git").args(["status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results"]))?;
    Ok(format!("{}{}", commit.trim(), if changes.trim().is_empty() { "" } else { "-changed" }))
}

/// The rows of an earlier table, and none if there is no table.
fn read(page: &Path) -> Vec<PartResult> {
    let text = fs::read_to_string(page).unwrap_or_default();
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").map(str::to_owned);
        let mut cell = || cells.next();
        Some(PartResult { name: cell()?, commit: cell()?, date: cell()?, minutes: cell()?, outcome: cell()? })
    };
    text.lines().filter_map(row).filter(|result| PARTS.iter().any(|part| part.name == result.name)).collect()
}

/// The page, with the parts in their order.
fn table(results: &[PartResult]) -> String {
    let mut table = INTRODUCTION.to_owned();
    for part in PARTS {
        if let Some(PartResult { name, commit, date, minutes, outcome }) = results.iter().find(|result| result.name == part.name) {
            // Formatting into a string cannot fail.
            let _ok = writeln!(table, "| {name} | {commit} | {date} | {minutes} | {outcome} |");
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_together_take_an_hour_at_most() {
        assert!(PARTS.iter().filter(|part| !part.by_name_only).map(|part| part.limit_minutes).sum::<u32>() <= 60);
    }

    #[test]
    fn the_table_is_read_as_it_was_written_in_the_order_of_the_parts() {
        let page = env::temp_dir().join(format!("loadstone-nightly-{}.md", std::process::id()));
        assert!(read(&page).is_empty());
        let row = |name: &str, outcome: &str| PartResult {
            name: name.to_owned(),
            commit: "a1b2c3d4".to_owned(),
            date: "2026-01-31".to_owned(),
            minutes: "1.5".to_owned(),
            outcome: outcome.to_owned(),
        };
        fs::write(&page, table(&[row("fuzz", "passed"), row("webhooks", "ended early")])).unwrap();
        let read = read(&page);
        fs::remove_file(&page).unwrap();
        assert_eq!(read, [row("webhooks", "ended early"), row("fuzz", "passed")]);
    }
}
