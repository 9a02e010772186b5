//! The definition of a flow, and the events of its journeys.

use std::hash::{DefaultHasher, Hasher};
use std::num::NonZeroU64;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;

/// A journey's key, hashed to 64 bits. Among ten million keys, the probability that any two collide is 3·10⁻⁶.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FlowKey(NonZeroU64);

impl FlowKey {
    /// The same string yields the same key on every thread, and on every machine with this version.
    pub fn of(text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(text.as_bytes());
        Self::numbered(hasher.finish())
    }

    pub(super) fn numbered(hash: u64) -> Self {
        Self(NonZeroU64::new(hash).unwrap_or(NonZeroU64::MAX))
    }

    pub(super) fn number(self) -> u64 {
        self.0.get()
    }
}

/// An event of a journey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowStep {
    Start,
    /// The journey has reached the stage with this number.
    Stage(u8),
    Finish,
}

/// An event of one journey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowEvent {
    /// Number of the flow, in the order passed to [`FlowBook::new`](super::FlowBook::new).
    pub flow: u32,
    pub key: FlowKey,
    pub step: FlowStep,
    /// When it happened. A start may lie in the past: it counts from when its request was *due*.
    pub at: Nanos,
}

/// The definition of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowDefinition {
    pub name: Arc<str>,
    /// A journey that takes longer counts as lost. Nanoseconds.
    pub timeout_ns: Option<u64>,
    /// Names of the stages in the order in which journeys pass them. At most [`FlowDefinition::STAGES_MAX`].
    pub stages: Vec<Arc<str>>,
}

impl FlowDefinition {
    pub const STAGES_MAX: usize = 32;
}
