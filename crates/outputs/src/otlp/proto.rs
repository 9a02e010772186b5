//! The used messages of OTLP metrics (opentelemetry-proto 1.x: metrics_service.proto, metrics.proto).

use loadstone_wire_formats::otlp::{KeyValue, Resource};

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<InstrumentationScope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) metrics: Vec<OtlpMetric>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct InstrumentationScope {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OtlpMetric {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) description: String,
    #[prost(string, tag = "3")]
    pub(super) unit: String,
    #[prost(oneof = "MetricData", tags = "5, 7, 10")]
    pub(super) data: Option<MetricData>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum MetricData {
    #[prost(message, tag = "5")]
    Gauge(Gauge),
    #[prost(message, tag = "7")]
    Sum(Sum),
    #[prost(message, tag = "10")]
    ExponentialHistogram(ExponentialHistogram),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Gauge {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<NumberPoint>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Sum {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<NumberPoint>,
    #[prost(enumeration = "Temporality", tag = "2")]
    pub(super) temporality: i32,
    #[prost(bool, tag = "3")]
    pub(super) is_monotonic: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
pub(super) enum Temporality {
    Unspecified = 0,
    Delta = 1,
    Cumulative = 2,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct NumberPoint {
    #[prost(message, repeated, tag = "7")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    pub(super) start_unix_ns: u64,
    #[prost(fixed64, tag = "3")]
    pub(super) unix_ns: u64,
    #[prost(double, optional, tag = "4")]
    pub(super) as_double: Option<f64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ExponentialHistogram {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<ExponentialPoint>,
    #[prost(enumeration = "Temporality", tag = "2")]
    pub(super) temporality: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ExponentialPoint {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    pub(super) start_unix_ns: u64,
    #[prost(fixed64, tag = "3")]
    pub(super) unix_ns: u64,
    #[prost(fixed64, tag = "4")]
    pub(super) count: u64,
    #[prost(double, optional, tag = "5")]
    pub(super) sum: Option<f64>,
    #[prost(sint32, tag = "6")]
    pub(super) scale: i32,
    #[prost(fixed64, tag = "7")]
    pub(super) zero_count: u64,
    #[prost(message, optional, tag = "8")]
    pub(super) positive: Option<Buckets>,
    #[prost(double, optional, tag = "12")]
    pub(super) min: Option<f64>,
    #[prost(double, optional, tag = "13")]
    pub(super) max: Option<f64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Buckets {
    /// Index of the first bucket.
    #[prost(sint32, tag = "1")]
    pub(super) offset: i32,
    #[prost(uint64, repeated, tag = "2")]
    pub(super) counts: Vec<u64>,
}
