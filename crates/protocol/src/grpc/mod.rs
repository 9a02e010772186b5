//! gRPC over the HTTP/2 client: unary calls as ordinary requests, and streams of messages.
//!
//! Read [`GrpcClient`] first. `frame` encodes and decodes messages, `status` knows the status codes and their places in a response. Deliberately
//! absent: the content of messages (callers encode and decode), names, checks. Source: "gRPC over HTTP2" (PROTOCOL-HTTP2.md of grpc/grpc), cited as
//! the specification.

mod client;
mod frame;
mod request;
mod status;
mod stream;

pub use client::{GrpcClient, GrpcReply, UnaryCall};
pub use request::{GrpcRequest, PreparedGrpcCall};
pub use status::{GrpcStatus, trailers_of};
pub use stream::{GrpcReceiver, GrpcSender, GrpcStreamOpening, ReceivedGrpc};
