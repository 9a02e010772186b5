//! Flows: asynchronous journeys that start in one place and finish in another, correlated by a key.
//!
//! Read [`FlowEvent`] first (reported by scenarios, stubs, hooks and observers), then [`FlowBook`] (correlates the events of all sources) and
//! [`FlowSlice`] (one second of one flow, carried by [`crate::Snapshot`]). Every number is defined in docs/metrics.md. Deliberately absent:
//! percentiles over a run (`analysis`), threads and channels, the original strings of keys.

mod book;
mod event;
mod lingering;
mod memory;
mod slice;
mod table;
#[cfg(test)]
mod tests;

pub use book::{FlowBook, FlowLimits};
pub use event::{FlowDefinition, FlowEvent, FlowKey, FlowStep};
pub use slice::{FlowSlice, FlowStageSlice};
