//! A fleet on virtual time, over a bus with scheduled faults, and over a real NATS server.

mod replacement;
mod sim_agent;
mod sim_bus;
mod sim_run;
mod simulation;
mod wire;
