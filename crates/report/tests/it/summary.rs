//! The terminal summary.

use loadstone_analysis::{Grade, MissingKnowledge, Remark, RemarkKind, RuleId, Subject};
use loadstone_metrics::SeriesKind;
use loadstone_report::RunState;
use loadstone_report::terminal::{Closing, Style, TimeColumns, summary};

use crate::fixtures;

fn render(summary_of: &loadstone_analysis::Summary, state: RunState, state_detail: &str, style: &Style) -> String {
    let places = [("Report", "runs/2026-11-20T18-30-05-tickets/report.html".to_owned())];
    let (file, columns) = (Some("tickets.load.ts"), TimeColumns::default());
    summary(summary_of, &Closing { state, state_detail, file, places: &places, columns, shows_all: false }, style)
}

fn plain(summary_of: &loadstone_analysis::Summary, width: usize) -> String {
    let text = render(summary_of, RunState::Completed, "", &Style::plain(width));
    assert_fits(&text, width);
    text
}

/// No line is wider than the terminal, except paths, which must not be broken.
pub(crate) fn assert_fits(text: &str, width: usize) {
    for line in text.lines().filter(|line| !line.starts_with("Report")) {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= width, "wider than {width}: {line}");
    }
}

#[test]
fn valid_and_passed_at_80_columns() {
    insta::assert_snapshot!(plain(&fixtures::summary(), 80));
}

#[test]
fn valid_and_passed_at_120_columns() {
    insta::assert_snapshot!(plain(&fixtures::summary(), 120));
}

#[test]
fn the_columns_are_the_requested_ones() {
    let columns: TimeColumns = "count, p99.9,Max".parse().unwrap();
    let closing = Closing { state: RunState::Completed, state_detail: "", file: None, places: &[], columns, shows_all: false };
    let text = summary(&fixtures::summary(), &closing, &Style::plain(60));
    let head = text.lines().find(|line| line.starts_with("Requests")).unwrap();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["Requests", "Count", "p99.9", "Max"]);
    let all = text.lines().find(|line| line.starts_with("All requests")).unwrap();
    assert_eq!(all.split_whitespace().nth(2), Some("12,500"), "{all}");
    let wrong = "count,p98".parse::<TimeColumns>().unwrap_err().to_string();
    assert!(wrong.starts_with("there is no column \"p98\" (did you mean `p9"), "{wrong}");
}

#[test]
fn custom_metrics_have_the_columns_that_any_of_them_has() {
    let mut summary = fixtures::summary();
    assert!(!plain(&summary, 80).contains("Metrics"));
    let none = loadstone_analysis::MetricRow {
        rate: None,
        hits: None,
        share: None,
        last: None,
        sum: None,
        mean: None,
        min: None,
        max: None,
        ..fixtures::metric_row()
    };
    let none = loadstone_analysis::MetricRow { percentiles: Vec::new(), ..none };
    let row = |name: &str, kind, tags| loadstone_analysis::MetricRow { name: name.to_owned(), kind, tags, ..none.clone() };
    let percentile =
        |quantile, value| loadstone_analysis::Percentile { quantile, value, low: None, high: None, samples_beyond: 12, uncertainty: None };
    let percentiles = vec![percentile(0.5, Some(12.5)), percentile(0.95, Some(80.0)), percentile(0.99, None)];
    let spread = |row| loadstone_analysis::MetricRow {
        mean: Some(20.25),
        min: Some(-3.0),
        max: Some(99.0),
        percentiles: percentiles.clone(),
        ..row
    };
    summary.metrics = vec![
        spread(row("Order value", loadstone_plan::MetricKind::Trend, loadstone_metrics::Tags::default())),
        spread(row("Order value", loadstone_plan::MetricKind::Trend, loadstone_metrics::Tags::new([("country", "DE")]))),
        loadstone_analysis::MetricRow {
            sum: Some(3_400.0),
            rate: Some(56.7),
            ..row("Sales", loadstone_plan::MetricKind::Counter, loadstone_metrics::Tags::default())
        },
    ];
    let text = plain(&summary, 100);
    let table: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("Metrics")).take(4).collect();
    insta::assert_snapshot!(table.join("\n"));
    let junit = loadstone_report::junit(&summary, RunState::Completed, "");
    assert!(junit.contains("Sales (EUR): count 1,200, sum 3,400, per second 56.7"), "{junit}");
    assert!(junit.contains("Order value (EUR), country=DE: count 1,200, mean 20.2, p50 12.5, p95 80, min −3, max 99"), "{junit}");
}

