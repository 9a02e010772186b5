//! Observers against real PostgreSQL, MariaDB, Redis and Kafka servers, which the tests start and stop.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

#[path = "../../../cli/tests/it/harness/free_port.rs"]
mod free_port;
mod kafka;
mod listeners;
mod mysql;
mod page;
mod postgres;
mod process;
mod redis;
mod runtimes;
mod servers;
mod traces;
mod watching;
