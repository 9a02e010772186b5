//! The run directory as a user of the crate sees it.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]

mod directory;
mod export;
mod fixtures;
mod history;
mod hostile;
mod long;
mod secrets;
mod traces;
