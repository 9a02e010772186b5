//! The view of a run compared with hand-computed numbers.

use loadstone_analysis::SignalRow;
use loadstone_metrics::SignalKind;
use loadstone_report::{ChartColumn, CloseUp, ReportView, RunState, ViewBuilder};
use loadstone_run_directory::RunEnd;

use crate::fixtures::{self, MS, SECOND};

fn columns(view: &ReportView) -> impl Iterator<Item = &ChartColumn> {
    let bands = view.timeline.bands.iter().flat_map(|band| &band.panels);
    view.timeline.panels.iter().chain(bands).flat_map(|panel| &panel.columns)
}

fn column<'a>(view: &'a ReportView, id: &str) -> &'a [Option<f64>] {
    let known: Vec<&str> = columns(view).map(|column| column.id.as_str()).collect();
    &columns(view).find(|column| column.id == id).unwrap_or_else(|| panic!("no column {id} in {known:?}")).values
}

fn view(seconds: u32) -> ReportView {
    ReportView::build(&fixtures::run(seconds), &fixtures::summary())
}

#[test]
fn a_short_run_has_a_step_per_second() {
    let view = view(10);
    assert_eq!((view.timeline.step_seconds, view.timeline.seconds.len()), (1.0, 10));
    for (id, value) in [
        ("rate/asked", 100.0),
        ("rate/achieved", 100.0),
        ("rate/ended", 100.0),
        ("rate/requests", 100.0),
        ("rate/failures", 1.0),
        ("response/max", 0.019),
        ("users/active", 22.0),
        ("users/asked", 20.0),
        ("users/waiting", 0.0),
        ("in_flight/requests", 1.45),
        ("in_flight/connections", 10.0),
        ("failures/status/Create ticket", 1.0),
        ("phases/lag", 0.0005),
        ("phases/connect", 0.002),
        ("phases/wait", 0.0125),
        ("bytes/sent", 10_000.0),
        ("bytes/received", 50_000.0),
        ("generator/busy/0", 0.3),
        ("generator/busy/1", 0.5),
        ("generator_lag/p99", 0.0005),
        ("generator_lag/read_max", 0.001),
    ] {
        assert_eq!(column(&view, id), vec![Some(value); 10], "{id}");
    }
    // Nearest rank of 10 × {10 … 19} ms, within the histogram's error.
    for (id, value) in [("response/p50", 0.014), ("response/p90", 0.018), ("response/p95", 0.019), ("response/p99", 0.019)] {
        assert!(column(&view, id).iter().all(|v| (v.unwrap() - value).abs() < value * 0.002), "{id}");
    }
    assert_eq!(view.timeline.marks.len(), 1);
    assert_eq!(view.test.load, ["Buy a ticket: 100 arrivals/s for 1m", "and Validator: 20 users for 1m"]);
    assert_eq!(view.test.parameters[1].1, "•••", "secrets never reach a report");
    assert!(!serde_json::to_string(&view).unwrap().contains("hunter2"));
}

#[test]
fn a_long_run_is_merged_and_keeps_its_extremes() {
    let mut run = fixtures::run(3600);
    run.slices[1801].series[0].response.record(3 * SECOND);
    run.slices[1802] = loadstone_metrics::Snapshot { slice: 1802, start: 1802 * SECOND, end: 1803 * SECOND, ..Default::default() };
    let view = ReportView::build(&run, &fixtures::summary());
    assert_eq!((view.timeline.step_seconds, view.timeline.seconds.len()), (4.0, 900));
    let step = 1800 / 4;
    assert_eq!(column(&view, "response/max")[step], Some(3.0));
    assert_eq!(column(&view, "rate/requests")[step], Some(75.25));
    assert_eq!(column(&view, "rate/requests/min")[step], Some(0.0));
    assert_eq!(column(&view, "rate/requests/max")[step], Some(101.0));
    assert_eq!(view.distribution.iter().map(|bar| bar.2).sum::<u64>(), 3599 * 100 + 1);
    let heat: u64 = view.timeline.heat.steps.iter().flat_map(|step| step.chunks(2).map(|pair| pair[1])).sum();
    assert_eq!(heat, 3599 * 100 + 1);
    assert!(columns(&view).all(|column| column.values.len() == 900));
}

fn close_column<'a>(close_up: &'a CloseUp, id: &str) -> &'a [Option<f64>] {
    let columns = close_up.panels.iter().flat_map(|panel| &panel.columns);
    &columns.into_iter().find(|column| column.id == id).unwrap_or_else(|| panic!("no column {id}")).values
}

