//! Runs over several machines: what the binary adds to the crate `fleet`, which knows no tests.
//!
//! `lead` is a run's side, `serve` an agent's, [`test::FleetTest`] what goes from the one to the other, `local` a fleet on this machine.

mod lead;
mod local;
mod serve;
mod test;

pub(crate) use lead::{FleetArgs, FleetRun};
pub(crate) use serve::{AgentSettings, serve};

use std::hash::{BuildHasher, RandomState};

/// A text that no other process has.
fn unique_id() -> String {
    // The standard hasher's keys come from the operating system.
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}
