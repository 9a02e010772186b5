//! Results of runs, as lines of JSON, and their table.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::fault_run::FaultRun;
use super::rating::{self, FaultAnswer};
use crate::lab::conclusion::Concluded;
use crate::lab::figures;

/// The result of one run: which fault, and the first finding.
pub(crate) fn of<Fault>(run: &FaultRun<'_, Fault>, (name, load): (&str, &str), concluded: &Concluded) -> Value {
    let findings = concluded.summary["verdict"]["findings"]["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let first = findings.iter().find(|finding| finding["rule"] != "generator").cloned().unwrap_or_default();
    let sentences: Vec<&Value> = first["evidence"].as_array().into_iter().flatten().map(|evidence| &evidence["text"]).collect();
    json!({
        "fault": name,
        "load": load,
        "onset": run.onset(),
        "twin": run.is_twin,
        "run": concluded.id(),
        "grade": concluded.grade(),
        "failed": concluded.summary["totals"]["failure_share"],
        "requests": concluded.summary["totals"]["requests"],
        "rule": first["rule"],
        "claim": first["claim"],
        "confidence": first["confidence"],
        "evidence": sentences,
        "remark": concluded.summary["verdict"]["findings"]["remark"],
    })
}

pub(crate) fn append(results: &Path, result: &Value) -> Result<()> {
    let mut file = File::options().create(true).append(true).open(results).with_context(|| format!("opening {}", results.display()))?;
    writeln!(file, "{result}").with_context(|| format!("writing {}", results.display()))
}

pub(crate) fn read(results: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(results).with_context(|| format!("reading {}", results.display()))?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("a line of {}", results.display()))).collect()
}

/// A row for each run, faulty ones rated by the answers. A run without a fault must have no finding. `answer` finds a fault's answer by its name and load.
pub(crate) fn table(results: &[Value], answer: impl Fn(&str, &str) -> Option<&'static FaultAnswer>) -> String {
    let head = ["fault", "load", "on", "measurement", "failed", "first finding", "confidence", "score", "run"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(results.iter().map(|result| row(result, &answer)));
    figures::table(&rows)
}

fn row(result: &Value, answer: impl Fn(&str, &str) -> Option<&'static FaultAnswer>) -> Vec<String> {
    let text = |name: &str| result[name].as_str().unwrap_or("–").to_owned();
    let (fault, load) = (text("fault"), text("load"));
    let score = score(result, answer(&fault, &load));
    vec![
        fault,
        load,
        if result["twin"] == true { "never".to_owned() } else { text("onset") },
        text("grade"),
        format!("{:.1} %", result["failed"].as_f64().unwrap_or_default() * 100.0),
        text("claim"),
        text("confidence"),
        score.to_owned(),
        text("run"),
    ]
}

fn score(result: &Value, answer: Option<&FaultAnswer>) -> &'static str {
    let claim = result["claim"].as_str();
    if result["twin"] == true {
        return if claim.is_some() { "ACCUSED" } else { "quiet" };
    }
    answer.map_or("unknown fault", |answer| rating::rate(answer, claim, &result["evidence"].to_string()).name())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: FaultAnswer = FaultAnswer { places: &["ad"], causes: &["cpu"], symptoms: &[] };

    #[test]
    fn a_finding_in_a_run_without_fault_accuses_a_healthy_system() {
        assert_eq!(score(&json!({ "twin": true, "claim": "\"ad\" uses all CPU" }), Some(&ANSWER)), "ACCUSED");
        assert_eq!(score(&json!({ "twin": true, "claim": null }), Some(&ANSWER)), "quiet");
        assert_eq!(score(&json!({ "twin": false, "claim": "\"ad\" uses all CPU", "evidence": [] }), Some(&ANSWER)), "right");
        assert_eq!(score(&json!({ "twin": false, "claim": "\"ad\" uses all CPU", "evidence": [] }), None), "unknown fault");
    }
}