#[test]
fn a_long_run_can_be_examined_second_by_second() {
    let mut run = fixtures::run(3600);
    run.slices[1801].series[0].response.record(3 * SECOND);
    run.slices.remove(2000);
    let readings: Vec<(u64, f64)> = (0..3600).map(|s| (s * 1000 + 300, s as f64)).collect();
    for name in ["shown", "other"] {
        run.signals.push(fixtures::signal(&format!("host/{name}"), "host", SignalKind::Gauge, "", &readings));
    }
    let mut summary = fixtures::summary();
    summary.signals =
        vec![SignalRow { name: "host/shown".to_owned(), unit: String::new(), mean: 1800.0, min: 0.0, max: 3599.0, max_at_seconds: 3599.0 }];
    let close_ups = ReportView::build(&run, &summary).timeline.close_ups;
    assert_eq!(close_ups.iter().map(|close_up| close_up.from_seconds).collect::<Vec<_>>(), [0, 2001]);
    let (before, after) = (&close_ups[0], &close_ups[1]);
    assert!(before.panels.iter().flat_map(|panel| &panel.columns).all(|column| column.values.len() == 2000));
    assert_eq!(close_column(before, "response/max")[1800..1803], [Some(0.019), Some(3.0), Some(0.019)]);
    assert_eq!(close_column(before, "rate/requests")[1800..1803], [Some(100.0), Some(101.0), Some(100.0)]);
    assert_eq!(close_column(after, "signal/host/shown")[..2], [Some(2001.0), Some(2002.0)]);
    assert!(!after.panels.iter().any(|panel| panel.id == "signal/host/other"));
    // A run with a step for each second needs none.
    assert!(view(10).timeline.close_ups.is_empty());
}

#[test]
fn slices_of_a_minute_leave_no_gaps() {
    let mut run = fixtures::run(3600);
    let minute = |number: u32| loadstone_metrics::Snapshot { slice: number * 60, folded: 59, ..fixtures::slice(number) };
    run.slices.extend((60..180).map(minute));
    let view = ReportView::build(&run, &fixtures::summary());
    assert_eq!((view.timeline.step_seconds, view.timeline.seconds.len()), (64.0, 168));
    assert!(column(&view, "response/p50").iter().all(Option::is_some));
    assert_eq!(view.timeline.close_ups.len(), 1);
}

#[test]
fn of_a_day_of_seconds_the_first_hour_and_the_last_are_close() {
    let close_ups = ReportView::build(&fixtures::run(9000), &fixtures::summary()).timeline.close_ups;
    let spans: Vec<(u32, usize)> =
        close_ups.iter().map(|close_up| (close_up.from_seconds, close_column(close_up, "rate/requests").len())).collect();
    assert_eq!(spans, [(0, 3600), (5400, 3600)]);
}

#[test]
fn a_day_stays_small() {
    let mut builder = ViewBuilder::new(&fixtures::info(), &fixtures::plan());
    let mut slice = fixtures::slice(0);
    for second in 0..86_400u32 {
        slice.slice = second;
        builder.push(&slice);
    }
    let view = builder.view(&fixtures::summary(), RunState::Completed, "");
    assert_eq!((view.timeline.step_seconds, view.timeline.seconds.len()), (128.0, 675));
    assert!(view.sparks.iter().all(|line| line.len() <= 60));
    assert!(serde_json::to_string(&view).unwrap().len() < 300_000);
}

#[test]
fn the_view_is_the_same_collected_live_or_read_back() {
    let mut run = fixtures::run(1500);
    let readings: Vec<(u64, f64)> = (0..1500).map(|s| (s * 1000 + 300, s as f64)).collect();
    run.signals.push(fixtures::signal("process:8080/memory", "process:8080", SignalKind::Gauge, "bytes", &readings));
    let mut live = ViewBuilder::new(&run.info, &run.plan);
    for (slice, point) in run.slices.iter().zip(&run.signals[0].points) {
        live.push_signal(&run.signals[0].signal, point);
        live.push(slice);
    }
    let summary = fixtures::summary();
    let text = |view: &ReportView| serde_json::to_string(view).unwrap();
    let mut read = ReportView::build(&run, &summary);
    read.timeline.close_ups.clear();
    assert_eq!(text(&live.view(&summary, RunState::Completed, "")), text(&read));
}

