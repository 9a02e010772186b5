//! Remote write 1.0: snappy-compressed protobuf, every second the whole state. A second that is lost is a missing point, no missing request.

use prost::Message;
use url::Url;

use metrics::Histogram;

use super::proto::{Label, Metadata, MetricType, NativeHistogram, Sample, Span, TimeSeries, WriteRequest};
use super::{below, bounds};
use crate::exponential::{Exponential, SCALE};
use crate::http::Poster;
use crate::outlet::{Problem, Sink};
use crate::outputs::RunLabels;
use crate::second::Second;
use crate::totals::{Kind, Labels, Totals, Value};

/// Values up to this count as 0. Seconds.
const ZERO_THRESHOLD: f64 = 1e-9;

/// How response times are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Histograms {
    /// A series per bucket: every receiver takes them.
    Classic,
    /// One series of many fine buckets: the receiver must know them.
    Native,
}

pub(crate) struct RemoteWrite {
    poster: Poster,
    totals: Totals,
    run: RunLabels,
    histograms: Histograms,
    /// Of the state. Milliseconds since 1970.
    timestamp: i64,
}

impl RemoteWrite {
    pub(crate) fn new(
        url: &Url,
        given: &[(String, String)],
        totals: Totals,
        run: RunLabels,
        histograms: Histograms,
    ) -> Result<Self, String> {
        let headers =
            [("content-type", "application/x-protobuf"), ("content-encoding", "snappy"), ("x-prometheus-remote-write-version", "0.1.0")];
        Ok(Self { poster: Poster::new(url, &headers, given)?, totals, run, histograms, timestamp: 0 })
    }
}

impl Sink for RemoteWrite {
    fn take(&mut self, second: &Second) {
        self.totals.add(second);
        self.timestamp = self.run.unix_ms(second.load.end);
    }

    fn flush(&mut self) -> Result<u64, Problem> {
        let request = write_request(&self.totals, &self.run, self.histograms, self.timestamp);
        let compressed = snap::raw::Encoder::new().compress_vec(&request.encode_to_vec());
        let compressed = compressed.map_err(|problem| Problem { text: problem.to_string(), passing: false })?;
        self.poster.post(compressed).map(|()| 1)
    }

    /// The state goes on.
    fn give_up(&mut self) {}
}

fn write_request(totals: &Totals, run: &RunLabels, histograms: Histograms, timestamp: i64) -> WriteRequest {
    let mut request = WriteRequest::default();
    for family in totals.families() {
        let name = family.prometheus_name();
        for (labels, value) in &family.points {
            let series = |suffix: &str, le: Option<f64>| labelled(&format!("{name}{suffix}"), labels, run, le);
            let sample = |value: f64| vec![Sample { value, timestamp }];
            let mut plain = |suffix: &str, le: Option<f64>, value: f64| {
                request.timeseries.push(TimeSeries { labels: series(suffix, le), samples: sample(value), histograms: Vec::new() });
            };
            match value {
                Value::Number(number) => plain("", None, *number),
                Value::Times(times) if histograms == Histograms::Classic => {
                    bounds().for_each(|bound| plain("_bucket", Some(bound), below(times, bound) as f64));
                    plain("_bucket", Some(f64::INFINITY), times.count() as f64);
                    plain("_sum", None, times.sum() as f64 / 1e9);
                    plain("_count", None, times.count() as f64);
                }
                Value::Times(times) => request.timeseries.push(TimeSeries {
                    labels: series("", None),
                    samples: Vec::new(),
                    histograms: vec![native(times, timestamp)],
                }),
            }
        }
        let kind = match family.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
        };
        request.metadata.push(Metadata { kind: kind.into(), name, help: family.help.to_owned() });
    }
    request
}

/// All labels of a series, sorted by name as the protocol asks.
fn labelled(name: &str, labels: &Labels, run: &RunLabels, le: Option<f64>) -> Vec<Label> {
    let own = labels.iter().map(|(name, value)| ((*name).to_owned(), value.to_string()));
    let mut all: Vec<(String, String)> = own.chain(run.labels()).collect();
    all.push(("__name__".to_owned(), name.to_owned()));
    all.extend(le.map(|le| ("le".to_owned(), bound_text(le))));
    all.sort();
    all.into_iter().map(|(name, value)| Label { name, value }).collect()
}

pub(super) fn bound_text(bound: f64) -> String {
    if bound.is_infinite() { "+Inf".to_owned() } else { format!("{bound:.6}").trim_end_matches('0').trim_end_matches('.').to_owned() }
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
