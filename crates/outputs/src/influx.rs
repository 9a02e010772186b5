//! InfluxDB's line protocol: a point per second and series, with what happened in that second.

use std::fmt::Write;

use loadstone_metrics::{Histogram, SeriesKind, SignalKind, Snapshot};
use url::Url;

use crate::poster::Poster;
use crate::run_labels::RunLabels;
use crate::second::OutputSecond;
use crate::sink::{DeliveryError, OutputKind, OutputSetup, OutputSink, SinkError, StartOutput};
use crate::totals::{OutputTotals, labels, metric_labels};

pub(crate) const INFLUX: OutputKind =
    OutputKind { name: "influx", title: "InfluxDB", start: StartOutput::Url { default_path: None, start: InfluxSink::start } };

struct InfluxSink {
    poster: Poster,
    run: RunLabels,
    /// Names the scenarios of the load's leaves.
    totals: OutputTotals,
    lines: String,
    seconds: u64,
}

impl InfluxSink {
    fn start(url: &Url, OutputSetup { headers, totals, run }: OutputSetup<'_>) -> Result<Box<dyn OutputSink>, SinkError> {
        let poster = Poster::new(url, &[("content-type", "text/plain; charset=utf-8")], headers)?;
        Ok(Box::new(Self { poster, run, totals, lines: String::new(), seconds: 0 }))
    }
}

impl OutputSink for InfluxSink {
    fn take(&mut self, second: &OutputSecond) {
        self.totals.add(second);
        lines(&mut self.lines, &second.load, &self.totals, &self.run);
        signals(&mut self.lines, second, &self.totals, &self.run);
        self.seconds += 1;
    }

    fn flush(&mut self) -> Result<u64, DeliveryError> {
        self.poster.post(self.lines.clone().into_bytes())?;
        self.lines.clear();
        Ok(std::mem::take(&mut self.seconds))
    }

    fn give_up(&mut self) {
        self.lines.clear();
        self.seconds = 0;
    }
}

fn lines(out: &mut String, second: &Snapshot, totals: &OutputTotals, run: &RunLabels) {
    let at = run.unix_ns(second.end);
    for series in &second.series {
        let measurement = match series.key.kind {
            SeriesKind::Request => "loadstone_request",
            SeriesKind::Group => "loadstone_group",
            SeriesKind::Iteration => "loadstone_iteration",
            SeriesKind::Check => "loadstone_check",
        };
        let mut fields = format!("count={}i,failed={}i", series.count, series.failed);
        // Formatting into a string cannot fail.
        if series.key.kind != SeriesKind::Check && !series.response.is_empty() {
            let _ = write!(fields, ",{}", times(&series.response));
        }
        if series.key.kind == SeriesKind::Request {
            let _ = write!(fields, ",sent_bytes={}i,received_bytes={}i", series.bytes_sent, series.bytes_received);
        }
        let tags = labels(&series.key).into_iter().map(|(name, value)| (name.to_owned(), value.to_string()));
        point(out, measurement, tags, run, &fields, at);
    }
    for flow in &second.flows {
        let mut fields =
            format!("started={}i,finished={}i,timed_out={}i,open={}i", flow.started, flow.finished, flow.timed_out, flow.backlog);
        if !flow.time.is_empty() {
            let _ = write!(fields, ",{}", times(&flow.time));
        }
        point(out, "loadstone_flow", std::iter::once(("flow".to_owned(), flow.name.to_string())), run, &fields, at);
    }
    for metric in &second.metrics {
        let mut fields = format!("count={}i", metric.value.count());
        for (figure, value) in metric.value.figures() {
            let _ = write!(fields, ",{figure}={value}");
        }
        let tags = metric_labels(metric).into_iter().map(|(name, value)| (name.to_owned(), value.to_string()));
        point(out, "loadstone_metric", tags, run, &fields, at);
    }
    for (scenario, load) in totals.load_by_scenario() {
        let fields = format!("users_active={}i,users_asked={}i,arrivals_waiting={}i", load.active, load.asked, load.waiting);
        point(out, "loadstone_load", std::iter::once(("scenario".to_owned(), scenario.to_string())), run, &fields, at);
    }
}

fn signals(out: &mut String, second: &OutputSecond, totals: &OutputTotals, run: &RunLabels) {
    let at = run.unix_ns(second.load.end);
    for state in second.signals.iter().filter_map(|(signal, _)| totals.signals.get(signal)) {
        let field = match state.kind {
            SignalKind::Gauge => "value",
            SignalKind::Counter => "per_second",
        };
        if let Some(value) = state.shown() {
            let tags = state.labels.iter().map(|(name, value)| ((*name).to_owned(), value.to_string()));
            point(out, "loadstone_signal", tags, run, &format!("{field}={value}"), at);
        }
    }
}

/// Of the second, nearest rank. Seconds.
fn times(response: &Histogram) -> String {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let quantile = |q: f64| seconds(response.quantile(q).unwrap_or_default());
    format!(
        "mean={},p50={},p95={},p99={},max={}",
        response.mean().unwrap_or_default() / 1e9,
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        seconds(response.max())
    )
}

fn point(out: &mut String, measurement: &str, tags: impl Iterator<Item = (String, String)>, run: &RunLabels, fields: &str, at: u64) {
    out.push_str(measurement);
    for (name, value) in tags.chain(run.labels()) {
        let _ = write!(out, ",{name}={}", escaped(&value));
    }
    let _ = writeln!(out, " {fields} {at}");
}

/// Of a tag's value (line protocol reference, special characters). A line break ends a line whatever stands before it.
fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            ',' | '=' | ' ' => out.extend(['\\', c]),
            // A trailing backslash would escape what follows the value.
            '\n' | '\r' | '\t' | '\\' => out.push('_'),
            c => out.push(c),
        }
    }
    if out.is_empty() { "_".to_owned() } else { out }
}