#[test]
fn what_was_not_measured_is_a_gap() {
    let mut run = fixtures::run(10);
    run.slices.drain(3..6);
    run.end = None;
    let view = ReportView::build(&run, &fixtures::summary());
    assert_eq!(view.test.state, RunState::Killed);
    for id in ["rate/requests", "response/p50", "users/active", "generator/busy/0", "phases/wait"] {
        assert_eq!(
            column(&view, id).iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, true, true, false, false, false, true, true, true, true],
            "{id}"
        );
    }
    assert!(view.notes.iter().any(|note| note == "Nothing was recorded from second 3 to second 6."), "{:?}", view.notes);
    assert!(view.notes.iter().any(|note| note.contains("killed")), "{:?}", view.notes);
}

#[test]
fn the_cut_off_end_has_no_rate() {
    let mut run = fixtures::run(3);
    run.slices[2].end = run.slices[2].start + 10 * MS;
    run.end = Some(RunEnd::Aborted("p99 above 1 s".to_owned()));
    let view = ReportView::build(&run, &fixtures::summary());
    assert_eq!(column(&view, "rate/requests"), [Some(100.0), Some(100.0), None]);
    assert_eq!((view.test.state, view.test.state_detail.as_str()), (RunState::Aborted, "p99 above 1 s"));
}

#[test]
fn percentiles_of_a_handful_are_left_out() {
    let mut run = fixtures::run(1);
    let mut few = loadstone_metrics::Histogram::new();
    few.record_n(5 * MS, 15);
    run.slices[0].series[0].response = few;
    let view = ReportView::build(&run, &fixtures::summary());
    let first = |id| column(&view, id)[0];
    assert_eq!([first("response/p50"), first("response/p90"), first("response/max")], [Some(0.005); 3]);
    assert_eq!([first("response/p95"), first("response/p99")], [None; 2]);
}

#[test]
fn signals_become_bands_on_the_same_axis() {
    let mut run = fixtures::run(4);
    run.signals = vec![
        fixtures::signal(
            "process:8080/cpu",
            "process:8080",
            SignalKind::Counter,
            "seconds",
            &[(100, 1.0), (1100, 1.5), (2100, 0.2), (3100, 1.2)],
        ),
        fixtures::signal("process:8080/memory", "process:8080", SignalKind::Gauge, "bytes", &[(0, 10.0), (500, 30.0), (3500, 20.0)]),
        fixtures::signal("postgres/sessions{wait=Lock:tuple}", "postgres", SignalKind::Gauge, "sessions", &[(0, 3.0)]),
        fixtures::signal("postgres/sessions{wait=CPU}", "postgres", SignalKind::Gauge, "sessions", &[(0, 1.0)]),
    ];
    let view = ReportView::build(&run, &fixtures::summary());
    // A counter is drawn as its growth per second. A decrease (a restart) is a gap.
    assert_eq!(column(&view, "signal/process:8080/cpu"), [None, Some(0.5), None, Some(1.0)]);
    assert_eq!(column(&view, "signal/process:8080/memory"), [Some(20.0), None, None, Some(20.0)]);
    assert_eq!(column(&view, "signal/process:8080/memory/max"), [Some(30.0), None, None, Some(20.0)]);
    let panels = view.timeline.bands.iter().flat_map(|band| band.panels.iter().map(|p| (band.observer.as_str(), p)));
    let bands: Vec<_> = panels.map(|(observer, p)| (observer, p.id.as_str(), p.unit.as_str(), p.stacked)).collect();
    assert_eq!(
        bands,
        [
            ("process:8080", "signal/process:8080/cpu", "s/s", false),
            ("process:8080", "signal/process:8080/memory", "bytes", false),
            ("postgres", "signal/postgres/sessions", "sessions", true),
        ]
    );
    let labels: Vec<&str> = view.timeline.bands[1].panels[0].columns.iter().map(|column| column.label.as_str()).collect();
    assert_eq!(labels, ["wait=Lock:tuple", "wait=CPU"]);
    assert_eq!(view.timeline.bands[1].panels[0].title, "sessions");
}

