//! Signals: time series of the system under test, as observers and stubs read them.
//!
//! Read [`Signal`] first (name, unit, meaning), then [`Role`] (the vocabulary that observers write and rules read). A [`SignalBatch`] carries
//! readings from a source to their recorder. Deliberately absent: how a source reads them (`observe`), and conclusions from them (`analysis`).

mod batch;
pub mod function_labels;
mod pool_members;
mod role;
pub mod stub_observer;
mod time_series;
pub mod unit;

pub use batch::{NoticeKind, SignalBatch, SignalNotice};
pub use pool_members::PoolMembers;
pub use role::Role;
pub use time_series::{Signal, SignalKind, SignalPoint};