#[test]
fn narrow_terminals_keep_what_matters() {
    insta::assert_snapshot!(plain(&fixtures::failed_summary(), 48));
}

#[test]
fn times_that_the_generator_may_have_increased_are_marked_and_explained() {
    let mut summary = fixtures::summary();
    assert!(!plain(&summary, 200).contains('~'));
    let row = summary.requests.iter_mut().max_by_key(|row| row.count).unwrap();
    let p99 = row.response.percentiles.iter_mut().find(|p| p.quantile == 0.99).unwrap();
    (p99.value, p99.uncertainty) = (Some(0.041), Some(0.009));
    let text = plain(&summary, 200);
    assert!(text.contains("~41.0 ms"), "{text}");
    assert!(text.contains("~ generator noise ≤ 9.00 ms: 1 value may be affected; the report lists them"), "{text}");
    let p99 = summary.scenarios[0].response.percentiles.iter_mut().find(|p| p.quantile == 0.99).unwrap();
    (p99.value, p99.uncertainty) = (Some(0.041), Some(0.01));
    let text = plain(&summary, 200);
    assert!(text.contains("~ generator noise ≤ 10.0 ms: 2 values may be affected"), "{text}");
}

#[test]
fn what_a_watched_tool_does_not_record_is_not_zero() {
    let mut summary = fixtures::summary();
    let whole = plain(&summary, 300);
    assert!(whole.contains(" iteration") && whole.contains(" sent · "), "{whole}");
    let totals = &mut summary.totals;
    (totals.iterations, totals.connections_opened, totals.bytes_sent, totals.bytes_received) = (0, 0, 0, 0);
    let text = plain(&summary, 300);
    let line = text.lines().find(|line| line.starts_with("Totals")).unwrap();
    assert!(["0 iterations", "0 connections", "0 B"].iter().all(|zero| !line.contains(zero)), "{line}");
}

#[test]
fn the_verdict_of_a_valid_run_names_uncertain_headline_percentiles_only() {
    let mut summary = fixtures::summary();
    let trusted = "VALID · the measurement can be trusted (1 check)";
    assert!(plain(&summary, 200).contains(trusted));
    let row = summary.requests.iter_mut().max_by_key(|row| row.count).unwrap();
    let p99 = row.response.percentiles.iter_mut().find(|p| p.quantile == 0.99).unwrap();
    (p99.value, p99.uncertainty) = (Some(0.041), Some(0.009));
    assert!(plain(&summary, 200).contains(trusted));
    let p99 = summary.response.percentiles.iter_mut().find(|p| p.quantile == 0.99).unwrap();
    (p99.value, p99.uncertainty) = (Some(0.041), Some(0.009));
    let text = plain(&summary, 200);
    let clause = "the measurement can be trusted; generator noise adds at most 9.00 ms to p99 of all requests";
    assert!(text.contains(&format!("VALID · {clause} (1 check)")), "{text}");
    // Each percentile has its own bound, and those that may be mostly noise are named.
    let p50 = summary.response.percentiles.iter_mut().find(|p| p.quantile == 0.5).unwrap();
    (p50.value, p50.uncertainty) = (Some(0.005), Some(0.004));
    let text = plain(&summary, 200);
    let clause = "! VALID EXCEPT p50 · the other numbers can be trusted; generator noise adds at most 4.00 ms to p50, 9.00 ms to p99 of all requests";
    assert!(text.contains(clause), "{text}");
    let closing = Closing {
        state: RunState::Completed,
        state_detail: "",
        file: None,
        places: &[],
        columns: TimeColumns::default(),
        shows_all: false,
    };
    let markdown = loadstone_report::markdown(&summary, &closing);
    assert!(markdown.contains("**VALID EXCEPT p50**: the other numbers can be trusted; generator noise"), "{markdown}");
}

