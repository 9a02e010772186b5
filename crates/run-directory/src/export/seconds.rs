//! The tables of measurements: every series and every signal, second by second.

use jiff::Timestamp;
use loadstone_metrics::{FlowSlice, Histogram, MetricSlice, SeriesKind, SeriesSlice, Snapshot};

use super::ColumnTable;
use crate::Run;

/// One row per second and series.
pub fn per_second(run: &Run) -> ColumnTable {
    let zero = zero_of(run);
    let rows: Vec<(&Snapshot, &SeriesSlice)> =
        run.slices.iter().flat_map(|slice| slice.series.iter().map(move |series| (slice, series))).collect();
    let mut table = ColumnTable::default();
    table.integer("second", &rows, |(slice, _)| u64::from(slice.slice));
    table.instant("time", &rows, |(slice, _)| at(zero, slice.start));
    table.text("kind", &rows, |(_, series)| kind(series.key.kind).into());
    table.text("scenario", &rows, |(_, series)| series.key.scenario.clone());
    table.text("group", &rows, |(_, series)| series.key.group.clone());
    table.text("name", &rows, |(_, series)| series.key.name.clone());
    table.integer("count", &rows, |(_, series)| series.count);
    table.integer("failed", &rows, |(_, series)| series.failed);
    table.number("mean_s", &rows, |(_, series)| series.response.mean().map(|ns| ns / 1e9));
    table.number("min_s", &rows, |(_, series)| quantile(&series.response, 0.0));
    for (name, q) in [("p50_s", 0.5), ("p90_s", 0.9), ("p95_s", 0.95), ("p99_s", 0.99), ("max_s", 1.0)] {
        table.number(name, &rows, |(_, series)| quantile(&series.response, q));
    }
    table.number("service_mean_s", &rows, |(_, series)| series.service.mean().map(|ns| ns / 1e9));
    table.number("service_p50_s", &rows, |(_, series)| quantile(&series.service, 0.5));
    table.number("service_p99_s", &rows, |(_, series)| quantile(&series.service, 0.99));
    table.number("lag_p99_s", &rows, |(_, series)| quantile(&series.lag, 0.99));
    table.integer("sent_bytes", &rows, |(_, series)| series.bytes_sent);
    table.integer("received_bytes", &rows, |(_, series)| series.bytes_received);
    table.integer("retried", &rows, |(_, series)| series.retried);
    table
}

/// One row per second and flow. Times are those of the journeys that finished in the second.
pub fn flows(run: &Run) -> ColumnTable {
    let zero = zero_of(run);
    let rows: Vec<(&Snapshot, &FlowSlice)> =
        run.slices.iter().flat_map(|slice| slice.flows.iter().map(move |flow| (slice, flow))).collect();
    let mut table = ColumnTable::default();
    table.integer("second", &rows, |(slice, _)| u64::from(slice.slice));
    table.instant("time", &rows, |(slice, _)| at(zero, slice.start));
    table.text("flow", &rows, |(_, flow)| flow.name.clone());
    table.integer("started", &rows, |(_, flow)| flow.started);
    table.integer("finished", &rows, |(_, flow)| flow.finished);
    table.integer("timed_out", &rows, |(_, flow)| flow.timed_out);
    table.integer("open", &rows, |(_, flow)| flow.backlog);
    table.number("oldest_s", &rows, |(_, flow)| Some(flow.oldest_ns as f64 / 1e9));
    table.number("mean_s", &rows, |(_, flow)| flow.time.mean().map(|ns| ns / 1e9));
    for (name, q) in [("p50_s", 0.5), ("p95_s", 0.95), ("p99_s", 0.99), ("max_s", 1.0)] {
        table.number(name, &rows, |(_, flow)| quantile(&flow.time, q));
    }
    table.integer("overtaken", &rows, |(_, flow)| flow.overtaken.count());
    table
}

/// One row per second and custom metric of the test, and per part of it by tags.
pub fn metrics(run: &Run) -> ColumnTable {
    let zero = zero_of(run);
    let rows: Vec<(&Snapshot, &MetricSlice)> =
        run.slices.iter().flat_map(|slice| slice.metrics.iter().map(move |metric| (slice, metric))).collect();
    let mut table = ColumnTable::default();
    table.integer("second", &rows, |(slice, _)| u64::from(slice.slice));
    table.instant("time", &rows, |(slice, _)| at(zero, slice.start));
    table.text("metric", &rows, |(_, metric)| metric.name.clone());
    table.text("unit", &rows, |(_, metric)| metric.unit.clone());
    table.text("tags", &rows, |(_, metric)| metric.tags.to_string().into());
    table.integer("count", &rows, |(_, metric)| metric.value.count());
    for name in ["sum", "share", "last", "mean", "min", "p50", "p95", "p99", "max"] {
        let figure = |metric: &MetricSlice| metric.value.figures().iter().find(|(figure, _)| *figure == name).map(|(_, value)| *value);
        table.number(name, &rows, |(_, metric)| figure(metric));
    }
    table
}

/// One row per reading of an observer.
pub fn signals(run: &Run) -> ColumnTable {
    let zero = zero_of(run);
    let rows: Vec<_> = run.signals.iter().flat_map(|series| series.points.iter().map(move |point| (&series.signal, point))).collect();
    let mut table = ColumnTable::default();
    table.number("at_s", &rows, |(_, point)| Some(point.at as f64 / 1e9));
    table.instant("time", &rows, |(_, point)| at(zero, point.at));
    table.text("signal", &rows, |(signal, _)| signal.name.as_str().into());
    table.text("unit", &rows, |(signal, _)| signal.unit.as_str().into());
    table.number("value", &rows, |(_, point)| Some(point.value));
    table
}

/// As in `summary.json`.
pub fn kind(kind: SeriesKind) -> &'static str {
    match kind {
        SeriesKind::Request => "request",
        SeriesKind::Group => "group",
        SeriesKind::Iteration => "iteration",
        SeriesKind::Check => "check",
    }
}

fn quantile(histogram: &Histogram, q: f64) -> Option<f64> {
    histogram.quantile(q).map(|ns| ns as f64 / 1e9)
}

/// Wall-clock time of the run's zero.
fn zero_of(run: &Run) -> Option<Timestamp> {
    run.info.started.parse().ok()
}

fn at(zero: Option<Timestamp>, ns: u64) -> Option<i64> {
    Some(zero?.as_microsecond() + i64::try_from(ns / 1000).ok()?)
}
