//! Scenarios in TypeScript: compiled, evaluated into a plan, and run as virtual users.
//!
//! Read [`load`] (a file → [`Loaded`], the plan and the program) and [`ScriptUsers`] (the program → users for the engine). Inside, from the
//! bottom up: `compile` (TypeScript → JavaScript), `realm` (QuickJS), `inbound` (the interfaces of stubs and consumers), `runtime`
//! (operations, their driver, the state of users; it knows no protocol), `protocols` (HTTP, WebSockets, event streams, gRPC, …: a folder
//! each), `user` (the user object, assembled from these), `module` (the `"loadstone"` module), `stubs` (simulated endpoints, and the thread
//! of their functions and of consumers). Deliberately absent: sockets (`protocol`), arrivals (`engine`), percentiles.

mod body;
mod charset;
mod compile;
mod data;
mod error;
mod exact_json;
mod extract;
mod factory;
mod fields;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod globals;
mod grpc_types;
mod guest;
mod guest_grpc;
mod inbound;
mod iterations;
mod knobs;
mod known_verbs;
mod load;
mod loaded;
mod module;
mod named_hosts;
mod natives;
mod parameters;
mod permissions;
mod program_files;
mod protocols;
mod proxy_setting;
mod realm;
mod replay;
mod runtime;
mod settings;
mod sinks;
mod stubs;
mod summarize;
mod tags;
mod unknown_options;
mod user;

pub use compile::{GuestModules, Program, RemoteModules};
pub use data::collection::Collected;
pub use data::common_data::CommonData;
pub use data::elsewhere::CommonHome;
pub use data::feeder::{CallLeases, LeasedCalls};
pub use data::rows::read_regular;
pub use error::{ScriptError, SourcePlace, StackFrame};
pub use factory::ScriptUsers;
pub use globals::console::ConsoleLevel;
pub use grpc_types::grpc_types;
pub use guest::{
    CommonJsBody, caught_error, compile_guest, css_selector, hosts_in, install_url, parse_html, redis_text, redis_value, request_name,
    running_place, thrown_error, trace_hops,
};
pub use guest_grpc::{GuestMethod, GuestProtos, GuestServices};
pub use iterations::ScriptUser;
pub use knobs::{Knob, KnobChange, KnobTarget, KnobValue};
pub use load::{load, load_system};
pub use loaded::{Loaded, ProxyRecordChoice};
pub use named_hosts::{SETTINGS_BYTES_MAX, in_value as hosts_named_in};
pub use parameters::{Inputs, Missing, ObserverCheck, value_problem};
pub use permissions::{AccessKind, AccessRefused, FileAccess, Permissions};
pub use protocols::http::{TracedEnd, TracedOwner};
pub use sinks::{
    CheckSink, ConsoleLine, MessageDirection, MessageSink, ScriptSink, Sinks, StubConsole, TraceSink, TracedCheck, TracedExchange,
    TracedExpectation, TracedMessage, TracedRequest, TracedResponse,
};
pub use stubs::{ConsumedCount, Stubs};
