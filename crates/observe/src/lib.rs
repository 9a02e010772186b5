//! The system's own signals, read while the load runs, on the load's clock.
//!
//! Read [`Observer`] first (a source, as a value created from a test plan's description), then [`Observation`] (all observers of a
//! run on one thread, delivering [`loadstone_metrics::SignalBatch`]es over a bounded channel). To add a kind of observer, read `kind.rs` and one
//! file of `kinds/`: its options, its row in the documentation and its errors all come from the constant `KIND` there.
//!
//! An observer that fails reports a [`loadstone_metrics::SignalNotice`], never an error that ends a run. A gap is the absence of points, and
//! notices state when it began and ended. Deliberately absent: alignment with the load and conclusions (`analysis`), files
//! (`run-directory`), and exact instants: the timestamp of a reading is the middle of its duration.

mod allowance;
mod collector;
mod database;
mod delivery;
mod description;
mod error;
mod http;
mod jitter;
mod kind;
mod kinds;
mod observation;
mod observer;
mod option;
mod otlp;
mod pace;
mod pools;
mod procfs;
mod queues;
mod reader;
mod reference;
mod runtimes;
mod stacks;

pub use error::ObserveError;
#[cfg(all(target_os = "linux", any(test, feature = "fuzzing")))]
pub use kinds::fuzzing;
pub use kinds::process::processes_on;
pub use kinds::traces::recorded_traces;
pub use observation::Observation;
pub use observer::Observer;
pub use otlp::{MessageError, OtlpMessages};
pub use reader::HostPermission;
pub use reference::{KindDescription, described_kinds, reference};
