//! A comparison on a terminal, in a pull request and as test cases.

use loadstone_analysis::{
    ComparedMetric, ComparedRow, ComparedRun, ComparedSubject, ComparisonGate, ComparisonVerdict, FindingMove, FindingState, GateResult,
    GateState, Grade, RowVerdict, RuleId, RunComparison, RunDifference, Side, Subject, SubjectKind,
};
use loadstone_report::comparison::{ShownNumbers, json, junit, markdown, terminal};
use loadstone_report::terminal::Style;

fn row(metric: ComparedMetric, values: (f64, f64), change: (f64, f64, f64), verdict: RowVerdict) -> ComparedRow {
    ComparedRow {
        metric,
        unit: String::new(),
        baseline: Some(values.0),
        candidate: Some(values.1),
        at_least: Vec::new(),
        change: Some(change.0),
        low: Some(change.1),
        high: Some(change.2),
        p: Some(0.001),
        verdict,
        minutes_needed: (verdict == RowVerdict::CannotTell).then_some(11.2),
        why: String::new(),
    }
}

fn subject(kind: SubjectKind, name: &str, rows: Vec<ComparedRow>) -> ComparedSubject {
    ComparedSubject {
        kind,
        name: name.to_owned(),
        scenario: "Buy".to_owned(),
        group: String::new(),
        only_in: None,
        rows,
        shift: Vec::new(),
    }
}

fn run(id: &str, tag: &str) -> ComparedRun {
    ComparedRun {
        id: id.to_owned(),
        test: "shop".to_owned(),
        started: "2026-11-20T18:30:05Z".to_owned(),
        tags: vec![tag.to_owned()],
        duration_seconds: 300.0,
        requests: 15_000,
        grade: Grade::Valid,
    }
}

fn comparison() -> RunComparison {
    let buy = vec![
        row(ComparedMetric::Rate, (50.0, 50.0), (1.0, 0.999, 1.001), RowVerdict::Same),
        row(ComparedMetric::Failures, (0.0, 0.004), (0.004, 0.002, 0.006), RowVerdict::Worse),
        row(ComparedMetric::P95, (0.020, 0.0224), (1.12, 1.083, 1.16), RowVerdict::Worse),
        row(ComparedMetric::P99, (0.030, 0.0306), (1.02, 0.94, 1.1), RowVerdict::CannotTell),
        ComparedRow {
            candidate: None,
            change: None,
            low: None,
            high: None,
            minutes_needed: None,
            why: "too few samples".to_owned(),
            ..row(ComparedMetric::P999, (0.05, 0.0), (1.0, 1.0, 1.0), RowVerdict::CannotTell)
        },
    ];
    let hangs = ComparedRow {
        at_least: vec![Side::Candidate],
        high: None,
        ..row(ComparedMetric::P99, (0.2, 12.0), (60.0, 41.0, 0.0), RowVerdict::Worse)
    };
    let list = vec![row(ComparedMetric::P95, (0.010, 0.0085), (0.85, 0.82, 0.88), RowVerdict::Better)];
    let mut signal = row(ComparedMetric::Value, (12.0, 48.0), (4.0, 3.5, 4.6), RowVerdict::Moved);
    signal.unit = "sessions".to_owned();
    let gate = |label: &str, state| GateResult {
        gate: ComparisonGate { label: label.to_owned(), metric: Some(ComparedMetric::P95), name: None, by: 0.05 },
        state,
        detail: "p95 of all requests is 12 % higher (8.3 % to 16 %)".to_owned(),
    };
    RunComparison {
        schema: 1,
        baseline: run("2026-11-20T18-30-05-shop", "main"),
        candidate: run("2026-11-20T19-30-05-shop", "faster|checkout"),
        effect: 0.03,
        false_share: 0.01,
        verdict: ComparisonVerdict::Mixed,
        headline:
            "worse: p95 of \"Buy\" is 12 % higher (8.3 % to 16 %), and 1 more; better: p95 of \"List\" is 15 % lower (−18 % to −12 %)"
                .to_owned(),
        differences: vec![RunDifference {
            what: "script".to_owned(),
            baseline: "0123456789ab".to_owned(),
            candidate: "ba9876543210".to_owned(),
            forbids: false,
            meaning: "the test script changed between the runs: equal names may mean different requests".to_owned(),
        }],
        subjects: vec![
            subject(SubjectKind::Request, "List", list),
            subject(SubjectKind::Flow, "Mail", vec![hangs]),
            subject(SubjectKind::Request, "Buy", buy),
            ComparedSubject { only_in: Some(Side::Candidate), ..subject(SubjectKind::Request, "Pay", Vec::new()) },
            subject(
                SubjectKind::Target,
                "process:80",
                vec![row(ComparedMetric::CpuPerRequest, (0.002, 0.002), (1.0, 0.99, 1.01), RowVerdict::Same)],
            ),
            subject(SubjectKind::Signal, "postgres/sessions", vec![signal]),
        ],
        findings: vec![FindingMove {
            state: FindingState::New,
            rule: RuleId::new("pool"),
            subject: Subject::request("Buy"),
            baseline: None,
            candidate: Some("\"Buy\" waits for one of 4 connections".to_owned()),
        }],
        thresholds: Vec::new(),
        gates: vec![gate("p95 worse by 5%", GateState::Failed), gate("p99 worse by 5%", GateState::Undecided)],
    }
}

