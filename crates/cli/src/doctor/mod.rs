//! `loadstone doctor`: how much load this machine can generate, whether the intended load fits, and how to raise the limits.
//!
//! Read [`readings`] (the data), then [`checks`] (their meaning; pure). Deliberately absent: load, and any change to the machine.

mod checks;
mod probe;
mod readings;

pub(crate) use checks::{IntendedLoad, examine};
pub(crate) use probe::read_machine;
