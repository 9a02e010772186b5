//! `loadstone doctor`: what this machine can carry, what that means for the load asked for, and how to raise it.
//!
//! Read [`readings`] (what is read, and by whom), then [`checks`] (what it means; pure). Deliberately absent: load, and any change of the
//! machine.

mod checks;
mod probe;
mod readings;

pub(crate) use checks::{IntendedLoad, examine};
pub(crate) use probe::read_machine;