#[test]
fn on_a_terminal() {
    insta::assert_snapshot!(terminal(&comparison(), ShownNumbers::default(), &Style::plain(110)));
}

#[test]
fn all_numbers_are_shown_on_request() {
    let text = terminal(&comparison(), ShownNumbers { all: true, anyway: false }, &Style::plain(110));
    assert!(text.contains("cannot tell (needs 12 min)") && !text.contains("--all"), "{text}");
    // Nothing changed: the numbers of the first subject are shown.
    let mut same = comparison();
    same.subjects.iter_mut().flat_map(|subject| &mut subject.rows).for_each(|row| row.verdict = RowVerdict::Same);
    let text = terminal(&same, ShownNumbers::default(), &Style::plain(110));
    assert!(text.contains("\nList\n") && !text.contains("Buy\n") && text.contains("same, 0 undecided"), "{text}");
}

#[test]
fn runs_that_cannot_be_compared_show_only_their_differences() {
    let compared = RunComparison { verdict: ComparisonVerdict::NotComparable, ..comparison() };
    let text = terminal(&compared, ShownNumbers::default(), &Style::plain(110));
    assert!(text.contains("NOT COMPARABLE") && text.contains("--anyway") && !text.contains("95 % interval"), "{text}");
    assert!(terminal(&compared, ShownNumbers { anyway: true, all: true }, &Style::plain(110)).contains("95 % interval"));
}

#[test]
fn in_a_pull_request() {
    insta::assert_snapshot!(markdown(&comparison()));
}

#[test]
fn as_test_cases() {
    insta::assert_snapshot!(junit(&comparison()));
    let mut forbidden = comparison();
    forbidden.gates.clear();
    forbidden.differences[0].forbids = true;
    let xml = junit(&forbidden);
    assert!(xml.contains("errors=\"1\"") && xml.contains("failures=\"0\""), "{xml}");
    forbidden.differences.clear();
    assert!(junit(&forbidden).contains("failures=\"1\""));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [60, 80, 140] {
        let text = terminal(&comparison(), ShownNumbers::default(), &Style::plain(width));
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
        assert!(width < 80 || long.is_empty(), "{long:?}");
    }
}

#[test]
fn as_json_it_reads_back() {
    let comparison = comparison();
    assert_eq!(serde_json::from_str::<RunComparison>(&json(&comparison)).unwrap(), comparison);
}
