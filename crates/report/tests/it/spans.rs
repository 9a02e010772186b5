//! Traces in the terminal and on the page.

use loadstone_analysis::{RequestSpans, SpanRow};
use loadstone_metrics::TraceId;
use loadstone_metrics::span::{KeptFor, KeptTrace, RequestLabel, SpanKind, SpanPath, SpanSlice, TraceSlice};
use loadstone_report::terminal::{Closing, Style, TimeColumns, summary};
use loadstone_report::{ReportView, RunState};
use loadstone_run_directory::{Run, RunTraces};

use crate::fixtures::{self, MS};
use crate::summary::assert_fits;

fn row(depth: u32, service: &str, name: &str, calls: f64, path_ms: f64, low_ms: Option<f64>) -> SpanRow {
    SpanRow {
        depth,
        service: service.to_owned(),
        name: name.to_owned(),
        kind: SpanKind::Server,
        calls,
        errors: 0,
        mean_seconds: 0.012,
        p95_seconds: 0.020,
        own_seconds: path_ms / 1e3,
        path_seconds: path_ms / 1e3,
        before_seconds: 0.0,
        low_path_seconds: low_ms.map(|ms| ms / 1e3),
        high_path_seconds: low_ms.map(|ms| ms / 1e3 * 4.0),
    }
}

pub(crate) fn request(low_ms: Option<f64>) -> RequestSpans {
    let spans = vec![
        row(0, "shop", "GET /list", 1.0, 2.0, low_ms),
        row(1, "shop", "GET", 1.0, 0.0, low_ms),
        row(2, "prices", "SELECT item", 41.0, 8.0, low_ms),
        row(1, "shop", "idle", 1.0, 0.0, low_ms),
    ];
    RequestSpans { scenario: "Buy a ticket".to_owned(), name: "List products".to_owned(), traces: 4_100, seconds: 0.010, spans }
}

fn shown(low_ms: Option<f64>, width: usize) -> String {
    let shown = loadstone_analysis::Summary { spans: vec![request(low_ms)], ..fixtures::summary() };
    let closing = Closing {
        state: RunState::Completed,
        state_detail: "",
        file: None,
        places: &[],
        columns: TimeColumns::default(),
        shows_all: false,
    };
    let text = summary(&shown, &closing, &Style::plain(width));
    assert_fits(&text, width);
    text
}

#[test]
fn the_terminal_shows_where_the_time_goes() {
    let text = shown(Some(1.0), 100);
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("Spans")).take(5).collect();
    let words: Vec<Vec<&str>> = lines.iter().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[1], "List products · 4,100 traces of 10.0 ms each");
    assert_eq!(words[2], ["shop:", "GET", "/list", "1", "12.0", "ms", "20.0", "ms", "0", "s", "20.0", "%", "1.00", "ms", "4.00", "ms"]);
    // It has no own time, but a descendant has; "idle" has neither.
    assert!(lines[3].starts_with("  shop: GET "), "{text}");
    assert_eq!(words[4][..4], ["prices:", "SELECT", "item", "41"]);
    assert!(lines[4].starts_with("    prices") && lines[4].contains("80.0 %"), "{text}");
    assert!(!text.contains("idle"), "{text}");
    assert!(!shown(None, 100).contains("Low load") && text.contains("Low load"));
    shown(Some(1.0), 60);
}

fn path(parent: Option<u32>, name: &str, kind: SpanKind) -> SpanPath {
    let (scenario, service) = if parent.is_none() { ("Buy a ticket", "") } else { ("", "shop") };
    SpanPath { parent, scenario: scenario.into(), service: service.into(), name: name.into(), kind, label: RequestLabel::default() }
}

#[test]
fn the_page_has_the_parts_of_a_requests_time_by_second() {
    let slice = |second: u32, wait_ms: u64| {
        let span = |path, critical_ms, lead_ms| SpanSlice {
            path,
            calls: 2,
            traces: 2,
            critical_ns: 2 * critical_ms * MS,
            lead_ns: 2 * lead_ms * MS,
            ..SpanSlice::default()
        };
        // The entry takes 3 ms itself, and waits before its call.
        TraceSlice { second, seconds: 1, spans: vec![span(0, 0, 0), span(1, 3 + wait_ms, 0), span(2, 5, wait_ms)] }
    };
    let kept = KeptTrace {
        trace: TraceId::new(1, 2).unwrap(),
        kept_for: KeptFor::Slow,
        scenario: "Buy a ticket".into(),
        name: "Create ticket".into(),
        at: 0,
        total_ns: 1,
        spans: Vec::new(),
        left_out: 0,
        label: RequestLabel::default(),
    };
    let paths = vec![
        path(None, "Create ticket", SpanKind::Request),
        path(Some(0), "GET /list", SpanKind::Server),
        path(Some(1), "SELECT item", SpanKind::Client),
    ];
    let traces = RunTraces { paths, slices: vec![slice(0, 0), slice(2, 40)], kept: vec![kept.clone()] };
    let mut run = Run { traces, ..fixtures::run(4) };
    assert_eq!(ReportView::build(&run, &fixtures::summary()).trace_link, None);
    let link = "http://127.0.0.1:16686/trace/{trace}";
    run.plan.observers = vec![serde_json::json!({ "kind": "host" }), serde_json::json!({ "kind": "traces", "link": link })];
    let view = ReportView::build(&run, &fixtures::summary());
    assert_eq!(view.trace_link.as_deref(), Some(link));
    let charts = view.summary.requests.iter().zip(&view.request_charts).find(|(row, _)| &*row.key.name == "Create ticket").unwrap().1;
    let panel = charts.panels.iter().find(|panel| panel.id == "spans").unwrap();
    let columns: Vec<(&str, &[Option<f64>])> =
        panel.columns.iter().map(|column| (column.label.as_str(), column.values.as_slice())).collect();
    // The largest is first; the second without traces has no value.
    assert_eq!(
        columns,
        [
            ("before shop: SELECT item", [Some(0.0), None, Some(0.040)].as_slice()),
            ("shop: SELECT item (call)", &[Some(0.005), None, Some(0.005)]),
            ("shop: GET /list", &[Some(0.003), None, Some(0.003)]),
        ]
    );
    assert!(panel.stacked && charts.step_seconds == 1.0);
    assert_eq!(view.traces, [kept]);
    let others = view.request_charts.iter().filter(|charts| charts.panels.iter().any(|panel| panel.id == "spans")).count();
    assert_eq!(others, 1, "no other request has traces");
}
