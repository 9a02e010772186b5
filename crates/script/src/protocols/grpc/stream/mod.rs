//! Calls whose messages come and go one by one: `user.grpcStream(…)`.
//!
//! Read `open` (the call begins), `running` (what is known of it while it goes on, and its record at the end), `follow` (its reader) and `object`
//! (what the script has of it). What arrives waits in a channel: see `messages`.

mod follow;
pub(super) mod object;
pub(super) mod open;
mod running;
mod steps;