#[test]
fn a_threshold_that_cannot_be_decided_is_neither_passed_nor_failed() {
    let mut summary = fixtures::summary();
    summary.verdict.thresholds[0].state = loadstone_analysis::ThresholdState::Undecided;
    assert!(plain(&summary, 120).contains("Thresholds undecided"));
    let junit = loadstone_report::junit(&summary, RunState::Completed, "");
    assert!(junit.contains("type=\"undecided\"") && junit.contains("<error"), "{junit}");
    summary.verdict.thresholds[1].state = loadstone_analysis::ThresholdState::Failed;
    assert!(plain(&summary, 120).contains("Thresholds failed"));
}

#[test]
fn suspect_gives_its_reason_first() {
    let mut summary = fixtures::summary();
    summary.verdict.validity = fixtures::validity(Grade::Suspect);
    insta::assert_snapshot!(plain(&summary, 80));
}

#[test]
fn invalid_gives_the_worst_reason_first() {
    let mut summary = fixtures::summary();
    summary.verdict.validity = fixtures::validity(Grade::Invalid);
    let text = plain(&summary, 80);
    let at = |needle: &str| text.find(needle).unwrap();
    assert!(
        at("INVALID") < at("Offered rate") && at("Offered rate") < at("Worker busy share") && at("Worker busy share") < at("Thresholds")
    );
    insta::assert_snapshot!(text);
}

#[test]
fn failures_findings_and_errors() {
    insta::assert_snapshot!(plain(&fixtures::failed_summary(), 80));
}

#[test]
fn colour_adds_codes_and_removes_no_words() {
    let summary = fixtures::failed_summary();
    let plain = render(&summary, RunState::Completed, "", &Style::plain(80));
    let coloured = render(&summary, RunState::Completed, "", &Style { color: true, ..Style::plain(80) });
    assert!(!plain.contains('\x1b') && coloured.contains("\x1b[31m"));
    let mut stripped = coloured;
    for code in ["0", "1", "2", "31", "32", "33"] {
        stripped = stripped.replace(&format!("\x1b[{code}m"), "");
    }
    let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(trimmed(&stripped), trimmed(&plain));
}

#[test]
fn nothing_at_all_was_requested() {
    insta::assert_snapshot!(render(&fixtures::empty_summary(), RunState::Failed, "the target refused every connection", &Style::plain(80)));
}

#[test]
fn an_interrupted_run_says_so() {
    let mut summary = fixtures::summary();
    summary.totals.duration_seconds = 12.4;
    summary.totals.iterations_interrupted = 26;
    let text = render(&summary, RunState::Interrupted, "", &Style::plain(80));
    assert!(text.starts_with("tickets · interrupted after 12.4 s\n"), "{text}");
    assert!(text.contains("26 iterations interrupted"), "{text}");
}

#[test]
fn huge_numbers_and_long_names_keep_the_table_in_shape() {
    let mut summary = fixtures::summary();
    let slow = fixtures::even(40, 60_000, 7_200_000);
    let mut row = fixtures::row(
        SeriesKind::Request,
        "Buy a ticket",
        "GET /v1/channels/{id}/products/{product}/prices/history?from={date}&to={date}",
        0,
        &slow,
    );
    row.count = 98_765_432_101;
    row.rate = 12_345_678.9;
    summary.requests.push(row);
    let mut wide =
        fixtures::row(SeriesKind::Request, "Buy a ticket", "票を買う — 買う — 買う — 買う — 買う — 買う — 買う — 買う", 0, &slow);
    wide.key.group = fixtures::arc("カート");
    summary.requests.push(wide);
    summary.totals.requests = u64::MAX;
    summary.totals.bytes_received = u64::MAX;
    insta::assert_snapshot!(plain(&summary, 80));
}

