//! Outputs for machines: JUnit, Markdown, summary.json, lists of runs.

use std::collections::BTreeSet;

use loadstone_analysis::{Grade, Summary};
use loadstone_report::terminal::{self, Closing, Style, TimeColumns};
use loadstone_report::{RunRow, RunState, junit, markdown, runs_json, runs_table, summary_json};
use loadstone_run_directory::{HistoryEntry, RunEnd};
use serde_json::Value;

use crate::fixtures;

#[test]
fn junit_of_a_good_run_has_no_failing_case() {
    let xml = junit(&fixtures::summary(), RunState::Completed, "");
    assert!(xml.contains("findings: Nothing limits the system at this load."), "{xml}");
    insta::assert_snapshot!(xml);
}

#[test]
fn junit_distinguishes_errors_of_the_measurement_from_failures_of_the_system() {
    let mut summary = fixtures::failed_summary();
    summary.verdict.validity = fixtures::validity(Grade::Invalid);
    summary.verdict.thresholds[1].detail = "p99 was <59.4> ms & \u{1} \"more\" ]]>".to_owned();
    let xml = junit(&summary, RunState::Aborted, "threshold failed: p99");
    assert!(
        xml.contains("errors=\"2\"") && xml.contains("failures=\"2\""),
        "one error for the abort, one for INVALID; two thresholds, and no check"
    );
    insta::assert_snapshot!(xml);
}

#[test]
fn junit_contains_only_characters_of_xml() {
    let mut summary = fixtures::failed_summary();
    let hostile: String = (0..=0xffff_u32).filter_map(char::from_u32).collect();
    summary.test.push_str(&hostile);
    summary.errors[0].message.clone_from(&hostile);
    summary.verdict.thresholds[1].detail.clone_from(&hostile);
    let xml = junit(&summary, RunState::Aborted, &hostile);
    // XML 1.0, section 2.2.
    let is_char = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let bad: Vec<char> = xml.chars().filter(|c| !is_char(*c)).collect();
    assert!(bad.is_empty(), "{bad:?}");
}

