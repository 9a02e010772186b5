//! `cargo xtask nightly`: what is too long for the check, in at most an hour. More seeds, fuzzing, a slice of the benchmark of diagnosis, two labs, and the
//! tests of the package `trials`.
//!
//! Each part's result is kept in the target folder as soon as it is known. The next call for the same commit runs the parts that did not run or did not
//! pass. Once all parts have run, their table is in [`RESULTS`].

use std::env;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use checkout::{Workspace, machine, process};
use clap::Args;

use crate::cargo_tools;
use crate::check::build;

const RESULTS: &str = "bench/results/nightly.md";
const INTRODUCTION: &str = "# Nightly runs\n\nWritten by `cargo xtask nightly`, the latest run first.\n";

#[derive(Args)]
pub(crate) struct NightlyOptions {
    /// Run only these parts.
    #[arg(long = "only", value_name = "PART")]
    only: Vec<String>,
    /// Forget the results of earlier calls for this commit.
    #[arg(long)]
    again: bool,
}

/// A case of each kind: the system as found, the loads that it can and cannot carry, and what helps.
const PAYMENT_CASES: &[&str] =
    &["--only", "as found", "--only", "group commit", "--only", "binlog off", "--only", "one transaction", "--only", "healthy"];

struct NightlyPart {
    name: &'static str,
    /// The part is ended, and has failed, after this time. All parts together: an hour.
    limit_minutes: u32,
    perform: fn(&Workspace, &NightlyPart) -> Result<()>,
}

/// The parts that judge the timing of real processes run first, while nothing that an earlier part left warm or running can disturb them.
const PARTS: &[NightlyPart] = &[
    NightlyPart { name: "diagnose", limit_minutes: 6, perform: |workspace, part| part.xtask(workspace, &["diagnose", "--slice"]) },
    NightlyPart { name: "webhooks", limit_minutes: 10, perform: |workspace, part| part.xtask(workspace, &["lab", "webhooks"]) },
    NightlyPart {
        name: "payments",
        limit_minutes: 6,
        perform: |workspace, part| part.xtask(workspace, &[&["lab", "payments"] as &[&str], PAYMENT_CASES].concat()),
    },
    NightlyPart { name: "trials", limit_minutes: 6, perform: trials },
    NightlyPart { name: "long-tests", limit_minutes: 12, perform: long_tests },
    NightlyPart {
        name: "fleet-sim",
        limit_minutes: 6,
        perform: |workspace, part| part.xtask(workspace, &["fleet-sim", "--seeds", "2000"]),
    },
    NightlyPart { name: "fuzz", limit_minutes: 14, perform: |workspace, part| part.xtask(workspace, &["fuzz", "--minutes", "1"]) },
];

/// The result of a part, as a line of the file that an interrupted run leaves.
struct PartResult {
    name: String,
    seconds: u64,
    /// `passed`, or why it failed.
    outcome: String,
}

