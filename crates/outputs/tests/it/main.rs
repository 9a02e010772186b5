//! Outputs against receivers: Prometheus itself, and decoders that are not ours.

mod dashboard;
mod fixtures;
mod influx;
mod otlp;
mod prometheus;
mod receiver;
mod statsd;