fn closing(places: &[(&'static str, String)]) -> Closing<'static> {
    Closing {
        state: RunState::Completed,
        state_detail: "",
        file: Some("tickets.load.ts"),
        places: places.to_vec().leak(),
        columns: TimeColumns::default(),
        shows_all: false,
    }
}

#[test]
fn markdown_of_a_failed_run() {
    let mut summary = fixtures::failed_summary();
    summary.verdict.validity = fixtures::validity(Grade::Suspect);
    insta::assert_snapshot!(markdown(&summary, &closing(&[("Report", "runs/tickets/report.html".to_owned())])));
}

#[test]
fn markdown_shows_foreign_text_unchanged() {
    let mut summary = fixtures::failed_summary();
    summary.errors[0].message = "a|b\n# heading <img src=x> @someone [link](http://x) `code`".to_owned();
    let text = markdown(&summary, &closing(&[]));
    let row = text.lines().find(|line| line.contains("heading")).unwrap();
    assert_eq!(row.matches('|').count() - row.matches("\\|").count(), 4, "three cells: {row}");
    assert!(!row.contains("<img") && !row.contains("@s") && row.contains("\\[link\\]") && row.contains("\\# heading"), "{row}");
}

#[test]
fn retried_requests_are_shown_next_to_failures() {
    let style = Style::plain(120);
    let shown = |summary: &Summary| {
        let texts =
            [markdown(summary, &closing(&[])), junit(summary, RunState::Completed, ""), terminal::summary(summary, &closing(&[]), &style)];
        texts.map(|text| text.contains("1,234 unprocessed requests resent"))
    };
    let mut summary = fixtures::summary();
    assert_eq!(shown(&summary), [false; 3]);
    summary.totals.retried = 1_234;
    assert_eq!(shown(&summary), [true; 3]);
}

#[test]
fn summary_json_begins_with_its_schema_and_reads_back() {
    for summary in [fixtures::summary(), fixtures::failed_summary(), fixtures::empty_summary()] {
        let text = summary_json(&summary);
        assert!(text.starts_with("{\n  \"schema\": 1,\n"));
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    }
}

const SUMMARY_JSON: &str = include_str!("../../../../docs/summary-json.md");
const OUTPUTS: &str = include_str!("../../../../docs/outputs.md");

/// Names in the first column of the table below a heading of a document.
fn documented(document: &str, heading: &str) -> BTreeSet<String> {
    let (_, rest) = document.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    let section = rest.split("\n## ").next().unwrap_or_default();
    section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).map(str::to_owned).collect()
}

#[test]
fn every_field_of_summary_json_is_documented_and_no_other() {
    let mut summary = fixtures::failed_summary();
    (summary.response.mean_uncertainty, summary.response.max_uncertainty, summary.response.percentiles[0].uncertainty) =
        (Some(0.1), Some(0.1), Some(0.1));
    (summary.requests[0].rate_uncertainty, summary.requests[0].failed_uncertainty) = (Some(0.1), Some(1));
    summary.verdict.findings.remark =
        loadstone_analysis::Remark::cannot_tell(loadstone_analysis::MissingKnowledge::VariedLoad, "the load was constant", "Ramp it.");
    summary.metrics = vec![fixtures::metric_row()];
    summary.tagged =
        vec![loadstone_analysis::TaggedRow { tags: loadstone_metrics::Tags::new([("type", "static")]), row: summary.requests[0].clone() }];
    summary.spans = vec![crate::spans::request(Some(1.0))];
    let stack = vec!["handle".to_owned(), "login".to_owned()];
    let stack = loadstone_analysis::ProfiledStack { stack, seconds: 0.002, free_seconds: Some(0.001), held_seconds: Some(0.003) };
    summary.profiles = vec![loadstone_analysis::RuntimeProfile {
        observer: "node:8080".to_owned(),
        stacks: vec![stack],
        samples_each: 0.0,
        free_samples_each: Some(0.0),
        held_samples_each: Some(0.0),
    }];
    summary.proofs = vec![loadstone_analysis::FindingProof {
        rule: loadstone_analysis::RuleId::new("connection-pool"),
        subject: loadstone_analysis::Subject::Whole,
        claim: "\"Buy\" waits for a connection".to_owned(),
        state: loadstone_analysis::ProofState::Proved,
        knob: "pool".to_owned(),
        because: String::new(),
        experiment: String::new(),
    }];
    let value: Value = serde_json::from_str(&summary_json(&summary)).unwrap();
    let at = |pointer: &str| value.pointer(pointer).unwrap_or_else(|| panic!("nothing at {pointer}"));
    for (heading, pointer) in [
        ("The file", ""),
        ("Totals", "/totals"),
        ("Times", "/response"),
        ("Percentiles", "/response/percentiles/0"),
        ("Requests, groups, scenarios", "/requests/0"),
        ("Flows", "/flows/0"),
        ("Stages", "/flows/0/stages/0"),
        ("Drain", "/flows/0/drain"),
        ("Checks", "/checks/0"),
        ("Metrics", "/metrics/0"),
        ("Errors", "/errors/1"),
        ("Signals", "/signals/0"),
        ("Changes", "/changes/0"),
        ("Spans", "/spans/0"),
        ("A span", "/spans/0/spans/0"),
        ("Profiles", "/profiles/0"),
        ("A stack", "/profiles/0/stacks/0"),
        ("Verdict", "/verdict"),
        ("Validity", "/verdict/validity"),
        ("Validity checks", "/verdict/validity/checks/0"),
        ("Thresholds", "/verdict/thresholds/0"),
        ("Threshold as asked", "/verdict/thresholds/0/threshold"),
        ("Findings", "/verdict/findings"),
        ("A finding", "/verdict/findings/findings/0"),
        ("Quantities", "/verdict/findings/findings/0/quantities/0"),
        ("Alternatives", "/verdict/findings/findings/0/alternatives/0"),
        ("Evidence", "/verdict/findings/findings/0/evidence/0"),
        ("Evidence lines", "/verdict/findings/findings/0/evidence/0/lines/0"),
        ("Remark", "/verdict/findings/remark"),
    ] {
        let mut fields: BTreeSet<String> = at(pointer).as_object().unwrap().keys().cloned().collect();
        if fields.contains("kind") && fields.contains("scenario") {
            // Left out if it is empty.
            fields.insert("group".to_owned());
        }
        assert_eq!(documented(SUMMARY_JSON, heading), fields, "{heading}");
    }
}

#[test]
fn every_outcome_is_documented() {
    for outcome in loadstone_metrics::Outcome::ALL {
        let name = serde_json::to_value(outcome).unwrap();
        assert!(SUMMARY_JSON.contains(&format!("`{}`", name.as_str().unwrap())), "{name}");
    }
}

fn entry(id: &str, end: Option<RunEnd>, summary: Option<&Summary>) -> HistoryEntry {
    let dirty = summary.is_none();
    let commit = dirty.then(|| "39dbcdc0123456789abcdef0123456789abcdef0".to_owned());
    let branch = dirty.then(|| "main".to_owned());
    let info = loadstone_run_directory::RunInfo { id: id.to_owned(), branch, commit, dirty, ..fixtures::info() };
    HistoryEntry {
        directory: format!("runs/{id}").into(),
        info,
        test: "tickets".to_owned(),
        parameters: fixtures::plan().parameters,
        end,
        summary: summary.map(|summary| serde_json::to_value(summary).expect("a summary is JSON")),
        note: summary.is_none().then(|| "killed by hand".to_owned()),
        written: None,
    }
}

fn rows() -> Vec<RunRow> {
    let mut invalid = fixtures::failed_summary();
    invalid.verdict.validity = fixtures::validity(Grade::Invalid);
    [
        entry("2026-11-20T18-40-00-tickets", None, None),
        entry("2026-11-20T18-35-00-tickets", Some(RunEnd::Aborted("p99".to_owned())), Some(&invalid)),
        entry("2026-11-20T18-30-05-tickets", Some(RunEnd::Completed), Some(&fixtures::summary())),
    ]
    .iter()
    .map(RunRow::of)
    .collect()
}

#[test]
fn the_list_of_runs() {
    let style = Style::plain(80);
    insta::assert_snapshot!(format!(
        "{}\n{}\n{}",
        runs_table(&rows(), &style),
        runs_table(&rows(), &Style::plain(120)),
        runs_table(&[], &style)
    ));
}

#[test]
fn the_list_of_runs_for_machines() {
    insta::assert_snapshot!(runs_json(&rows()));
}

#[test]
fn every_field_of_the_list_is_documented_and_no_other() {
    let list: Value = serde_json::from_str(&runs_json(&rows())).unwrap();
    let rows = list.as_array().unwrap().iter().map(|row| row.as_object().unwrap());
    let fields: BTreeSet<String> = rows.flat_map(|row| row.keys().cloned()).collect();
    assert_eq!(documented(OUTPUTS, "List of runs"), fields);
}

#[test]
fn a_summary_of_another_version_does_not_hide_the_run() {
    let mut other = entry("2026-11-20T18-40-00-tickets", Some(RunEnd::Completed), None);
    other.summary = Some(serde_json::json!({"schema": 99}));
    assert_eq!(RunRow::of(&other).requests, None);
}