pub(crate) fn nightly(workspace: &Workspace, options: &NightlyOptions) -> Result<()> {
    if let Some(unknown) = options.only.iter().find(|name| !PARTS.iter().any(|part| part.name == *name)) {
        bail!("there is no part `{unknown}`; the parts are {}", PARTS.iter().map(|part| part.name).collect::<Vec<_>>().join(", "));
    }
    let commit = commit(workspace)?;
    let state = workspace.target.join("nightly").join(format!("{commit}.txt"));
    if options.again {
        fs::remove_file(&state).ok();
    }
    let mut results = read(&state);
    for part in PARTS {
        let is_chosen = if options.only.is_empty() {
            !results.iter().any(|result| result.name == part.name && result.has_passed())
        } else {
            options.only.iter().any(|name| name == part.name)
        };
        if !is_chosen {
            continue;
        }
        println!("──── {} (at most {} min)", part.name, part.limit_minutes);
        let start = SystemTime::now();
        let outcome =
            (part.perform)(workspace, part).map_or_else(|error| format!("{error:#}").replace(['\n', '\t'], " "), |()| "passed".to_owned());
        let result = PartResult { name: part.name.to_owned(), seconds: start.elapsed().unwrap_or_default().as_secs(), outcome };
        keep(&state, &result)?;
        results.retain(|result| result.name != part.name);
        results.push(result);
    }
    print!("\n{}", table(&results));
    let failed = results.iter().filter(|result| !result.has_passed()).count();
    if PARTS.iter().all(|part| results.iter().any(|result| result.name == part.name)) {
        add_to_results(&workspace.root.join(RESULTS), &format!("## {}, {commit}", machine::today()?), &table(&results))?;
        println!("added to {RESULTS}");
    }
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

fn read(state: &Path) -> Vec<PartResult> {
    let text = fs::read_to_string(state).unwrap_or_default();
    let result = |line: &str| {
        let mut fields = line.splitn(3, '\t');
        Some(PartResult { name: fields.next()?.to_owned(), seconds: fields.next()?.parse().ok()?, outcome: fields.next()?.to_owned() })
    };
    // The latest result of a part counts.
    let mut results: Vec<PartResult> = Vec::new();
    for result in text.lines().filter_map(result) {
        results.retain(|earlier| earlier.name != result.name);
        results.push(result);
    }
    results
}

fn keep(state: &PathBuf, result: &PartResult) -> Result<()> {
    fs::create_dir_all(state.with_file_name("")).context("creating the folder for results of an interrupted run")?;
    let mut file = OpenOptions::new().create(true).append(true).open(state).with_context(|| format!("opening {}", state.display()))?;
    Ok(writeln!(file, "{}\t{}\t{}", result.name, result.seconds, result.outcome)?)
}

fn table(results: &[PartResult]) -> String {
    let mut table = "| part | minutes | result |\n|---|---|---|\n".to_owned();
    for PartResult { name, seconds, outcome } in results {
        // Formatting into a string cannot fail.
        let _ok = writeln!(table, "| {name} | {:.1} | {} |", *seconds as f64 / 60.0, outcome.replace('|', "\\|"));
    }
    table
}

/// Inserts a section below the introduction, in place of one with the same heading.
fn add_to_results(page: &Path, heading: &str, table: &str) -> Result<()> {
    let present = fs::read_to_string(page).unwrap_or_default();
    let earlier = present.strip_prefix(INTRODUCTION).unwrap_or(&present).split("\n## ").map(|section| format!("## {section}"));
    let others: String =
        earlier.skip(1).filter(|section| section.lines().next() != Some(heading)).map(|section| format!("\n{section}")).collect();
    fs::write(page, format!("{INTRODUCTION}\n{heading}\n\n{table}{others}")).with_context(|| format!("writing {}", page.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_together_take_an_hour_at_most() {
        assert!(PARTS.iter().map(|part| part.limit_minutes).sum::<u32>() <= 60);
    }

    #[test]
    fn an_interrupted_run_continues_with_the_results_it_has() {
        let folder = env::temp_dir().join(format!("loadstone-nightly-{}", std::process::id()));
        let state = folder.join("abc.txt");
        assert!(read(&state).is_empty());
        keep(&state, &PartResult { name: "fuzz".to_owned(), seconds: 20, outcome: "crashed".to_owned() }).unwrap();
        keep(&state, &PartResult { name: "fuzz".to_owned(), seconds: 90, outcome: "passed".to_owned() }).unwrap();
        keep(&state, &PartResult { name: "webhooks".to_owned(), seconds: 30, outcome: "ended | early".to_owned() }).unwrap();
        let results = read(&state);
        fs::remove_dir_all(&folder).unwrap();
        let expected = "| part | minutes | result |\n|---|---|---|\n| fuzz | 1.5 | passed |\n| webhooks | 0.5 | ended \\| early |\n";
        assert_eq!(table(&results), expected);
    }

    #[test]
    fn the_latest_run_is_listed_first() {
        let page = env::temp_dir().join(format!("loadstone-nightly-{}.md", std::process::id()));
        for (heading, table) in [("## one", "a\n"), ("## two", "b\n"), ("## two", "c\n")] {
            add_to_results(&page, heading, table).unwrap();
        }
        let text = fs::read_to_string(&page).unwrap();
        fs::remove_file(&page).unwrap();
        assert_eq!(text, format!("{INTRODUCTION}\n## two\n\nc\n\n## one\n\na\n"));
    }
}
