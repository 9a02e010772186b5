//! Data of tests: rows of files, shared values, unique strings, random draws, templates, gRPC services.
//!
//! Read [`store::Store`], which all realms of a process share, then [`feeder::Feeder`]. The parts are plain Rust without JavaScript;
//! `bindings` exposes them to scripts. Deliberately absent: data of a single user (cookies, `state`).

pub(crate) mod bindings;
pub(crate) mod collection;
pub(crate) mod common_data;
pub(crate) mod draws;
pub(crate) mod elsewhere;
pub(crate) mod feeder;
pub(crate) mod files;
pub(crate) mod protos;
pub(crate) mod rows;
mod shared;
pub(crate) mod store;
mod template;
mod unique;
