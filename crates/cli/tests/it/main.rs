//! End-to-end tests: the real binary, used as a user would, against real servers.
//!
//! Read [`harness`] first. `cargo xtask setup` installs the requirements. A missing server fails its tests.

mod answers;
mod bad_input;
mod bodies;
mod broken_tests;
mod capacity;
mod commands;
mod comparison;
mod data;
mod doctor;
mod ending;
mod events;
mod exchange;
mod experiment;
mod fleet;
mod fleet_faults;
mod fleet_keys;
mod flows;
mod harness;
mod hostile;
mod imported_wire;
mod imports;
mod k6_runs;
mod kubernetes;
mod labs;
mod metrics;
mod network;
mod objectives;
mod observers;
mod outputs;
mod pipelines;
mod runtimes;
mod secrets;
mod servers;
mod set_up;
mod systems;
mod tables;
mod tls;
mod traces;
mod tutorial;
mod ui;
mod url;
mod wire;
mod workers;
