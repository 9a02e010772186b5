//! A run's numbers, every second, to where teams already look: Prometheus, OpenTelemetry, StatsD, InfluxDB.
//!
//! Read [`Outputs`] first, then `sink` (what an output is), `kinds` (the table of outputs) and a file or folder per kind. Every output
//! has a separate thread behind a bounded queue (`outlet`), so that a slow or unavailable receiver costs the load nothing. Lost data
//! is counted. Deliberately absent: percentiles of the whole run and verdicts (`analysis`), and anything on a worker's thread.
//!
//! From the bottom up: what is sent (`run_labels`, `family`, `signals`, `second`, `totals`, `exponential`), how (`sink`, `poster`),
//! the kinds (`influx`, `otlp`, `prometheus`, `statsd`), then `kinds`, `destination`, `outlet`, `outputs`. None of the kinds knows
//! another.

mod destination;
mod exponential;
mod family;
mod influx;
mod kinds;
mod otlp;
mod outlet;
mod outputs;
mod poster;
mod prometheus;
mod run_labels;
mod second;
mod signals;
mod sink;
mod statsd;
mod totals;

pub use destination::{Destination, DestinationError};
pub use outlet::OutputDelivery;
pub use outputs::{OutputError, Outputs};
pub use run_labels::RunLabels;
pub use sink::SinkError;
