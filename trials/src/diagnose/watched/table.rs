//! The results as a table, and its place in bench/results/watch-findings.md.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};
use checkout::{Workspace, machine};

use super::super::judging::{Cell, CellConclusion, Rating};

const FILE: &str = "bench/results/watch-findings.md";
/// Written by hand. What follows stays as it is.
const REMARKS: &str = "\n## Remarks\n";
const INTRODUCTION: &str = "# The load of other tools: does it show the same cause?

`cargo xtask watch-findings --write` writes this page. Each tool sends the visits of [the benchmark of diagnosis](../../labs/diagnose/README.md) to a system
with a planted fault, or to its healthy twin, and `loadstone watch` reads its record. The same system is then observed under Loadstone's own load of the same
kind.

*Measurements*: the validity of the tool's run and of Loadstone's. *Same*: the first finding about the system has the same rule, or neither run has one.
*Cause*: as `cargo xtask diagnose` judges it.

k6, Gatling and nginx (whose access log is the record of Loadstone's requests) have a ramp of 2 to 40 visits/s. JMeter and Locust have 1 to 40 users. vegeta
has a constant rate. Each run has 24 s of load.
";
/// Findings about the load generator say nothing about the system.
const GENERATOR: &str = "generator";

/// A run of a tool next to one of Loadstone.
pub(super) struct ToolRun {
    tool: &'static str,
    system: String,
    is_healthy: bool,
    own: FirstFinding,
    watched: FirstFinding,
    rating: Rating,
    /// Of the tool's measurement and of Loadstone's.
    grades: String,
}

/// The first finding about the system. Without one: no rule, and the remark.
struct FirstFinding {
    rule: Option<String>,
    text: String,
}

impl FirstFinding {
    fn of(conclusion: &CellConclusion) -> Self {
        match conclusion.findings.iter().find(|finding| finding.rule != GENERATOR) {
            Some(finding) => Self { rule: Some(finding.rule.clone()), text: finding.claim.clone() },
            None => Self { rule: None, text: conclusion.remark.clone() },
        }
    }

    fn shown(&self) -> String {
        let short: String = self.text.chars().take(110).collect();
        let ellipsis = if short.len() < self.text.len() { "…" } else { "" };
        format!(
            "{}{}{ellipsis}",
            self.rule.as_ref().map_or_else(|| "no finding: ".to_owned(), |rule| format!("`{rule}`: ")),
            short.replace('|', "/")
        )
    }
}

impl ToolRun {
    pub(super) fn new(tool: &'static str, cell: &Cell, (own, watched): (&CellConclusion, &CellConclusion), rating: Rating) -> Self {
        Self {
            tool,
            system: format!("{}, {}", cell.stack, cell.fault),
            is_healthy: cell.is_healthy(),
            own: FirstFinding::of(own),
            watched: FirstFinding::of(watched),
            rating,
            grades: format!("{}, {}", watched.grade, own.grade),
        }
    }

    fn is_same(&self) -> bool {
        self.own.rule == self.watched.rule
    }
}

pub(super) fn text(runs: &[ToolRun], missing: &[&str]) -> String {
    let mut out = String::from(
        "| tool | system | measurements | first finding of the tool's run | Loadstone's own run | same | cause |\n|---|---|---|---|---|---|---|\n",
    );
    for run in runs {
        let same = if run.is_same() { "yes" } else { "no" };
        let cells = [run.tool, &run.system, &run.grades, &run.watched.shown(), &run.own.shown(), same, run.rating.name()].join(" | ");
        let _ = writeln!(out, "| {cells} |");
    }
    let same = runs.iter().filter(|run| run.is_same()).count();
    let right = runs.iter().filter(|run| run.rating == Rating::Right).count();
    let accused = runs.iter().filter(|run| run.is_healthy && run.watched.rule.is_some()).count();
    let healthy = runs.iter().filter(|run| run.is_healthy).count();
    let _ = writeln!(
        out,
        "\nThe same first finding in {same} of {} runs. The planted cause came first, or a healthy system was not accused, in {right}. {accused} of {healthy} \
         healthy runs were accused.",
        runs.len()
    );
    if !missing.is_empty() {
        let _ = writeln!(out, "\nNot installed, and not run: {}.", missing.join(", "));
    }
    out
}

/// Writes the page, and keeps its remarks.
pub(super) fn write(workspace: &Workspace, table: &str) -> Result<()> {
    let file = workspace.root.join(FILE);
    let remarks = fs::read_to_string(&file).unwrap_or_default();
    let remarks = remarks.find(REMARKS).map_or("", |at| &remarks[at..]);
    let text = format!("{INTRODUCTION}\n{} {}\n\n{table}{remarks}", machine::today()?, machine::facts()?);
    fs::write(file, text).with_context(|| format!("writing {FILE}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conclusion(rules: &[&str]) -> CellConclusion {
        let findings: Vec<_> = rules.iter().map(|rule| json!({ "rule": rule, "claim": "a | b" })).collect();
        let summary = json!({ "verdict": { "findings": { "findings": findings, "remark": { "text": "nothing" } }, "validity": { "grade": "valid" } } });
        CellConclusion::of("k6 node/healthy/plain/ramp/all/1", &summary, "", "")
    }

    #[test]
    fn runs_are_the_same_by_their_first_finding_about_the_system() {
        let cell = Cell::parse("node/healthy/plain/ramp/all/1").unwrap();
        let row = |own: &[&str], watched: &[&str]| ToolRun::new("k6", &cell, (&conclusion(own), &conclusion(watched)), Rating::Right);
        assert!(row(&["lock"], &["generator", "lock", "disk"]).is_same() && row(&[], &["generator"]).is_same());
        assert!(!row(&["lock"], &["disk", "lock"]).is_same() && !row(&["lock"], &[]).is_same());
        let table = text(&[row(&[], &[]), row(&[], &["disk"])], &["Locust"]);
        assert!(table.contains("The same first finding in 1 of 2 runs.") && table.contains("1 of 2 healthy runs were accused."), "{table}");
        assert!(table.contains("`disk`: a / b") && table.contains("Not installed, and not run: Locust."), "{table}");
    }
}