#[test]
fn of_many_requests_the_failing_and_the_slowest_are_shown() {
    let mut summary = fixtures::summary();
    summary.requests = (0..500u64)
        .map(|n| {
            fixtures::row(SeriesKind::Request, "Buy a ticket", &format!("request {n}"), u64::from(n == 7), &fixtures::even(20 + n, 1, 9))
        })
        .collect();
    let text = plain(&summary, 80);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("request ")).collect();
    assert_eq!(rows.len(), 10);
    assert!(rows[0].starts_with("request 7 "), "{rows:?}");
    assert!(text.contains("… and 490 more requests: --all shows them, and the report has them"), "{text}");
    let closing =
        Closing { state: RunState::Completed, state_detail: "", file: None, places: &[], columns: TimeColumns::default(), shows_all: true };
    let all = loadstone_report::terminal::summary(&summary, &closing, &Style::plain(80));
    assert_eq!(all.lines().filter(|line| line.starts_with("request ")).count(), 500);
}

#[test]
fn foreign_text_cannot_move_the_cursor() {
    let mut summary = fixtures::failed_summary();
    summary.errors[0].message = "evil \x1b[2J\r\n\x07 message".to_owned();
    summary.requests[0].key.name = fixtures::arc("a\nb\x1b[31m");
    summary.test = "tick\x1bets".to_owned();
    let text = plain(&summary, 80);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

#[test]
fn the_remark_is_shown_next_to_findings() {
    let mut of = fixtures::summary();
    let finding = loadstone_analysis::Finding::new(
        RuleId::new("failures"),
        Subject::request("Buy"),
        loadstone_analysis::Confidence::High,
        "5 % of \"Buy\" failed".to_owned(),
    );
    of.verdict.findings = loadstone_analysis::Findings {
        findings: vec![finding],
        remark: Remark::new(RemarkKind::Also, "The memory of \"shop\" grew all along.".to_owned()),
    };
    assert!(plain(&of, 80).contains("\n  Also: The memory of \"shop\" grew all along.\n"), "{}", plain(&of, 80));
    let closing = Closing {
        state: RunState::Completed,
        state_detail: "",
        file: None,
        places: &[],
        columns: TimeColumns::default(),
        shows_all: false,
    };
    let markdown = loadstone_report::markdown(&of, &closing);
    assert!(markdown.contains("\nAlso: The memory of \"shop\" grew all along.\n"), "{markdown}");
}

/// The script line that would decide can be copied from the terminal, and the page contains it.
#[test]
fn the_load_that_would_decide_is_one_line() {
    let line = ".run(arrivals.ramp(3, 50).for(\"2m\").then(arrivals(50).for(\"1m\")))";
    let next = format!("Ramp the load from low to high: `{line}`. Observe its machine.");
    let remark = Remark::cannot_tell(MissingKnowledge::VariedLoad, "the load did not vary enough", &next);
    let mut of = fixtures::summary();
    of.verdict.findings = loadstone_analysis::Findings { findings: Vec::new(), remark };
    let text = plain(&of, 80);
    assert!(text.lines().any(|shown| shown.contains(line)), "{text}");
    let view = serde_json::to_value(loadstone_report::ReportView::build(&fixtures::run(10), &of)).unwrap();
    let remark = view["summary"]["verdict"]["findings"]["remark"]["text"].as_str().unwrap();
    assert!(remark.contains(line), "{remark}");
}
