//! The Model Context Protocol: tools that an agent calls, over standard input and output or HTTP on loopback.
//!
//! Read [`Tool`] first: one tool as one value. [`ToolServer`] offers a table of them to a client. `foreign` marks the text in results, which may come
//! from the system under test. Deliberately absent: what the tools do. The binary passes its tools as a table.

mod foreign;
mod http;
mod server;
mod stdio;
mod tool;

pub use http::{McpEndpoint, serve_http};
pub use rmcp::schemars;
pub use server::{ServeError, ToolServer};
pub use stdio::serve_stdio;
pub use tool::{Cancellation, ProgressReport, Tool, ToolArguments, ToolCall, ToolEffect, ToolError};
