//! What a run said of itself.

use anyhow::{Context, Result};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SelfVerdict {
    /// `valid`, `suspect`, `invalid`, or `refused`: it said beforehand that it could not make the load.
    pub(super) grade: String,
    /// Checks that were worse than valid.
    pub(super) checks: Vec<String>,
}

impl SelfVerdict {
    pub(super) fn read(summary: &Value) -> Result<Self> {
        let validity = &summary["verdict"]["validity"];
        let checks = validity["checks"].as_array().context("no checks in the summary")?;
        let spoke = checks.iter().filter(|check| check["grade"].as_str().is_some_and(|grade| grade != "valid"));
        Ok(Self {
            grade: validity["grade"].as_str().context("no grade in the summary")?.to_owned(),
            checks: spoke.filter_map(|check| Some(check["id"].as_str()?.to_owned())).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_said_is_read() {
        let summary = serde_json::json!({ "verdict": { "validity": { "grade": "suspect", "checks": [
            { "id": "stalls", "grade": "suspect" }, { "id": "series", "grade": "valid" }, { "id": "samples", "grade": null } ] } } });
        assert_eq!(SelfVerdict::read(&summary).unwrap(), SelfVerdict { grade: "suspect".to_owned(), checks: vec!["stalls".to_owned()] });
    }
}
