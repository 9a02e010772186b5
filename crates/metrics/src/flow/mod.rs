//! Flows: asynchronous journeys that start in one place and finish in another, correlated by a key.
//!
//! Read [`FlowEvent`] first (what scenarios, stubs, hooks and observers report), then [`FlowBook`] (puts the events of all of them
//! together) and [`FlowSlice`] (one second of one flow, carried by [`crate::Snapshot`]). Every number is defined in docs/metrics.md.
//! Deliberately absent: percentiles over a run (`analysis`), threads and channels, the texts of keys.

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
