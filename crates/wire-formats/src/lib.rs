//! Formats that several crates read or write: Kafka's protocol, common OTLP messages, pprof profiles, access logs.
//!
//! A format belongs here when two crates need it, so that each is defined once. Deliberately absent: sockets, files, and formats that one crate
//! needs alone.

pub mod access_log;
pub mod decoded;
pub mod kafka;
pub mod otlp;
pub mod pprof;
