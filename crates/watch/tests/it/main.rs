//! The formats against recordings of the real tools, and seconds against counts that a test computes itself.

mod damaged;
mod gatling;
mod k6_scenarios;
mod otlp;
mod recordings;
mod seconds;
mod summaries;
