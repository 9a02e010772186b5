//! Remote write 1.0: snappy-compressed protobuf with the complete state every second. A lost second is a missing point, but loses no requests.

use prost::Message;
use url::Url;

use loadstone_metrics::Histogram;

use super::bounds::{below, bound_text, bounds};
use super::proto::{Label, Metadata, MetricType, NativeHistogram, Span, TimeSeries, WriteRequest, WrittenSample};
use crate::exponential::{Exponential, SCALE};
use crate::family::{FamilyKind, PointLabels, PointValue};
use crate::poster::Poster;
use crate::run_labels::RunLabels;
use crate::second::OutputSecond;
use crate::sink::{DeliveryError, OutputKind, OutputSetup, OutputSink, SinkError, StartOutput};
use crate::totals::OutputTotals;

/// Values up to this count as 0. Seconds.
const ZERO_THRESHOLD: f64 = 1e-9;

/// The encoding of response times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HistogramForm {
    /// One series per bucket, which every receiver supports.
    Classic,
    /// One series with many fine buckets, which the receiver must support.
    Native,
}

/// Response times as classic histograms.
pub(crate) const CLASSIC: OutputKind = OutputKind {
    name: "prometheus",
    title: "Prometheus",
    start: StartOutput::Url { default_path: None, start: |url, setup| RemoteWrite::start(url, setup, HistogramForm::Classic) },
};

/// Response times as native histograms.
pub(crate) const NATIVE: OutputKind = OutputKind {
    name: "prometheus-native",
    title: "Prometheus",
    start: StartOutput::Url { default_path: None, start: |url, setup| RemoteWrite::start(url, setup, HistogramForm::Native) },
};

struct RemoteWrite {
    poster: Poster,
    totals: OutputTotals,
    run: RunLabels,
    histograms: HistogramForm,
    /// Time of the state. Milliseconds since 1970.
    timestamp: i64,
}

impl RemoteWrite {
    fn start(
        url: &Url,
        OutputSetup { headers, totals, run }: OutputSetup<'_>,
        histograms: HistogramForm,
    ) -> Result<Box<dyn OutputSink>, SinkError> {
        let own =
            [("content-type", "application/x-protobuf"), ("content-encoding", "snappy"), ("x-prometheus-remote-write-version", "0.1.0")];
        Ok(Box::new(Self { poster: Poster::new(url, &own, headers)?, totals, run, histograms, timestamp: 0 }))
    }
}

impl OutputSink for RemoteWrite {
    fn take(&mut self, second: &OutputSecond) {
        self.totals.add(second);
        self.timestamp = self.run.unix_ms(second.load.end);
    }

    fn flush(&mut self) -> Result<u64, DeliveryError> {
        let request = write_request(&self.totals, &self.run, self.histograms, self.timestamp);
        let compressed = snap::raw::Encoder::new().compress_vec(&request.encode_to_vec());
        let compressed = compressed.map_err(|problem| DeliveryError { text: problem.to_string(), is_transient: false })?;
        self.poster.post(compressed).map(|()| 1)
    }

    /// The state is cumulative, so nothing is reset.
    fn give_up(&mut self) {}
}

fn write_request(totals: &OutputTotals, run: &RunLabels, histograms: HistogramForm, timestamp: i64) -> WriteRequest {
    let mut request = WriteRequest::default();
    for family in totals.families() {
        let name = family.prometheus_name();
        for (labels, value) in &family.points {
            let series = |suffix: &str, le: Option<f64>| labelled(&format!("{name}{suffix}"), labels, run, le);
            let sample = |value: f64| vec![WrittenSample { value, timestamp }];
            let mut plain = |suffix: &str, le: Option<f64>, value: f64| {
                request.timeseries.push(TimeSeries { labels: series(suffix, le), samples: sample(value), histograms: Vec::new() });
            };
            match value {
                PointValue::Number(number) => plain("", None, *number),
                PointValue::Times(times) if histograms == HistogramForm::Classic => {
                    bounds().for_each(|bound| plain("_bucket", Some(bound), below(times, bound) as f64));
                    plain("_bucket", Some(f64::INFINITY), times.count() as f64);
                    plain("_sum", None, times.sum() as f64 / 1e9);
                    plain("_count", None, times.count() as f64);
                }
                PointValue::Times(times) => request.timeseries.push(TimeSeries {
                    labels: series("", None),
                    samples: Vec::new(),
                    histograms: vec![native(times, timestamp)],
                }),
            }
        }
        let kind = match family.kind {
            FamilyKind::Counter => MetricType::Counter,
            FamilyKind::Gauge => MetricType::Gauge,
            FamilyKind::Histogram => MetricType::Histogram,
        };
        request.metadata.push(Metadata { kind: kind.into(), name, help: family.help.to_owned() });
    }
    request
}

/// All labels of a series, sorted by name as the protocol requires.
fn labelled(name: &str, labels: &PointLabels, run: &RunLabels, le: Option<f64>) -> Vec<Label> {
    let own = labels.iter().map(|(name, value)| ((*name).to_owned(), value.to_string()));
    let mut all: Vec<(String, String)> = own.chain(run.labels()).collect();
    all.push(("__name__".to_owned(), name.to_owned()));
    all.extend(le.map(|le| ("le".to_owned(), bound_text(le))));
    all.sort();
    all.into_iter().map(|(name, value)| Label { name, value }).collect()
}

fn native(times: &Histogram, timestamp: i64) -> NativeHistogram {
    let exponential = Exponential::of(times);
    let (mut spans, mut deltas) = (Vec::<Span>::new(), Vec::new());
    let (mut next, mut before) = (0, 0);
    for (index, count) in &exponential.buckets {
        match spans.last_mut() {
            Some(span) if *index == next => span.length += 1,
            _ => spans.push(Span { offset: index - next, length: 1 }),
        }
        next = index + 1;
        deltas.push(*count as i64 - before);
        before = *count as i64;
    }
    NativeHistogram {
        count: Some(exponential.count),
        sum: exponential.sum_seconds,
        schema: SCALE,
        zero_threshold: ZERO_THRESHOLD,
        zero_count: Some(exponential.zero),
        positive_spans: spans,
        positive_deltas: deltas,
        timestamp,
    }
}
