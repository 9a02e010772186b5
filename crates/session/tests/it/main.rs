//! Whole small runs against a stub server, seen through their subscribers; and responses that are read late.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod events;
mod late_reads;
mod requests;
mod small_runs;
