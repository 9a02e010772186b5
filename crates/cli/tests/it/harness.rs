//! Makes a test of the command line three lines long.
//!
//! Start at [`Folder`]: a folder with the user's files. [`Folder::run`] runs the binary in it to completion and returns what it [`Ended`] with. [`server`]
//! has the systems under test, [`raw`] a server with configurable misbehaviour.

mod ended;
mod folder;
mod free_port;
mod mcp_client;
mod mcp_http;
pub(crate) mod nats;
pub(crate) mod network_namespace;
pub(crate) mod raw;
pub(crate) mod server;
mod shared_server;

pub(crate) use ended::{Ended, fairly};
pub(crate) use folder::{Folder, Running, once, once_with};
pub(crate) use mcp_client::McpClient;
pub(crate) use mcp_http::McpHttpServer;
