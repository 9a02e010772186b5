//! A profile in the format of pprof (profile.proto of google/pprof), with the fields that Loadstone uses: stacks with their values.

use crate::decoded::CountedField;

/// What takes memory in a profile.
pub const FIELDS: &[CountedField] = &[
    CountedField::message::<PprofValueType>(1, &[]),
    CountedField::message::<PprofSample>(2, &[CountedField::numbers(1), CountedField::numbers(2)]),
    CountedField::message::<PprofLocation>(4, &[CountedField::message::<PprofLine>(4, &[])]),
    CountedField::message::<PprofFunction>(5, &[]),
    CountedField::value::<String>(6),
];

#[derive(Clone, PartialEq, prost::Message)]
pub struct PprofProfile {
    #[prost(message, repeated, tag = "1")]
    pub sample_types: Vec<PprofValueType>,
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<PprofSample>,
    #[prost(message, repeated, tag = "4")]
    pub locations: Vec<PprofLocation>,
    #[prost(message, repeated, tag = "5")]
    pub functions: Vec<PprofFunction>,
    /// The first string is empty. All other strings are stored as indices into this table.
    #[prost(string, repeated, tag = "6")]
    pub strings: Vec<String>,
    #[prost(int64, tag = "10")]
    pub duration_ns: i64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct PprofValueType {
    #[prost(int64, tag = "1")]
    pub kind: i64,
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PprofSample {
    /// Ids of locations, the innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub locations: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub values: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PprofLocation {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// More than one if functions were inlined, the innermost first.
    #[prost(message, repeated, tag = "4")]
    pub lines: Vec<PprofLine>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct PprofLine {
    /// Id of a function.
    #[prost(uint64, tag = "1")]
    pub function: u64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct PprofFunction {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(int64, tag = "2")]
    pub name: i64,
    #[prost(int64, tag = "4")]
    pub file: i64,
}

impl PprofProfile {
    /// The string with this index. Empty if there is none.
    pub fn text(&self, index: i64) -> &str {
        usize::try_from(index).ok().and_then(|index| self.strings.get(index)).map_or("", String::as_str)
    }
}
