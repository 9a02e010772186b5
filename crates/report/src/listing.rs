//! Lists of runs: a table for people, JSON for machines.

use loadstone_analysis::{Grade, Summary};
use loadstone_run_directory::HistoryEntry;
use serde::Serialize;

use crate::json::pretty;
use crate::terminal::{ColumnHead, Paint, Row, Style, TextCell, TextTable, grade_sign, tame};
use crate::view::RunState;
use crate::words;

/// One run in a list. Also the schema of `loadstone runs --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct RunRow {
    pub id: String,
    pub directory: String,
    pub test: String,
    /// RFC 3339.
    pub started: String,
    pub state: RunState,
    /// The numbers are `None` for a run that has not been concluded.
    pub duration_seconds: Option<f64>,
    pub requests: Option<u64>,
    /// Requests that ended per second, over the run.
    pub request_rate: Option<f64>,
    pub failed: Option<u64>,
    pub p95_seconds: Option<f64>,
    pub validity: Option<Grade>,
    pub thresholds: Option<u64>,
    pub thresholds_met: Option<u64>,
    pub tags: Vec<String>,
    /// The note that people wrote about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The claim of its first finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// Branch and commit of the sources, where they are known, and whether the sources differed from that commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    /// Name and value, secrets masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<(String, String)>,
}

impl RunRow {
    /// A row of the history. A `summary.json` that this version cannot read counts as none.
    pub fn of(entry: &HistoryEntry) -> Self {
        let summary = entry.summary.as_ref().and_then(|value| serde_json::from_value::<Summary>(value.clone()).ok());
        let summary = summary.as_ref();
        let thresholds = summary.map(|summary| &summary.verdict.thresholds);
        let met = |result: &&loadstone_analysis::ThresholdResult| result.state == loadstone_analysis::ThresholdState::Passed;
        Self {
            id: entry.info.id.clone(),
            directory: entry.directory.display().to_string(),
            test: entry.test.clone(),
            started: entry.info.started.clone(),
            state: RunState::of(entry.end.as_ref()).0,
            duration_seconds: summary.map(|summary| summary.totals.duration_seconds),
            requests: summary.map(|summary| summary.totals.requests),
            request_rate: summary.map(|summary| summary.totals.request_rate),
            failed: summary.map(|summary| summary.totals.requests_failed),
            p95_seconds: summary.and_then(|summary| summary.response.at(0.95)),
            validity: summary.map(|summary| summary.verdict.validity.grade),
            thresholds: thresholds.map(|results| results.len() as u64),
            thresholds_met: thresholds.map(|results| results.iter().filter(met).count() as u64),
            tags: entry.info.tags.clone(),
            note: entry.note.clone(),
            finding: summary.and_then(|summary| summary.verdict.findings.findings.first()).map(|first| first.claim.clone()),
            branch: entry.info.branch.clone(),
            commit: entry.info.commit.clone(),
            dirty: entry.info.dirty,
            parameters: entry.parameters.iter().map(|parameter| (parameter.name.clone(), words::parameter(parameter).to_owned())).collect(),
        }
    }
}

const HEADS: [(&str, u8, bool); 9] = [
    ("Run", 0, true),
    ("Ended", 1, true),
    ("Length", 4, false),
    ("Requests", 3, false),
    ("Failed", 5, false),
    ("p95", 2, false),
    ("Validity", 0, true),
    ("Thresholds", 0, true),
    ("Tags", 6, true),
];

/// The runs as a table.
pub fn runs_table(rows: &[RunRow], style: &Style) -> String {
    if rows.is_empty() {
        return "No runs yet.\n".to_owned();
    }
    let heads = HEADS.iter().map(|(title, keep, left)| ColumnHead { title, keep: *keep, left: *left }).collect();
    TextTable { heads, rows: rows.iter().map(|row| Row::Cells(cells(row))).collect() }.render(style)
}

/// The runs as JSON: a list, in the order of `rows`.
pub fn runs_json(rows: &[RunRow]) -> String {
    pretty(&rows)
}

fn cells(row: &RunRow) -> Vec<TextCell> {
    let (ended, ended_paint) = match row.state {
        RunState::Running => ("running", None),
        RunState::Completed => ("completed", None),
        RunState::Interrupted => ("interrupted", Some(Paint::Warning)),
        RunState::Aborted => ("aborted", Some(Paint::Bad)),
        RunState::Failed => ("failed", Some(Paint::Bad)),
        // A run that is still in progress looks the same from outside.
        RunState::Killed => ("no end", Some(Paint::Bad)),
    };
    let none = || loadstone_units::NONE.to_owned();
    let validity = row.validity.map_or_else(
        || TextCell::from(none()),
        |grade| {
            let (sign, word, paint) = grade_sign(grade);
            TextCell { text: format!("{sign} {word}"), paint: Some(paint) }
        },
    );
    let thresholds = match (row.thresholds_met, row.thresholds) {
        (Some(_), Some(0)) | (None, _) | (_, None) => TextCell::from(none()),
        (Some(met), Some(all)) if met == all => TextCell { text: format!("✓ {met} of {all}"), paint: Some(Paint::Good) },
        (Some(met), Some(all)) => TextCell { text: format!("✗ {met} of {all}"), paint: Some(Paint::Bad) },
    };
    let failed = row.failed.map_or_else(none, loadstone_units::count);
    vec![
        row.id.clone().into(),
        TextCell { text: ended.to_owned(), paint: ended_paint },
        row.duration_seconds.map_or_else(none, loadstone_units::seconds).into(),
        row.requests.map_or_else(none, loadstone_units::count).into(),
        TextCell { text: failed, paint: row.failed.filter(|failed| *failed > 0).map(|_| Paint::Bad) },
        loadstone_units::seconds_or_none(row.p95_seconds).into(),
        validity,
        thresholds,
        tame(&row.tags.join(", ")).into(),
    ]
}
