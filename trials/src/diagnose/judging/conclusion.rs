//! Loadstone's conclusions about one run, as a line of the results. The line has no judgement, so that it can be judged again.

use anyhow::Result;
use serde_json::{Value, json};

/// One run: its cell, the version, and the conclusions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CellConclusion {
    /// `node/row-lock/plain/ramp/all/1`
    pub(crate) cell: String,
    /// Most important first.
    pub(crate) findings: Vec<ConcludedFinding>,
    pub(crate) remark: String,
    /// `no_limit`, `cannot_tell`, …
    pub(crate) remark_kind: String,
    /// `valid`, `suspect` or `invalid`
    pub(crate) grade: String,
    /// Its folder among the kept runs.
    pub(crate) run: String,
    pub(crate) date: String,
    pub(crate) commit: String,
    /// Share of the machine that others used before the system was started.
    pub(crate) busy: f64,
    /// What was typed.
    pub(crate) command: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConcludedFinding {
    pub(crate) rule: String,
    pub(crate) confidence: String,
    pub(crate) claim: String,
    /// Names of its quantities.
    pub(crate) quantities: Vec<String>,
}

impl CellConclusion {
    /// From `summary.json`.
    pub(crate) fn of(cell: &str, summary: &Value, date: &str, commit: &str) -> Self {
        let verdict = &summary["verdict"];
        let findings = verdict["findings"]["findings"].as_array().into_iter().flatten();
        Self {
            cell: cell.to_owned(),
            findings: findings.map(ConcludedFinding::of).collect(),
            remark: text(&verdict["findings"]["remark"]["text"]),
            remark_kind: text(&verdict["findings"]["remark"]["kind"]),
            grade: text(&verdict["validity"]["grade"]),
            run: text(&summary["id"]),
            date: date.to_owned(),
            commit: commit.to_owned(),
            ..Self::default()
        }
    }

    pub(crate) fn from_line(line: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(line)?;
        let findings = value["findings"].as_array().into_iter().flatten();
        Ok(Self {
            cell: text(&value["cell"]),
            findings: findings.map(ConcludedFinding::of).collect(),
            remark: text(&value["remark"]),
            remark_kind: text(&value["remark_kind"]),
            grade: text(&value["grade"]),
            run: text(&value["run"]),
            date: text(&value["date"]),
            commit: text(&value["commit"]),
            busy: value["busy"].as_f64().unwrap_or_default(),
            command: text(&value["command"]),
        })
    }

    pub(crate) fn line(&self) -> String {
        let finding = |finding: &ConcludedFinding| {
            let quantities: Vec<Value> = finding.quantities.iter().map(|name| json!({ "name": name })).collect();
            json!({ "rule": finding.rule, "confidence": finding.confidence, "claim": finding.claim, "quantities": quantities })
        };
        let value = json!({
            "cell": self.cell,
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "remark": self.remark,
            "remark_kind": self.remark_kind,
            "grade": self.grade,
            "run": self.run,
            "date": self.date,
            "commit": self.commit,
            "busy": self.busy,
            "command": self.command,
        });
        format!("{value}\n")
    }

    /// The first sentence that a reader sees.
    pub(crate) fn first(&self) -> &str {
        self.findings.first().map_or(&self.remark, |finding| &finding.claim)
    }
}

impl ConcludedFinding {
    fn of(value: &Value) -> Self {
        let quantities = value["quantities"].as_array().into_iter().flatten();
        Self {
            rule: text(&value["rule"]),
            confidence: text(&value["confidence"]),
            claim: text(&value["claim"]),
            quantities: quantities.map(|quantity| text(&quantity["name"])).collect(),
        }
    }

    /// Whether it only bounds how many requests are served at a time.
    pub(super) fn is_bound(&self) -> bool {
        let has = |name: &str| self.quantities.iter().any(|quantity| quantity == name);
        has("places_max") && !has("places")
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conclusion_survives_its_line() {
        let remark = json!({ "kind": "no_limit", "text": "", "summary": "" });
        let findings =
            json!([{ "rule": "lock", "confidence": "high", "claim": "Calls go out 1 at a time", "quantities": [{ "name": "calls" }] }]);
        let verdict = json!({ "validity": { "grade": "valid" }, "findings": { "remark": remark, "findings": findings } });
        let summary = json!({ "id": "r1", "verdict": verdict });
        let conclusion = CellConclusion::of("node/row-lock/plain/ramp/all/1", &summary, "2026-11-22", "abc");
        assert_eq!(conclusion.first(), "Calls go out 1 at a time");
        assert_eq!(CellConclusion::from_line(&conclusion.line()).unwrap(), conclusion);
    }
}
