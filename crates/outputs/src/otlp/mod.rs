//! OTLP over HTTP with protobuf: cumulative sums, gauges, exponential histograms.

mod proto;

use loadstone_metrics::Histogram;
use loadstone_wire_formats::otlp::{KeyValue, Resource};
use prost::Message;
use url::Url;

use crate::exponential::{Exponential, SCALE};
use crate::family::{FamilyKind, FamilyUnit, MetricFamily, PointLabels, PointValue};
use crate::poster::Poster;
use crate::run_labels::RunLabels;
use crate::second::OutputSecond;
use crate::sink::{DeliveryError, OutputKind, OutputSetup, OutputSink, SinkError, StartOutput};
use crate::totals::OutputTotals;
use proto::{
    Buckets, ExponentialHistogram, ExponentialPoint, ExportRequest, Gauge, InstrumentationScope, MetricData, NumberPoint, OtlpMetric,
    ResourceMetrics, ScopeMetrics, Sum, Temporality,
};

/// Default path of metrics at a collector (OpenTelemetry specification, OTLP exporter).
const DEFAULT_PATH: &str = "/v1/metrics";

pub(crate) const OTLP: OutputKind =
    OutputKind { name: "otlp", title: "OTLP", start: StartOutput::Url { default_path: Some(DEFAULT_PATH), start: OtlpSink::start } };

struct OtlpSink {
    poster: Poster,
    totals: OutputTotals,
    run: RunLabels,
    /// Time of the state. Nanoseconds since 1970.
    unix_ns: u64,
}

impl OtlpSink {
    fn start(url: &Url, OutputSetup { headers, totals, run }: OutputSetup<'_>) -> Result<Box<dyn OutputSink>, SinkError> {
        let poster = Poster::new(url, &[("content-type", "application/x-protobuf")], headers)?;
        Ok(Box::new(Self { poster, totals, run, unix_ns: 0 }))
    }
}

impl OutputSink for OtlpSink {
    fn take(&mut self, second: &OutputSecond) {
        self.totals.add(second);
        self.unix_ns = self.run.unix_ns(second.load.end);
    }

    fn flush(&mut self) -> Result<u64, DeliveryError> {
        let request = export_request(&self.totals, &self.run, self.unix_ns);
        self.poster.post(request.encode_to_vec()).map(|()| 1)
    }

    /// The state is cumulative, so nothing is reset.
    fn give_up(&mut self) {}
}

fn export_request(totals: &OutputTotals, run: &RunLabels, unix_ns: u64) -> ExportRequest {
    let times = (run.unix_ns(0), unix_ns);
    let metrics = totals.families().iter().map(|family| metric(family, times)).collect();
    let mut attributes = vec![attribute("service.name", "loadstone")];
    attributes.extend(run.labels().map(|(name, value)| attribute(&format!("loadstone.{name}"), &value)));
    let scope = InstrumentationScope { name: "loadstone".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics }];
    ExportRequest { resource_metrics: vec![ResourceMetrics { resource: Some(Resource { attributes }), scope_metrics }] }
}

/// Named so that a translation into Prometheus names, which appends the unit and `total`, gives the names of remote write.
fn metric(family: &MetricFamily<'_>, times: (u64, u64)) -> OtlpMetric {
    let unit = match family.unit {
        FamilyUnit::One => "",
        FamilyUnit::Seconds => "s",
        FamilyUnit::Bytes => "By",
    };
    let numbers = || family.points.iter().filter_map(|(labels, value)| number(labels, *value, times)).collect();
    let temporality = Temporality::Cumulative.into();
    let data = match family.kind {
        FamilyKind::Counter => MetricData::Sum(Sum { data_points: numbers(), temporality, is_monotonic: true }),
        FamilyKind::Gauge => MetricData::Gauge(Gauge { data_points: numbers() }),
        FamilyKind::Histogram => {
            let data_points = family.points.iter().filter_map(|(labels, value)| distribution(labels, *value, times)).collect();
            MetricData::ExponentialHistogram(ExponentialHistogram { data_points, temporality })
        }
    };
    OtlpMetric { name: format!("loadstone.{}", family.stem), description: family.help.to_owned(), unit: unit.to_owned(), data: Some(data) }
}

fn number(labels: &PointLabels, value: PointValue<'_>, (start_unix_ns, unix_ns): (u64, u64)) -> Option<NumberPoint> {
    let PointValue::Number(number) = value else { return None };
    Some(NumberPoint { attributes: attributes(labels), start_unix_ns, unix_ns, as_double: Some(number) })
}

fn distribution(labels: &PointLabels, value: PointValue<'_>, (start_unix_ns, unix_ns): (u64, u64)) -> Option<ExponentialPoint> {
    let PointValue::Times(times) = value else { return None };
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

fn attributes(labels: &PointLabels) -> Vec<KeyValue> {
    labels.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    KeyValue::text(name, value)
}
