//! The identity of a measurement.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    Request,
    Group,
    /// Whole iterations of a scenario.
    Iteration,
    /// A named `check`: passed and failed counts, no times.
    Check,
}

/// Identity of a series. Series of two workers with equal keys are the same series.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SeriesKey {
    pub kind: SeriesKind,
    pub scenario: Arc<str>,
    /// The innermost group around the request. Empty outside groups.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub group: Arc<str>,
    /// Request name, group name, check name; the scenario's own name for iterations.
    pub name: Arc<str>,
}

/// A series of one recorder. Store it: looking it up by key hashes strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SeriesId(pub(crate) u32);

impl SeriesKey {
    /// The key of a measurement outside groups.
    pub fn new(kind: SeriesKind, scenario: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { kind, scenario: scenario.into(), group: Arc::default(), name: name.into() }
    }
}
