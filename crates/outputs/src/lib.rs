//! A run's numbers, every second, to where teams already look: Prometheus, OpenTelemetry, StatsD, InfluxDB.
//!
//! Read [`Outputs`] first, then `totals` (what the cumulative kinds send) and a file per kind. Every output has a thread of its own behind
//! a bounded queue: one that is slow or down costs the load nothing, and what it lost is counted. Deliberately absent: percentiles of
//! the whole run and verdicts (`analysis`), and anything on a worker's thread.

mod destination;
mod exponential;
mod http;
mod influx;
mod otlp;
mod outlet;
mod outputs;
mod prometheus;
mod second;
mod signals;
mod statsd;
mod totals;

pub use destination::{Destination, DestinationError};
pub use outlet::Delivery;
pub use outputs::{OutputError, Outputs, RunLabels};
