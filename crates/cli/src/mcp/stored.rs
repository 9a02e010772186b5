//! A finished run for a model: few numbers, each with its interval, and the names to ask further with.

use std::path::{Path, PathBuf};

use loadstone_analysis::{Finding, FindingProof, Grade, RequestRow, Summary, ThresholdState, TimeStats};
use loadstone_mcp::ToolError;
use loadstone_run_directory::{Reader, Run};
use serde_json::{Value, json};

use crate::experiment;
use crate::flags;

/// Requests in a verdict, those with the most response time first.
const REQUESTS_MAX: usize = 20;
const ERRORS_MAX: usize = 10;
/// Percentiles of a verdict.
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// A run with its conclusions, computed again.
pub(super) struct JudgedRun {
    pub(super) directory: PathBuf,
    pub(super) run: Run,
    pub(super) summary: Summary,
}

impl JudgedRun {
    /// `asked`: as for `loadstone show`, in the folder of runs.
    pub(super) fn read(runs: &Path, asked: &str) -> Result<Self, ToolError> {
        // A path could name a folder of any other program.
        if asked.contains('/') && !asked.starts_with("experiments/") || asked.contains("..") {
            return Err(ToolError(format!("\"{asked}\" is not the id of a run: use an id, `latest`, `last` or `latest~1`")));
        }
        Self::of(&flags::find(runs, asked).map_err(ToolError::of)?)
    }

    pub(super) fn of(directory: &Path) -> Result<Self, ToolError> {
        let mut run = Reader::open(directory).and_then(Reader::run).map_err(ToolError::of)?;
        let proofs = experiment::proofs(directory).map_err(|problem| ToolError(format!("{problem:#}")))?;
        let summary = Summary { proofs, ..loadstone_analysis::conclude_in_place(&mut run) };
        Ok(Self { directory: directory.to_owned(), run, summary })
    }

    /// The verdict as data.
    pub(super) fn verdict(&self) -> Value {
        let Summary { verdict, totals, response, errors, .. } = &self.summary;
        let mut requests: Vec<&RequestRow> = self.summary.requests.iter().collect();
        let share = |row: &RequestRow| row.response.mean.unwrap_or(0.0) * row.count as f64;
        requests.sort_by(|a, b| share(b).total_cmp(&share(a)));
        let checks = verdict.validity.checks.iter().filter(|check| check.grade.is_some_and(|grade| grade != Grade::Valid));
        let thresholds = verdict
            .thresholds
            .iter()
            .map(|result| json!({ "objective": result.threshold.label, "state": result.state, "detail": result.detail }));
        let findings = verdict.findings.findings.iter().enumerate().map(|(index, finding)| {
            json!({
                "number": index + 1,
                "rule": finding.rule,
                "subject": finding.subject,
                "claim": finding.claim,
                "confidence": finding.confidence,
                "proof": self.proof(finding),
            })
        });
        json!({
            "run": self.summary.id,
            "test": self.summary.test,
            "started": self.summary.started,
            "ended": self.run.end,
            "validity": {
                "grade": verdict.validity.grade,
                "problems": checks.map(|check| json!({ "title": check.title, "evidence": check.evidence, "advice": check.advice })).collect::<Vec<_>>(),
            },
            "thresholds": thresholds.collect::<Vec<_>>(),
            "thresholds_failed": verdict.thresholds.iter().any(|result| result.state == ThresholdState::Failed),
            "findings": findings.collect::<Vec<_>>(),
            "remark": verdict.findings.remark,
            "duration_seconds": totals.duration_seconds,
            "requests_total": totals.requests,
            "requests_failed": totals.requests_failed,
            "response_seconds": times(response),
            "requests": requests.iter().take(REQUESTS_MAX).map(|row| request(row)).collect::<Vec<_>>(),
            "errors": errors.iter().take(ERRORS_MAX).collect::<Vec<_>>(),
        })
    }

    /// What experiments showed about a finding.
    pub(super) fn proof(&self, finding: &Finding) -> Vec<&FindingProof> {
        self.summary.proofs.iter().filter(|proof| proof.is_about(finding)).collect()
    }
}

/// A request as data.
pub(super) fn request(row: &RequestRow) -> Value {
    json!({
        "name": row.key.name,
        "scenario": row.key.scenario,
        "count": row.count,
        "failed": row.failed,
        "per_second": row.rate,
        "response_seconds": times(&row.response),
        "statuses": row.statuses,
    })
}

/// Times in seconds, with the 95 % intervals that are known.
fn times(stats: &TimeStats) -> Value {
    let listed =
        stats.percentiles.iter().filter(|percentile| QUANTILES.iter().any(|quantile| (quantile - percentile.quantile).abs() < 1e-9));
    json!({ "count": stats.count, "mean": stats.mean, "max": stats.max, "percentiles": listed.collect::<Vec<_>>() })
}
