//! Data that users draw on: rows of files, shared values, unique texts, random draws, templates, services of gRPC.
//!
//! Read [`store::Store`], which all realms of a process share, then [`feeder::Feeder`]. The parts are plain Rust and know no JavaScript; `bindings`
//! puts them in front of scripts. Deliberately absent: anything that one user keeps to itself (cookies, `state`).

pub(crate) mod bindings;
pub(crate) mod collection;
pub(crate) mod common_data;
pub(crate) mod draws;
pub(crate) mod elsewhere;
pub(crate) mod feeder;
pub(crate) mod files;
pub(crate) mod protos;
mod rows;
mod shared;
pub(crate) mod store;
mod template;
mod unique;
