//! Messages of OTLP that traces and metrics share (opentelemetry-proto 1.x: resource.proto, common.proto), with the fields that Loadstone uses.
//!
//! Strings are bytes here, which have the same wire format. A decoded string is therefore a view of its message, and no value is copied.

use bytes::Bytes;

use crate::decoded::CountedField;

/// What takes memory in a [`Resource`].
pub const RESOURCE_FIELDS: &[CountedField] = &[CountedField::message::<KeyValue>(1, &[])];

#[derive(Clone, PartialEq, prost::Message)]
pub struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct KeyValue {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// Only strings are used.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AnyValue {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub text: Option<Bytes>,
}

impl KeyValue {
    pub fn text(key: &str, value: &str) -> Self {
        let value = AnyValue { text: Some(Bytes::copy_from_slice(value.as_bytes())) };
        Self { key: Bytes::copy_from_slice(key.as_bytes()), value: Some(value) }
    }
}
