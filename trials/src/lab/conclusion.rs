//! One run against a lab, and what came out.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::usage::{self, ResourceUsage};

/// What `loadstone run --json` concluded, and what the run took.
pub(crate) struct Concluded {
    pub(crate) summary: Value,
    pub(crate) used: ResourceUsage,
}

/// Runs a load test with parameters and keeps its run in `runs`; `workers` where it is not to be one for each core. What a run that missed its
/// thresholds, or is not valid, says counts as well.
pub(crate) fn run(binary: &Path, script: &Path, runs: &Path, parameters: &[(&str, String)], workers: Option<u32>) -> Result<Concluded> {
    let mut command = Command::new(binary);
    command.arg("run").arg(script).arg("--json").arg("--quiet").arg("--runs").arg(runs);
    for (name, value) in parameters {
        command.arg("-p").arg(format!("{name}={value}"));
    }
    if let Some(workers) = workers {
        command.arg("--workers").arg(workers.to_string());
    }
    fs::create_dir_all(runs).with_context(|| format!("creating {}", runs.display()))?;
    let output = runs.join("last.json");
    let used = usage::run(command.stdout(File::create(&output)?), &[0, 3, 4])?;
    Ok(Concluded { summary: serde_json::from_slice(&fs::read(&output)?).context("what `loadstone run --json` wrote")?, used })
}

impl Concluded {
    pub(crate) fn id(&self) -> &str {
        self.summary["id"].as_str().unwrap_or_default()
    }

    /// Findings about the system, most important first: those about the generator say nothing of it.
    pub(crate) fn findings(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.summary["verdict"]["findings"]["findings"].as_array().into_iter().flatten();
        all.map(|finding| (text(&finding["rule"]), text(&finding["claim"]))).filter(|(rule, _)| *rule != "generator")
    }

    /// `valid`, `suspect` or `invalid`, as the run calls its own measurement.
    pub(crate) fn grade(&self) -> &str {
        text(&self.summary["verdict"]["validity"]["grade"])
    }

    /// Thresholds that held, of all.
    pub(crate) fn thresholds(&self) -> String {
        let results = self.summary["verdict"]["thresholds"].as_array().map(Vec::as_slice).unwrap_or_default();
        format!("{}/{}", results.iter().filter(|result| result["state"] == "passed").count(), results.len())
    }

    /// The row of that name in `requests`, `flows` or `groups`; of several, in different groups, that with the highest count.
    pub(crate) fn row(&self, list: &str, name: &str) -> Result<&Value> {
        let rows = self.summary[list].as_array().into_iter().flatten();
        rows.filter(|row| row["name"] == name)
            .max_by_key(|row| row["count"].as_u64())
            .with_context(|| format!("the run has no {name:?} among its {list}"))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_finding_about_the_generator_is_none_about_the_system() {
        let summary = json!({ "verdict": { "findings": { "findings": [
            { "rule": "generator", "claim": "The load generator limits the results" },
            { "rule": "effective-concurrency", "claim": "one at a time" },
        ] } } });
        let concluded =
            Concluded { summary, used: ResourceUsage { user_seconds: 0.0, system_seconds: 0.0, memory_peak_bytes: 0.0, exit_code: 0 } };
        assert_eq!(concluded.findings().collect::<Vec<_>>(), [("effective-concurrency", "one at a time")]);
    }
}
