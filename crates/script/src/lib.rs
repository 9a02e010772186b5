//! Scenarios in TypeScript: compiled, evaluated into a plan, and run as virtual users.
//!
//! Read [`load`] (a file → [`Loaded`], the plan and the program) and [`ScriptUsers`] (the program → users for the engine).
//! Inside: `compile` (TypeScript → JavaScript), `realm` (QuickJS), `module` (the `"loadstone"` module), `crew` (users,
//! operations, the driver), `user` (the user object: requests and responses), `stubs` (simulated endpoints and their functions). Deliberately absent: sockets (`protocol`),
//! arrivals (`engine`), percentiles.

mod compile;
mod crew;
mod data;
mod error;
mod extract;
mod globals;
mod load;
mod module;
mod parameters;
mod realm;
mod settings;
mod stubs;
mod user;

pub use compile::Program;
pub use crew::{ConsoleLine, Direction, Level, MessageSink, ScriptUser, ScriptUsers, Sink, Sinks, TraceSink, Traced, TracedMessage};
pub use data::collection::Collected;
pub use error::{Frame, Place, ScriptError};
pub use load::{Loaded, load};
pub use parameters::{Inputs, Missing, ObserverCheck};
pub use stubs::{StubConsole, Stubs};
