//! OTLP over HTTP with protobuf: cumulative sums, gauges, exponential histograms.

mod proto;

use metrics::Histogram;
use prost::Message;
use url::Url;

use crate::exponential::{Exponential, SCALE};
use crate::http::Poster;
use crate::outlet::{Problem, Sink};
use crate::outputs::RunLabels;
use crate::second::Second;
use crate::totals::{Family, Kind, Labels, Totals, Unit, Value};
use proto::{
    AnyValue, Buckets, Data, ExponentialHistogram, ExponentialPoint, ExportRequest, Gauge, KeyValue, Metric, NumberPoint, Resource,
    ResourceMetrics, Scope, ScopeMetrics, Sum, Temporality,
};

pub(crate) struct Otlp {
    poster: Poster,
    totals: Totals,
    run: RunLabels,
    /// Of the state. Nanoseconds since 1970.
    unix_ns: u64,
}

impl Otlp {
    pub(crate) fn new(url: &Url, given: &[(String, String)], totals: Totals, run: RunLabels) -> Result<Self, String> {
        let poster = Poster::new(url, &[("content-type", "application/x-protobuf")], given)?;
        Ok(Self { poster, totals, run, unix_ns: 0 })
    }
}

impl Sink for Otlp {
    fn take(&mut self, second: &Second) {
        self.totals.add(second);
        self.unix_ns = self.run.unix_ns(second.load.end);
    }

    fn flush(&mut self) -> Result<u64, Problem> {
        let request = export_request(&self.totals, &self.run, self.unix_ns);
        self.poster.post(request.encode_to_vec()).map(|()| 1)
    }

    /// The state goes on.
    fn give_up(&mut self) {}
}

fn export_request(totals: &Totals, run: &RunLabels, unix_ns: u64) -> ExportRequest {
    let times = (run.unix_ns(0), unix_ns);
    let metrics = totals.families().iter().map(|family| metric(family, times)).collect();
    let mut attributes = vec![attribute("service.name", "loadstone")];
    attributes.extend(run.labels().map(|(name, value)| attribute(&format!("loadstone.{name}"), &value)));
    let scope = Scope { name: "loadstone".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics }];
    ExportRequest { resource_metrics: vec![ResourceMetrics { resource: Some(Resource { attributes }), scope_metrics }] }
}

/// Named so that a translation into Prometheus' names gives the same as remote write (unit and `total` are added there).
fn metric(family: &Family<'_>, times: (u64, u64)) -> Metric {
    let unit = match family.unit {
        Unit::One => "",
        Unit::Seconds => "s",
        Unit::Bytes => "By",
    };
    let numbers = || family.points.iter().filter_map(|(labels, value)| number(labels, *value, times)).collect();
    let temporality = Temporality::Cumulative.into();
    let data = match family.kind {
        Kind::Counter => Data::Sum(Sum { data_points: numbers(), temporality, is_monotonic: true }),
        Kind::Gauge => Data::Gauge(Gauge { data_points: numbers() }),
        Kind::Histogram => {
            let data_points = family.points.iter().filter_map(|(labels, value)| distribution(labels, *value, times)).collect();
            Data::ExponentialHistogram(ExponentialHistogram { data_points, temporality })
        }
    };
    Metric { name: format!("loadstone.{}", family.stem), description: family.help.to_owned(), unit: unit.to_owned(), data: Some(data) }
}

fn number(labels: &Labels, value: Value<'_>, (start_unix_ns, unix_ns): (u64, u64)) -> Option<NumberPoint> {
    let Value::Number(number) = value else { return None };
    Some(NumberPoint { attributes: attributes(labels), start_unix_ns, unix_ns, as_double: Some(number) })
}

fn distribution(labels: &Labels, value: Value<'_>, (start_unix_ns, unix_ns): (u64, u64)) -> Option<ExponentialPoint> {
    let Value::Times(times) = value else { return None };
    let exponential = Exponential::of(times);
    let seconds = |ns: u64| (!times.is_empty()).then_some(ns as f64 / 1e9);
    Some(ExponentialPoint {
        attributes: attributes(labels),
        start_unix_ns,
        unix_ns,
        count: exponential.count,
        sum: Some(exponential.sum_seconds),
        scale: SCALE,
        zero_count: exponential.zero,
        positive: buckets(&exponential),
        min: seconds(Histogram::min(times)),
        max: seconds(Histogram::max(times)),
    })
}

/// One list from the first bucket to the last. OpenTelemetry's bucket `i` begins where Prometheus' bucket `i` ends.
fn buckets(exponential: &Exponential) -> Option<Buckets> {
    let (first, last) = (*exponential.buckets.keys().next()?, *exponential.buckets.keys().next_back()?);
    let counts = (first..=last).map(|index| exponential.buckets.get(&index).copied().unwrap_or(0)).collect();
    Some(Buckets { offset: first - 1, counts })
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    labels.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    KeyValue { key: name.to_owned(), value: Some(AnyValue { text: Some(value.to_owned()) }) }
}