#[test]
fn column_ids_are_unique_and_documented() {
    let mut run = fixtures::run(1300);
    run.signals.push(fixtures::signal("process:8080/memory", "process:8080", SignalKind::Gauge, "bytes", &[(0, 10.0), (500, 30.0)]));
    let stage = loadstone_metrics::FlowStageSlice { name: "picked".into(), backlog: 1, ..Default::default() };
    let flow =
        loadstone_metrics::FlowSlice { name: "Time to send".into(), finished: 200, time: fixtures::even(200, 1, 5), ..Default::default() };
    run.slices[0].flows.push(loadstone_metrics::FlowSlice { started: 201, backlog: 1, stages: vec![stage], ..flow });
    let mut values = loadstone_metrics::ValueHistogram::default();
    values.record(5.0);
    let value = loadstone_metrics::MetricValue::Trend(values);
    let metric =
        loadstone_metrics::MetricSlice { name: "Order value".into(), unit: "EUR".into(), tags: loadstone_metrics::Tags::default(), value };
    run.slices[0].metrics.push(metric);
    run.slices[0].generator[0].steal_ns = SECOND / 10;
    run.slices[0].generator[0].throttled_ns = SECOND / 10;
    let view = ReportView::build(&run, &fixtures::summary());
    let mut ids: Vec<&str> = columns(&view).map(|column| column.id.as_str()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let documented = include_str!("../../../../docs/timeline.md");
    let pattern = |id: &str| {
        id.replace("process:8080/memory", "NAME")
            .replace("Time to send", "NAME")
            .replace("metrics/Order value{p50}", "metrics/NAME{FIGURE}")
            .replace("metrics/Order value{p95}", "metrics/NAME{FIGURE}")
            .replace("metrics/Order value{max}", "metrics/NAME{FIGURE}")
            .replace("/picked", "/STAGE")
            .replace("generator/busy/0", "generator/busy/N")
            .replace("generator/busy/1", "generator/busy/N")
            .replace("failures/status/Create ticket", "failures/OUTCOME/REQUEST")
    };
    for id in ids {
        assert!(documented.contains(&format!("`{}`", pattern(id))), "{id} is not in docs/timeline.md");
    }
}

#[test]
fn custom_metrics_are_a_band_of_unstacked_lines() {
    let mut run = fixtures::run(4);
    for (second, slice) in run.slices.iter_mut().enumerate() {
        let counter = |tags: loadstone_metrics::Tags, sum: f64| loadstone_metrics::MetricSlice {
            name: "Orders {new}".into(),
            unit: "".into(),
            tags,
            value: loadstone_metrics::MetricValue::Counter { count: 1, sum },
        };
        slice.metrics = vec![
            counter(loadstone_metrics::Tags::default(), 10.0 + second as f64),
            counter(loadstone_metrics::Tags::new([("country", "DE")]), 3.0),
        ];
    }
    let view = ReportView::build(&run, &fixtures::summary());
    let band = &view.timeline.bands[0];
    assert_eq!((band.observer.as_str(), band.panels.len(), band.panels[0].title.as_str()), ("metrics", 1, "Orders {new}"));
    let panel = &band.panels[0];
    assert!(!panel.stacked, "parts are not layers of the whole");
    let lines: Vec<(&str, Option<f64>)> = panel.columns.iter().map(|column| (column.label.as_str(), column.values[2])).collect();
    assert_eq!(lines, [("per second", Some(12.0)), ("per second, country=DE", Some(3.0))]);
}

#[test]
fn the_slowest_of_all_seconds_are_kept() {
    let view = view(30);
    let times: Vec<u64> = view.slowest.iter().map(|slow| slow.response_ns / MS).collect();
    assert_eq!(times, [48, 47, 46, 45, 44, 43, 42, 41, 40, 39]);
}

#[test]
fn sparks_follow_the_rows_of_the_table() {
    let view = view(120);
    let lengths: Vec<usize> = view.sparks.iter().map(Vec::len).collect();
    assert_eq!(lengths, [0, 60, 0], "only \"Create ticket\" has slices in this run");
    assert!(view.sparks[1].iter().all(|value| *value == Some(0.0145)));
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// A damaged record may contain any number. For any slices, nothing is lost and nothing exceeds its bound.
        #[test]
        fn no_sample_is_lost_and_no_column_is_longer_than_the_axis(
            numbers in proptest::collection::vec(prop_oneof![0u32..20, 0u32..5000, any::<u32>()], 1..40)
        ) {
            let mut builder = ViewBuilder::new(&fixtures::info(), &fixtures::plan());
            for number in &numbers {
                builder.push(&loadstone_metrics::Snapshot { slice: *number, ..fixtures::slice(0) });
            }
            let view = builder.view(&fixtures::summary(), RunState::Running, "");
            let timeline = &view.timeline;
            let steps = timeline.seconds.len();
            prop_assert!(steps <= 1200);
            prop_assert!(columns(&view).all(|column| column.values.len() == steps && column.values.iter().flatten().all(|v| v.is_finite())));
            let heat: u64 = timeline.heat.steps.iter().flat_map(|step| step.chunks(2).map(|pair| pair[1])).sum();
            prop_assert_eq!(heat, 100 * numbers.len() as u64);
            prop_assert!(f64::from(*numbers.iter().max().unwrap()) < steps as f64 * timeline.step_seconds);
            prop_assert!(view.sparks.iter().all(|line| line.len() <= 60));
        }
    }
}
