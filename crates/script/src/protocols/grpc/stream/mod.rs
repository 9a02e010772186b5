//! Calls that send and receive messages one by one: `user.grpcStream(…)`.
//!
//! Read `open` (the call begins), `running` (its state while it is open, and its record at the end), `follow` (its reader) and `object`
//! (the script's view). Received messages wait in a channel: see `messages`.

mod follow;
pub(super) mod object;
pub(super) mod open;
mod running;
mod steps;
