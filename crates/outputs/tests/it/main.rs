//! Outputs against receivers: Prometheus itself, and decoders that are not ours.

mod dashboard;
mod influx;
mod made;
mod otlp;
mod prometheus;
mod receiver;
mod statsd;
