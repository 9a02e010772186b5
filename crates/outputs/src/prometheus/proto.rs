//! The used messages of remote write 1.0 (prometheus/prompb: types.proto, remote.proto).

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) timeseries: Vec<TimeSeries>,
    #[prost(message, repeated, tag = "3")]
    pub(super) metadata: Vec<Metadata>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TimeSeries {
    /// Sorted by name.
    #[prost(message, repeated, tag = "1")]
    pub(super) labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    pub(super) samples: Vec<WrittenSample>,
    #[prost(message, repeated, tag = "4")]
    pub(super) histograms: Vec<NativeHistogram>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Label {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WrittenSample {
    #[prost(double, tag = "1")]
    pub(super) value: f64,
    /// Milliseconds since 1970.
    #[prost(int64, tag = "2")]
    pub(super) timestamp: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Metadata {
    #[prost(enumeration = "MetricType", tag = "1")]
    pub(super) kind: i32,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) help: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
pub(super) enum MetricType {
    Unknown = 0,
    Counter = 1,
    Gauge = 2,
    Histogram = 3,
}

/// `prompb.Histogram` with whole counts. Buckets are runs of indices (spans). Their counts are differences from the previous bucket.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct NativeHistogram {
    #[prost(uint64, optional, tag = "1")]
    pub(super) count: Option<u64>,
    #[prost(double, tag = "3")]
    pub(super) sum: f64,
    #[prost(sint32, tag = "4")]
    pub(super) schema: i32,
    #[prost(double, tag = "5")]
    pub(super) zero_threshold: f64,
    #[prost(uint64, optional, tag = "6")]
    pub(super) zero_count: Option<u64>,
    #[prost(message, repeated, tag = "11")]
    pub(super) positive_spans: Vec<Span>,
    #[prost(sint64, repeated, tag = "12")]
    pub(super) positive_deltas: Vec<i64>,
    /// Milliseconds since 1970.
    #[prost(int64, tag = "15")]
    pub(super) timestamp: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Span {
    /// For the first span, its index; for further ones, the gap after the previous span.
    #[prost(sint32, tag = "1")]
    pub(super) offset: i32,
    #[prost(uint32, tag = "2")]
    pub(super) length: u32,
}
