//! The identity of a measurement.

use std::borrow::Cow;
use std::sync::Arc;

use loadstone_units::text::stored;
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
    /// The key with names that may be stored: bounded and printable. `None`: they already are.
    pub(crate) fn stored(&self) -> Option<Self> {
        let clean = |name: &Arc<str>| match stored(name) {
            Cow::Borrowed(_) => None,
            Cow::Owned(name) => Some(Arc::from(name)),
        };
        let (group, name) = (clean(&self.group), clean(&self.name));
        (group.is_some() || name.is_some()).then(|| Self {
            group: group.unwrap_or_else(|| Arc::clone(&self.group)),
            name: name.unwrap_or_else(|| Arc::clone(&self.name)),
            ..self.clone()
        })
    }

    /// The key of a measurement outside groups.
    pub fn new(kind: SeriesKind, scenario: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { kind, scenario: scenario.into(), group: Arc::default(), name: name.into() }
    }
}
