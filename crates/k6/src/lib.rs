//! Runs k6 scripts unchanged: one QuickJS runtime and one stackful coroutine for each VU.
//!
//! Read [`load`] (a file → [`K6Test`], the plan and the program) and [`K6Users`] (the program → users for the engine). Inside: `options` (evaluated
//! options become a plan), `coroutine` (a stack as a future), `turn` (the state of a VU, and the token with which its code reaches the worker),
//! `realm` (QuickJS with a script), `vu` (iterations), `natives` and `js` (the two halves of k6's modules). Scripts are compiled by `script`.
//! Deliberately absent: sockets (`protocol`), arrivals (`engine`), k6's outputs and summaries (`report`).

mod completed_request;
mod coroutine;
mod input;
mod load;
mod modules;
mod natives;
mod options;
mod realm;
mod realm_inputs;
mod recognise;
mod script_part;
mod sinks;
mod test;
mod turn;
mod users;
mod vu;
mod worker;

pub use input::{K6Inputs, options_of_environment, stages};
pub use load::load;
pub use recognise::is_k6_script;
pub use sinks::{K6Sinks, TextSink};
pub use test::K6Test;
#[doc(hidden)]
pub use turn::Turn;
pub use users::{K6User, K6Users};
