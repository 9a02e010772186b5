//! HTTP as a load generator needs it: exact instants, prepared requests, bodies kept only when wanted.

mod client;
mod message;

pub use client::{Client, ClientOptions};
pub use message::{BodyUse, Exchange, Failure, Headers, Origin, Request, Response};
