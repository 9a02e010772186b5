//! What Loadstone said of one run, as a line of the results; only what was said is kept, so that it can be judged again.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// One run: where, under what, and what was said of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Said {
    /// `node/row-lock/plain/ramp/all/1`
    pub(super) cell: String,
    /// Most important first.
    pub(super) findings: Vec<SaidFinding>,
    pub(super) remark: String,
    /// `valid`, `suspect` or `invalid`
    pub(super) grade: String,
    /// Its folder among the kept runs.
    pub(super) run: String,
    pub(super) date: String,
    pub(super) commit: String,
    /// Share of the machine that others used before the system was started.
    pub(super) busy: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SaidFinding {
    pub(super) rule: String,
    pub(super) confidence: String,
    pub(super) claim: String,
}

impl Said {
    /// From `summary.json`.
    pub(super) fn of(cell: &str, summary: &Value, date: &str, commit: &str) -> Self {
        let verdict = &summary["verdict"];
        let findings = verdict["findings"]["findings"].as_array().into_iter().flatten();
        Self {
            cell: cell.to_owned(),
            findings: findings.map(SaidFinding::of).collect(),
            remark: text(&verdict["findings"]["remark"]),
            grade: text(&verdict["validity"]["grade"]),
            run: text(&summary["id"]),
            date: date.to_owned(),
            commit: commit.to_owned(),
            busy: 0.0,
        }
    }

    fn from_line(line: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(line)?;
        let findings = value["findings"].as_array().into_iter().flatten();
        Ok(Self {
            cell: text(&value["cell"]),
            findings: findings.map(SaidFinding::of).collect(),
            remark: text(&value["remark"]),
            grade: text(&value["grade"]),
            run: text(&value["run"]),
            date: text(&value["date"]),
            commit: text(&value["commit"]),
            busy: value["busy"].as_f64().unwrap_or_default(),
        })
    }

    fn line(&self) -> String {
        let finding = |finding: &SaidFinding| json!({ "rule": finding.rule, "confidence": finding.confidence, "claim": finding.claim });
        let value = json!({
            "cell": self.cell,
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "remark": self.remark,
            "grade": self.grade,
            "run": self.run,
            "date": self.date,
            "commit": self.commit,
            "busy": self.busy,
        });
        format!("{value}\n")
    }

    /// The first sentence that a reader sees.
    pub(super) fn first(&self) -> &str {
        self.findings.first().map_or(&self.remark, |finding| &finding.claim)
    }
}

impl SaidFinding {
    fn of(value: &Value) -> Self {
        Self { rule: text(&value["rule"]), confidence: text(&value["confidence"]), claim: text(&value["claim"]) }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The results so far; of a cell that was run twice, the later. A last line that was cut off is dropped.
pub(super) fn read(file: &Path) -> Result<Vec<Said>> {
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let mut all: Vec<Said> = Vec::new();
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    for said in text.lines().filter_map(|line| Said::from_line(line).ok()) {
        all.retain(|earlier| earlier.cell != said.cell);
        all.push(said);
    }
    Ok(all)
}

pub(super) fn append(file: &Path, said: &Said) -> Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(file).with_context(|| format!("opening {}", file.display()))?;
    Ok(file.write_all(said.line().as_bytes())?)
}

/// Writes all of them anew.
pub(super) fn write(file: &Path, all: &[Said]) -> Result<()> {
    let mut out = File::create(file).with_context(|| format!("creating {}", file.display()))?;
    Ok(out.write_all(all.iter().map(Said::line).collect::<String>().as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_what_was_said_and_a_cut_one_is_dropped() {
        let summary = json!({ "id": "r1", "verdict": { "validity": { "grade": "valid" }, "findings": { "remark": "",
            "findings": [{ "rule": "lock", "confidence": "high", "claim": "Calls go out 1 at a time" }] } } });
        let said = Said::of("node/row-lock/plain/ramp/all/1", &summary, "2026-11-22", "abc");
        assert_eq!(said.first(), "Calls go out 1 at a time");
        let file = std::env::temp_dir().join(format!("loadstone-said-{}", std::process::id()));
        let cut: String = said.line().chars().take(40).collect();
        fs::write(&file, said.line() + &said.line() + &cut).unwrap();
        let read = read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert_eq!(read, [said]);
    }
}
