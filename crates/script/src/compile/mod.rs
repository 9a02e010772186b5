//! Compiles a test file and all its imports to JavaScript modules, ahead of any run.
//!
//! Read [`Program`] first: the immutable result that every realm loads. Deliberately absent: running anything, and any file access after
//! [`compile`] has returned. Only this folder uses oxc.

mod call_place;
mod commonjs;
mod computed_reads;
mod constants;
mod graph;
mod guest;
mod members;
mod options;
mod program;
mod resolve;
mod source;
mod transpile;
mod user_calls;

use std::sync::Arc;

pub(crate) use graph::{compile, compile_guest};
pub use guest::{GuestModules, RemoteModules};
pub(crate) use program::ModuleForm;
pub use program::Program;

const fn assert_shared<T: Send + Sync>() {}
const _: () = assert_shared::<Arc<Program>>();
