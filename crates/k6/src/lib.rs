//! Runs k6 scripts unchanged: one QuickJS runtime and one stackful coroutine for each VU.
//!
//! Read [`load`] (a file → [`K6Test`], the plan and the program) and [`K6Users`] (the program → users for the engine). Inside: `options` (evaluated
//! options become a plan), `coroutine` (a stack as a future), `turn` (the state of a VU, and the token with which its code reaches the worker),
//! `realm` (QuickJS with a script), `vu` (iterations), `natives` and `js` (the two halves of k6's modules),
//! `summary` (k6's end-of-test summary). Scripts are compiled by `script`.
//! Deliberately absent: sockets (`protocol`), arrivals (`engine`), k6's outputs.

mod begun_iterations;
mod coroutine;
mod ended_run;
mod environment_notes;
mod fleet_part;
mod input;
mod instance_counts;
mod load;
mod modules;
mod moved_folder;
mod named_target;
mod natives;
mod never_begun;
mod numbered;
mod open_connections;
mod operations;
mod options;
mod program_modules;
mod rate_limit;
mod realm;
mod realm_inputs;
mod recognise;
mod script_part;
mod secret_sources;
mod sinks;
mod step_counts;
mod summary;
mod test;
mod turn;
mod users;
mod vu;
mod worker;

pub use ended_run::{EndedRun, SummaryFile};
pub use fleet_part::SentK6Inputs;
pub use input::{K6Inputs, options_of_environment, stages};
pub use load::{LoadError, load};
pub use moved_folder::MovedFolder;
pub use recognise::{exports_load, imports_k6, is_k6_script};
pub use secret_sources::{SecretSource, secret_sources};
pub use sinks::{K6Sinks, TextSink};
pub use summary::summary_export;
pub use test::K6Test;
#[doc(hidden)]
pub use turn::Turn;
pub use users::{K6User, K6Users};
