//! The system's own signals, read while the load runs, on the load's clock.
//!
//! Read [`Observer`] first (what is read, as a value made from a test plan's description), then [`Observation`] (all observers of
//! a run on one thread, delivering [`metrics::SignalBatch`]es over a bounded channel). An observer that fails gives a [`metrics::SignalNotice`], never
//! an error that ends a run; a gap is the absence of points, and notices say when it began and ended. Deliberately
//! absent: alignment with the load and conclusions (`analysis`), files (`run`), and any wish to be exact about a moment: a
//! reading carries the middle of the time it took.

mod cgroup;
mod description;
mod host;
mod http;
mod observation;
mod observer;
mod postgres;
mod process;
mod procfs;
mod prometheus;
mod readings;
mod redis_info;
mod sql;
mod statsd;

pub use observation::Observation;
pub use observer::{ObserveError, Observer};
